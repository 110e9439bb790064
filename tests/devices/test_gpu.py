"""On a machine with a CUDA device: what the simulation stands for. `make test-gpu`; else left out.

Everything here needs a PyTorch that was built with CUDA. Programs go through the sandbox that leads to the
GPU, so the walls are tried too.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
import torch
from tensor_anatomy.execution import Pool, ZygoteClient
from tensor_anatomy.explaining import explain
from tensor_anatomy.schema import Trace, TraceRequest
from tensor_anatomy.schema.replay import state_document
from tensor_anatomy.settings import Settings

from .cases import CASES, Case
from .test_training import LAYERS, OPTIMIZERS, PROGRAM
from .test_words_of_cuda import PLACES, REFUSED


def _why_not() -> str | None:
    if not torch.backends.cuda.is_built():
        return "needs a GPU: this PyTorch was built without CUDA"
    if not torch.cuda.device_count():
        return "needs a GPU: no CUDA device is visible"
    return None


pytestmark = [
    pytest.mark.gpu,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.timeout(180),
    pytest.mark.skipif(_why_not() is not None, reason=_why_not() or ""),
]
LIMITS = Settings().limits.model_copy(update={"wall_s": 60.0, "cpu_s": 60})


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def gpu() -> AsyncIterator[Pool]:
    """Its start is the self-test of the walls, and of the context made within them."""
    pool = Pool(LIMITS, zygote=ZygoteClient("cuda"), devices=("cuda",), cuda_fraction=0.25, prepare=True)
    async with pool:
        assert pool.status().state == "ready", pool.status().reason
        yield pool


async def traced(gpu: Pool, source: str) -> tuple[Trace, dict[str, Any]]:
    trace = explain(await gpu.run(TraceRequest(source=source, device="cuda")))
    assert (trace.environment.device, trace.environment.simulated) == ("cuda", False)
    return trace, state_document(trace, None).model_dump(mode="json", by_alias=True)


@pytest.mark.parametrize("name", CASES)
async def test_device_trouble_is_as_the_simulation_tells_it(gpu: Pool, name: str) -> None:
    case: Case = CASES[name]
    if case.simulated_only is not None:
        pytest.skip(case.simulated_only)
    trace, state = await traced(gpu, "import torch\n" + case.source)

    said = f"{trace.outcome.type}: {trace.outcome.message}" if trace.outcome.kind == "raised" else None
    assert (said or "").startswith(case.error or "") and (case.error is None) == (said is None), said
    found = {name: state["tensors"][str(state["bindings"][name])]["device"] for name in case.devices}
    assert found == case.devices


@pytest.mark.parametrize("expression", [text for text, _ in REFUSED])
async def test_operands_on_two_devices_are_refused_in_these_words(gpu: Pool, expression: str) -> None:
    trace, _ = await traced(gpu, f"import torch\n{PLACES}\n{expression}\n")

    assert (trace.outcome.message or "nothing").splitlines()[0] == dict(REFUSED)[expression]


@pytest.mark.parametrize("layer", LAYERS)
async def test_each_kind_of_layer_trains(gpu: Pool, layer: str) -> None:
    source = "import torch\n" + PROGRAM.format(
        layer=LAYERS[layer], optimizer=OPTIMIZERS["SGD"], device="cuda"
    )
    trace, state = await traced(gpu, source)

    assert trace.outcome.kind == "finished", trace.outcome
    assert state["stdout"].splitlines()[-1] == "{'cuda'}"


async def test_values_are_those_that_the_program_reads(gpu: Pool) -> None:
    source = (
        "import torch\nx = torch.arange(6., device='cuda').reshape(2, 3)\ny = x.t()\nx.mul_(2)\n"
        "s = torch.cuda.Stream()\nwith torch.cuda.stream(s):\n    z = torch.ones(3, device='cuda')\n"
        "    z += 1\n"
    )
    _, state = await traced(gpu, source)

    def values(name: str) -> Any:
        return state["tensors"][str(state["bindings"][name])]["values"]

    assert values("y") == [[0.0, 6.0], [2.0, 8.0], [4.0, 10.0]]
    assert values("z") == [2.0, 2.0, 2.0]


async def test_the_allocators_figures_are_those_of_pytorch_and_ours_are_not_among_them(gpu: Pool) -> None:
    source = (
        "import torch\nx = torch.ones(100, device='cuda')\ny = torch.ones(1 << 20, device='cuda')\ndel y\n"
        "c = torch.cuda\nprint(c.memory_allocated(), c.max_memory_allocated(), c.memory_reserved())\n"
    )
    trace, state = await traced(gpu, source)
    plain = await gpu.run(TraceRequest(source=source, device="cuda"), observed=False)

    told = [e for step in trace.steps for e in step.events if e.kind == "allocator"][-1]
    assert state["stdout"].split() == [
        str(n) for n in (told.allocated_bytes, told.peak_allocated_bytes, told.reserved_bytes)
    ]
    assert not told.simulated
    assert plain.outcome.kind == "finished"
    assert trace.comparison.state == "same", trace.observer_effects


async def test_a_captured_graph_is_left_alone(gpu: Pool) -> None:
    source = (
        "import torch\nx = torch.ones(2, device='cuda')\ng = torch.cuda.CUDAGraph()\n"
        "with torch.cuda.graph(g):\n    y = x * 2\nx.fill_(3)\ng.replay()\nprint(y.tolist())\n"
    )
    trace, state = await traced(gpu, source)

    assert trace.outcome.kind == "finished", trace.outcome
    assert state["stdout"] == "[6.0, 6.0]\n"


async def test_a_program_may_take_its_fraction_of_memory_and_no_more(gpu: Pool) -> None:
    free, total = torch.cuda.mem_get_info()
    if free < total // 2:
        pytest.skip("others use this GPU")
    half = total // 2
    trace, _ = await traced(gpu, f"import torch\nx = torch.empty({half}, dtype=torch.uint8, device='cuda')\n")

    assert trace.outcome.type == "OutOfMemoryError"
    assert "allowed" in (trace.outcome.message or "")


async def test_the_next_program_finds_its_context_made(gpu: Pool) -> None:
    async with asyncio.timeout(60):
        while gpu.status().prepared < 2:
            await asyncio.sleep(0.1)
    before = gpu.status().unforked
    await traced(gpu, "import torch\nx = torch.ones(1, device='cuda')\n")

    assert gpu.status().unforked == before + 2


async def test_a_confined_program_cannot_do_more_than_use_the_gpu(gpu: Pool) -> None:
    source = (
        "import torch, os, socket\nx = torch.ones(1, device='cuda')\nshut = []\n"
        "for door in (lambda: open('/etc/passwd'), lambda: os.listdir('/'), lambda: socket.socket(),\n"
        "             lambda: os.fork() or os._exit(0), lambda: bytearray(2 << 30)):\n"
        "    try:\n        door()\n    except (OSError, MemoryError):\n        shut.append(1)\n"
        "print(len(shut))\n"
    )
    _, state = await traced(gpu, source)

    assert state["stdout"] == "5\n"
