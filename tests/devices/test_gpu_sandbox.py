"""Programs that use a real GPU run in a sandbox of their own, which says what is loosened.

There is no GPU here: see `standing_in`. The walls are real.
"""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from tensor_anatomy.deriving import Deriving
from tensor_anatomy.errors import DeviceUnavailable
from tensor_anatomy.execution import Fleet, Pool, ZygoteClient
from tensor_anatomy.execution import pool as pool_module
from tensor_anatomy.execution.order import Order
from tensor_anatomy.main import PoolRunner
from tensor_anatomy.profiles import LOOSENED_FOR_CUDA, serves
from tensor_anatomy.schema import Trace, TraceRequest
from tensor_anatomy.settings import SettingInvalid, Settings

from ..test_confinement import confined
from .standing_in import command

pytestmark = pytest.mark.asyncio(loop_scope="module")

LIMITS = Settings().limits
ON_GPU = "import torch\nx = torch.ones(2, device='cuda')\ny = x * 3\nprint(y)\n"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def fleet() -> AsyncIterator[Fleet]:
    usual = Pool(LIMITS, zygote=ZygoteClient("strict"))
    zygote = ZygoteClient("cuda", command=command())
    on_gpu = Pool(LIMITS, zygote=zygote, devices=("cuda",), cuda_fraction=0.5, prepare=True)
    async with Fleet(usual, on_gpu) as fleet:
        yield fleet


def about(trace: Trace) -> tuple[str, bool]:
    return trace.environment.device, trace.environment.simulated


async def test_a_program_that_mentions_cuda_runs_on_the_gpu_and_is_told_so(fleet: Fleet) -> None:
    trace = await fleet.run(TraceRequest(source=ON_GPU))

    assert trace.outcome.kind == "finished", trace.outcome
    assert about(trace) == ("cuda", False)
    assert (trace.comparison.state, trace.observer_effects) == ("same", ())


@pytest.mark.parametrize(
    ("device", "source", "expected"),
    [
        ("cuda", "import torch\n", ("cuda", False)),
        ("simulated-cuda", ON_GPU, ("simulated-cuda", True)),
        ("auto", "import torch\nx = torch.ones(2)\n", ("cpu", False)),
        ("cpu", ON_GPU, ("cpu", False)),
    ],
)
async def test_whoever_chooses_gets_what_was_chosen(
    fleet: Fleet, device: str, source: str, expected: tuple[str, bool]
) -> None:
    assert about(await fleet.run(TraceRequest(source=source, device=device))) == expected


async def test_a_program_may_take_a_fraction_of_the_memory(fleet: Fleet) -> None:
    source = (
        "import torch\nprint(torch.cuda.get_per_process_memory_fraction())\n"
        "x = torch.zeros(33 << 20, dtype=torch.uint8, device='cuda')\n"
    )
    trace = await fleet.run(TraceRequest(source=source))

    assert trace.outcome.type == "OutOfMemoryError"
    assert "32.00 MiB allowed" in (trace.outcome.message or "")


async def test_walls_that_are_loosened_are_named_and_the_others_stand(fleet: Fleet) -> None:
    gpu, usual = PoolRunner(fleet, Deriving()).status().gpu, fleet.status()

    assert gpu is not None
    assert set(gpu.loosened) == set(LOOSENED_FOR_CUDA.values())
    assert {"descriptors", "environment", "lifetime", "privileges"} <= set(gpu.layers)
    assert not set(LOOSENED_FOR_CUDA.values()) & set(usual.layers)
    assert usual.devices == ("cpu", "simulated-cuda", "cuda")


async def test_the_next_child_has_its_context_before_a_program_comes(fleet: Fleet) -> None:
    on_gpu = fleet._on_gpu
    assert on_gpu is not None
    async with asyncio.timeout(20):
        while on_gpu.status().prepared < 2:
            await asyncio.sleep(0.05)
    before = on_gpu.status().unforked
    trace = await fleet.run(TraceRequest(source=ON_GPU))

    assert about(trace) == ("cuda", False)
    assert on_gpu.status().unforked == before + 2  # the run and the unobserved one


async def test_no_program_without_a_gpu_is_given_one_by_mistake(fleet: Fleet) -> None:
    """The other sandbox refuses an order for a GPU, whoever sent it."""
    order = Order(slot=0, memory_bytes=LIMITS.memory_bytes, cpu_s=4, cuda_fraction=0.5)
    child = fleet._usual._zygote.spawn(order, b"{}")
    said = bytearray()
    child.listen(said.extend, lambda data: None)
    ended = await child.ended()
    child.close()

    assert os.waitstatus_to_exitcode(ended.status) == 72
    assert b"leads to no GPU" in said


