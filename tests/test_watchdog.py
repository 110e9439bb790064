"""What a program takes is watched from outside, whether or not the kernel bounds it."""

import asyncio
import os
import threading
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from tensor_anatomy.execution import Pool, zygote_client
from tensor_anatomy.execution.watchdog import EVERY_S, MOST_THREADS, Watchdog, taken
from tensor_anatomy.execution.zygote_client import ZygoteClient
from tensor_anatomy.schema import Limits, TraceRequest

from .weakened import command

LIMITS = Limits(
    wall_s=10.0,
    cpu_s=10,
    memory_bytes=256 << 20,
    steps_kept=2_000,
    statements=1_000_000_000,
    stdout_kept_bytes=1 << 16,
    stdout_bytes=1 << 20,
    trace_bytes=4 << 20,
    value_elements=1_024,
)


def test_it_sees_memory_and_threads_of_a_process():
    before = taken(os.getpid())
    assert before is not None and before.resident_bytes > 10 << 20
    may_end = threading.Event()
    threads = [threading.Thread(target=may_end.wait) for _ in range(5)]
    for thread in threads:
        thread.start()
    held = b"x" * (64 << 20)
    after = taken(os.getpid())
    may_end.set()
    for thread in threads:
        thread.join()
    assert after is not None and after.threads == before.threads + 5
    assert after.resident_bytes - before.resident_bytes > len(held) * 0.9


async def test_a_process_that_has_ended_is_not_watched():
    process = await asyncio.create_subprocess_exec("true")
    await process.wait()
    assert taken(process.pid) is None
    barked: list[str] = []
    watchdog = Watchdog(process.pid, 0, barked.append)
    await asyncio.sleep(2 * EVERY_S)
    watchdog.stop()
    assert barked == []


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def pool() -> AsyncIterator[Pool]:
    """A sandbox whose rlimits are missing, which a real one refuses to be."""

    async def believe(_spawn: object, *, cuda: bool) -> None:
        return

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(zygote_client, "prove", believe)
        async with Pool(LIMITS, zygote=ZygoteClient("strict", command=command("without: rlimits"))) as pool:
            assert pool.status().state == "ready"
            yield pool


@pytest.mark.slow
@pytest.mark.timeout(90)
@pytest.mark.asyncio(loop_scope="module")
async def test_a_program_that_grows_is_stopped_with_the_steps_so_far(pool: Pool) -> None:
    source = "kept = []\nwhile True:\n    kept.append(b'x' * (8 << 20))\n"
    trace = await pool.run(TraceRequest(source=source))
    assert (trace.outcome.kind, trace.outcome.reason) == ("stopped", "memory-limit")
    assert trace.outcome.limit == "256 MiB of memory"
    assert trace.steps
    assert (await pool.run(TraceRequest(source="x = b'x' * (200 << 20)"))).outcome.kind == "finished"


@pytest.mark.slow
@pytest.mark.timeout(90)
@pytest.mark.asyncio(loop_scope="module")
async def test_a_program_with_a_crowd_of_threads_is_stopped(pool: Pool) -> None:
    source = """
import threading, time
threading.stack_size(1 << 16)
for i in range(1000):
    threading.Thread(target=time.sleep, args=(9,), daemon=True).start()
time.sleep(9)
"""
    trace = await pool.run(TraceRequest(source=source))
    assert (trace.outcome.kind, trace.outcome.reason) == ("stopped", "memory-limit")
    assert trace.outcome.limit == f"{MOST_THREADS} threads"
    few = source.replace("1000", "40").replace("(9)", "(0.2)")
    assert (await pool.run(TraceRequest(source=few))).outcome.kind == "finished"
