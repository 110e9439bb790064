"""Two processes fork: one for programs on a GPU, one for all others. What becomes of one is not the other's.

There is no GPU here: see `standing_in`.
"""

import asyncio
import os
import signal
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from tensor_anatomy.errors import SandboxRestarting
from tensor_anatomy.execution import Fleet, Pool, ZygoteClient
from tensor_anatomy.schema import Trace, TraceRequest
from tensor_anatomy.settings import Settings

from .standing_in import command

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(300)]

LIMITS = Settings(wall_s=20.0).limits
USUAL = "x = 1\n"
ON_GPU = "import torch\nx = torch.ones(2, device='cuda')\n"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def fleet() -> AsyncIterator[Fleet]:
    usual = Pool(LIMITS, zygote=ZygoteClient("strict"), compare=False)
    gpu = ZygoteClient("cuda", command=command())
    on_gpu = Pool(LIMITS, zygote=gpu, devices=("cuda",), cuda_fraction=0.5, compare=False)
    async with Fleet(usual, on_gpu) as fleet:
        yield fleet


def pids(fleet: Fleet) -> tuple[int, int]:
    assert fleet._on_gpu is not None
    usual, gpu = fleet._usual._zygote.pid, fleet._on_gpu._zygote.pid
    assert usual is not None
    assert gpu is not None
    return usual, gpu


async def in_the_end(fleet: Fleet, source: str) -> Trace:
    """Ask until the sandbox is there again."""
    async with asyncio.timeout(120):
        while True:
            try:
                return await fleet.run(TraceRequest(source=source))
            except SandboxRestarting:
                await asyncio.sleep(0.1)


async def is_whole(fleet: Fleet) -> None:
    for source, device in ((USUAL, "cpu"), (ON_GPU, "cuda")):
        trace = await in_the_end(fleet, source)
        assert (trace.outcome.kind, trace.environment.device) == ("finished", device), trace.outcome
    status, gpu = fleet.status(), fleet.gpu()
    assert gpu is not None
    assert (status.running, status.waiting, gpu.running, gpu.waiting) == (0, 0, 0, 0)


async def test_when_the_one_for_the_gpu_dies_others_run_on(fleet: Fleet) -> None:
    before = pids(fleet)
    os.kill(before[1], signal.SIGKILL)
    assert (await fleet.run(TraceRequest(source=USUAL))).outcome.kind == "finished"
    await is_whole(fleet)
    after = pids(fleet)
    assert after[0] == before[0]
    assert after[1] != before[1]


async def test_when_the_one_for_the_gpu_freezes_it_is_replaced_and_others_run_on(fleet: Fleet) -> None:
    before = pids(fleet)
    os.kill(before[1], signal.SIGSTOP)
    asked = asyncio.ensure_future(fleet.run(TraceRequest(source=ON_GPU)))
    assert (await fleet.run(TraceRequest(source=USUAL))).outcome.kind == "finished"
    with pytest.raises(SandboxRestarting):
        await asked
    await is_whole(fleet)
    assert pids(fleet)[1] != before[1]


async def test_when_both_die_at_once_both_come_back(fleet: Fleet) -> None:
    before = pids(fleet)
    for pid in before:
        os.kill(pid, signal.SIGKILL)
    await is_whole(fleet)
    assert not set(before) & set(pids(fleet))


async def test_when_both_die_in_the_middle_of_runs_these_are_told_and_no_slot_is_lost(fleet: Fleet) -> None:
    endless = "while True:\n    pass\n"
    asked = [
        asyncio.ensure_future(fleet.run(TraceRequest(source=source)))
        for source in (endless, ON_GPU + endless)
    ]
    async with asyncio.timeout(60):
        while not (fleet.status().running == 1 and (fleet.gpu() or fleet.status()).running == 1):
            await asyncio.sleep(0.02)
    for pid in pids(fleet):
        os.kill(pid, signal.SIGKILL)
    ended = await asyncio.gather(*asked, return_exceptions=True)
    assert [type(each) for each in ended] == [SandboxRestarting] * 2
    await is_whole(fleet)