@pytest.mark.slow
async def test_a_gpu_that_does_not_answer_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "START_OF_CUDA_S", 0.3)
    zygote = ZygoteClient("cuda", command=command("hanging"))
    async with Pool(LIMITS, zygote=zygote, devices=("cuda",), cuda_fraction=0.5) as pool:
        for _ in range(2):
            with pytest.raises(DeviceUnavailable, match="did not answer in time"):
                await pool.run(TraceRequest(source=ON_GPU, device="cuda"))


async def test_where_there_is_no_gpu_the_simulated_one_is_used_and_says_so(fleet: Fleet) -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a GPU here: `make test-gpu` has the tests of it")
    async with Pool(LIMITS, zygote=ZygoteClient("cuda"), devices=("cuda",), cuda_fraction=0.5) as on_gpu:
        without = Fleet(fleet._usual, on_gpu)
        assert without.status().devices == ("cpu", "simulated-cuda")
        with pytest.raises(DeviceUnavailable, match=r"here: (this PyTorch was built without )?.*CUDA"):
            await without.run(TraceRequest(source=ON_GPU, device="cuda"))
        assert about(await without.run(TraceRequest(source=ON_GPU))) == ("simulated-cuda", True)


async def test_a_server_for_the_cpu_alone_simulates_nothing(fleet: Fleet) -> None:
    pool = Pool(LIMITS, compare=False, zygote=fleet._usual._zygote, devices=Settings(device="cpu").devices)
    trace = await pool.run(TraceRequest(source=ON_GPU))

    assert (trace.outcome.type, about(trace)) == ("AssertionError", ("cpu", False))
    with pytest.raises(DeviceUnavailable):
        await pool.run(TraceRequest(source=ON_GPU, device="simulated-cuda"))


# -- the walls


CALLS = """
import fcntl, mmap
def answer(attempt):
    try:
        attempt()
    except OSError as e:
        return e.errno
    return 0
value = [answer(lambda: fcntl.ioctl(0, request, b"")) for request in (0x46D6, 0x4600, 27, 0x30000001, 0x5412)]
value += [answer(lambda: mmap.mmap(-1, 4096))]
"""


async def test_only_a_profile_that_leads_to_a_gpu_lets_the_drivers_requests_through() -> None:
    eperm, enotty = 1, 25

    assert confined(CALLS)["value"] == [eperm] * 6
    assert confined(CALLS, profile="cuda")["value"] == [enotty] * 4 + [eperm, 0]


async def test_with_a_gpu_files_processes_and_memory_are_walled_in_all_the_same() -> None:
    doors = """
    import os, socket
    doors = [
        lambda: open("/etc/passwd"), lambda: os.listdir("/"), lambda: open("/dev/zero"),
        lambda: socket.socket(), lambda: os.fork() or os._exit(0), lambda: os.kill(os.getppid(), 0),
        lambda: bytearray(2 << 30), lambda: os.open("/tmp/x", os.O_CREAT | os.O_WRONLY),
    ]
    value = []
    for door in doors:
        try:
            door()
        except (OSError, MemoryError):
            value.append("shut")
    """
    assert confined(doors, profile="cuda", trial=True)["value"] == ["shut"] * 8


async def test_a_profile_with_a_gpu_is_never_chosen_by_itself() -> None:
    assert not serves("auto", "cuda")
    assert not serves("auto", "cuda+bwrap")
    assert not serves("cuda", "strict")
    assert serves("cuda", "cuda+bwrap")
    with pytest.raises(SettingInvalid):
        Settings.from_env({"SANDBOX": "cuda"})
    assert Settings.from_env({}).device == "auto"


@pytest.mark.slow
async def test_a_server_that_is_to_have_a_gpu_and_has_none_does_not_start() -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a GPU here")
    arguments = [sys.executable, "-m", "tensor_anatomy.cli", "serve", "--port", "0", "--device", "cuda"]
    ended = subprocess.run(arguments, capture_output=True, text=True, timeout=60)

    assert ended.returncode == 2
    assert "The device 'cuda' is not available here" in ended.stderr
    assert json.dumps(ended.stderr).count("Traceback") == 0
