"""A run that finds a child waiting is the same run, only sooner; and no child waits that should not."""

import asyncio
import fcntl
import os
import re
import signal
import termios
from array import array
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
import pytest_asyncio
from tensor_anatomy.errors import SandboxRestarting, SandboxUnavailable
from tensor_anatomy.execution import Pool, Turns, prepared
from tensor_anatomy.execution.child import SILENCE_S
from tensor_anatomy.execution.zygote_client import ZygoteClient
from tensor_anatomy.schema import Limits, Trace, TraceRequest

from .weakened import command

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(300)]

LIMITS = Limits(
    wall_s=5.0,
    cpu_s=4,
    memory_bytes=512 << 20,
    steps_kept=2_000,
    statements=1_000_000_000,
    stdout_kept_bytes=1 << 16,
    stdout_bytes=1 << 20,
    trace_bytes=4 << 20,
    value_elements=1_024,
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def zygote() -> AsyncIterator[ZygoteClient]:
    client = ZygoteClient("strict")
    await client.start()
    yield client
    await client.close()


@pytest_asyncio.fixture(loop_scope="module")
async def pool(zygote: ZygoteClient) -> AsyncIterator[Pool]:
    pool = Pool(LIMITS, turns=Turns(1, 4), compare=False, zygote=zygote, prepare=True)
    await pool.start()
    yield pool
    pool._preparing.close()
    await eventually(lambda: children(zygote) == [])


def children(zygote: ZygoteClient) -> list[int]:
    return [int(p) for p in Path(f"/proc/{zygote.pid}/task/{zygote.pid}/children").read_text().split()]


async def eventually(holds: Callable[[], bool], limit_s: float = 120.0) -> None:
    async with asyncio.timeout(limit_s):
        while not holds():
            await asyncio.sleep(0.01)


async def waiting(pool: Pool) -> int:
    """The process that waits in a pool of one, once it has said that it is confined."""
    ready = pool._preparing._ready[0]
    await eventually(lambda: len(ready) == 1 and _said(ready[0]) == 4)
    pid = ready[0].child.pid_here()
    assert pid is not None
    return pid


def _said(one: prepared.Prepared) -> int:
    """Bytes that it has written: a frame's length, none of the frame."""
    said = array("i", [0])
    fcntl.ioctl(one.child._result, termios.FIONREAD, said)
    return said[0]


def without_addresses(trace: Trace) -> str:
    return re.sub(r'"address":[^,]*,', "", trace.model_dump_json())


SOURCE = """
import random, sys, warnings, numpy, torch
print(random.random(), numpy.random.rand(), torch.rand(2), sorted(sys.modules)[:5])
w = torch.randn(3, 3, requires_grad=True)
loss = (w @ w.t()).relu().sum()
loss.backward()
warnings.warn("careful")
print(w.grad, loss, sys.stdin.read() == "")
model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Dropout())
torch.optim.Adam(model.parameters()).step()
"""


async def test_it_is_the_same_run(pool: Pool) -> None:
    request = TraceRequest(source=SOURCE, seed=7)
    await waiting(pool)
    found = await pool.run(request)
    assert pool.status().unforked == 1
    forked = await Pool(LIMITS, zygote=pool._zygote, compare=False).run(request)
    assert found.outcome.kind == "finished"
    assert without_addresses(found) == without_addresses(forked)


async def test_it_is_confined_before_it_is_sent_anything_and_serves_once(pool: Pool) -> None:
    first = await waiting(pool)
    status = Path(f"/proc/{first}/status").read_text()
    assert re.search(r"^Seccomp:\s2$", status, re.MULTILINE)
    assert re.search(r"^NoNewPrivs:\s1$", status, re.MULTILINE)
    source = "import os\nprint(os.getpid())\nx = 1"
    trace = await pool.run(TraceRequest(source=source))
    assert f"{first}\n" in trace.model_dump_json().replace("\\n", "\n")
    assert await waiting(pool) != first


async def test_a_program_finds_the_descriptors_and_the_environment_of_any_run(pool: Pool) -> None:
    source = """
import os
held = []
for descriptor in range(1100):
    try:
        os.fstat(descriptor)
    except OSError:
        continue
    held.append(descriptor)
print(held, sorted(os.environ), os.read(0, 10))
"""
    await waiting(pool)
    trace = await pool.run(TraceRequest(source=source))
    expected = "[0, 1, 2, 3] ['HOME', 'LANG', 'PATH', 'TORCHINDUCTOR_CACHE_DIR'] b''"
    assert expected in trace.model_dump_json()
    assert pool.status().unforked == 1


async def test_a_long_program_goes_through(pool: Pool) -> None:
    await waiting(pool)
    trace = await pool.run(TraceRequest(source=f"x = len({'a' * 300_000!r})\nprint(x)"))
    assert "300000" in trace.model_dump_json()
    assert pool.status().unforked == 1


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
async def test_one_that_has_died_is_passed_over(pool: Pool, number: signal.Signals) -> None:
    pid = await waiting(pool)
    child = pool._preparing._ready[0][0].child
    os.kill(pid, number)
    await eventually(lambda: not child.may_wait)
    assert pool.status().prepared == 0
    assert (await pool.run(TraceRequest(source="x = 1"))).outcome.kind == "finished"
    assert pool.status().unforked == 0


async def test_one_that_is_old_or_bounded_otherwise_is_thrown_away(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await waiting(pool)
    pool._limits = LIMITS.model_copy(update={"memory_bytes": 100 << 20})
    assert (await pool.run(TraceRequest(source="x = 1"))).outcome.kind == "finished"
    assert pool.status().unforked == 0
    await eventually(lambda: not Path(f"/proc/{first}").exists())
    pool._limits = LIMITS
    second = await waiting(pool)
    monkeypatch.setattr(prepared, "OLDEST_S", 0.0)
    assert (await pool.run(TraceRequest(source="x = 1"))).outcome.kind == "finished"
    assert pool.status().unforked == 0
    await eventually(lambda: not Path(f"/proc/{second}").exists())


async def test_one_that_is_not_ready_yet_gets_its_program_when_it_is(pool: Pool) -> None:
    for i in range(5):
        await eventually(lambda: pool.status().prepared == 1)
        assert (await pool.run(TraceRequest(source=f"x = {i}"))).outcome.kind == "finished"
    assert pool.status().unforked == 5


async def test_none_is_made_while_programs_run(pool: Pool) -> None:
    await waiting(pool)
    running = asyncio.create_task(pool.run(TraceRequest(source="import time\ntime.sleep(1)")))
    await asyncio.sleep(0.5)
    assert pool.status().prepared == 0
    await running
    await waiting(pool)


async def test_runs_leave_no_descriptor(pool: Pool) -> None:
    await waiting(pool)
    await pool.run(TraceRequest(source="x = 1"))
    await waiting(pool)
    held = len(os.listdir("/proc/self/fd"))
    for i in range(5):
        await pool.run(TraceRequest(source=f"x = {i}"))
        await waiting(pool)
    assert len(os.listdir("/proc/self/fd")) == held
    assert pool.status().unforked == 6


async def test_after_the_zygote_has_died_its_children_are_not_used(pool: Pool, zygote: ZygoteClient) -> None:
    await waiting(pool)
    first = zygote.pid
    assert first is not None
    os.kill(first, signal.SIGKILL)
    await eventually(lambda: zygote.pid not in (None, first) and zygote.state == "ready", 60)
    assert (await pool.run(TraceRequest(source="x = 1"))).outcome.kind == "finished"
    assert pool.status().unforked == 0
    await waiting(pool)
    assert (await pool.run(TraceRequest(source="x = 1"))).outcome.kind == "finished"
    assert pool.status().unforked == 1


async def test_a_zygote_that_freezes_during_a_run_is_noticed_when_the_run_ends(
    pool: Pool, zygote: ZygoteClient
) -> None:
    await waiting(pool)
    first = zygote.pid
    assert first is not None
    os.kill(first, signal.SIGSTOP)
    pool._limits = LIMITS.model_copy(update={"wall_s": 60.0})
    began = asyncio.get_running_loop().time()
    with pytest.raises(SandboxRestarting):
        await pool.run(TraceRequest(source="x = 1"))
    assert asyncio.get_running_loop().time() - began < SILENCE_S + 20
    await eventually(lambda: zygote.pid not in (None, first) and zygote.state == "ready", 60)


async def test_one_whose_walls_do_not_stand_is_never_used() -> None:
    weak = ZygoteClient("strict", command=command("failing later: seccomp"))
    async with Pool(LIMITS, compare=False, zygote=weak, prepare=True) as pool:
        await asyncio.sleep(1.0)
        with pytest.raises(SandboxUnavailable, match="seccomp"):
            await pool.run(TraceRequest(source="import os\nos.write(1, b'it ran')"))
        assert pool.status().unforked == 0
