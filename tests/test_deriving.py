"""A server understands what it has time for: no forged trace keeps it from its other readers."""

import asyncio
import os
from collections.abc import AsyncIterator

import pytest
from tensor_anatomy.deriving import Deriving, is_light
from tensor_anatomy.execution.assembly import Assembly
from tensor_anatomy.execution.framing import decode_chunk
from tensor_anatomy.schema import Environment, Trace
from tensor_anatomy.schema.packing import packed_json

from .effort import at_most
from .forging import FORGERIES, closing

WORST = ("results of a long chain", "a random graph")
OTHERS = [name for name in FORGERIES if name not in WORST]


def forged(name: str) -> Trace:
    assembly = Assembly("f(1)\n", Environment(torch="", python="", device="cpu", simulated=False, seed=0))
    for payload in (*FORGERIES[name](), closing()):
        assembly.add(decode_chunk(payload))
    assert assembly.closing is not None
    return assembly.trace(assembly.closing.outcome, "")


@pytest.fixture
async def deriving() -> AsyncIterator[Deriving]:
    made = Deriving()
    made.start()
    yield made
    made.close()


async def cheap(deriving: Deriving, trace: Trace) -> Trace:
    """Derive a trace with little work of this process's own; each step says something."""
    with at_most(100):  # 14 measured for the worst, 1,000 and more where all was done here
        derived = await deriving.derived(trace)
        packed_json(derived)
    assert len(derived.said) == len(trace.steps)
    assert all(derived.said)
    return derived


@pytest.mark.parametrize("name", WORST)
async def test_the_worst_forgeries_cost_the_server_next_to_nothing(deriving, name):
    await cheap(deriving, forged(name))


@pytest.mark.slow
@pytest.mark.parametrize("name", OTHERS)
async def test_no_forgery_costs_the_server_much(deriving, name):
    await cheap(deriving, forged(name))


async def test_a_worker_says_what_a_thread_would(deriving, trace_of):
    trace = trace_of(
        """
        import torch
        w = torch.ones(3, requires_grad=True)
        for step in range(40):
            loss = (w * w).sum()
            loss.backward()
            w.grad = None
        """
    )
    assert not is_light(trace)
    apart = await deriving.derived(trace)
    here = await Deriving().derived(trace)
    assert apart.model_dump_json() == here.model_dump_json()
    assert apart.graph is not None


async def test_while_the_layout_engine_works_others_are_answered(deriving):
    trace = forged("one node above many leaves")
    await deriving.derived(forged("a random graph"))  # it has come up
    turns = 0
    work = asyncio.ensure_future(deriving.derived(trace))
    while not work.done():
        await asyncio.sleep(0.01)
        turns += 1
    assert turns > 20
    # What was too much with all its boxes is drawn with some of them, and says how many are missing.
    graph = (await work).graph
    assert graph is not None
    assert len(graph.nodes) + graph.omitted == 200


async def test_a_worker_that_dies_is_replaced_and_the_trace_still_arrives(deriving):
    trace = forged("a random graph")
    worker = deriving._all[0]
    os.kill(worker._process.pid, 9)
    worker._process.wait()
    assert (await deriving.derived(trace)).graph is not None

    asked = asyncio.ensure_future(deriving.derived(trace))
    await asyncio.sleep(0.05)
    os.kill(worker._process.pid, 9)
    left = await asked
    assert left.graph is not None
    assert left.graph.omitted == 300 or left.graph.nodes
    assert len(left.said) == 1


async def test_nothing_is_left_running_when_a_server_ends():
    deriving = Deriving(2)
    deriving.start()
    pids = [worker._process.pid for worker in deriving._all]
    asked = asyncio.ensure_future(deriving.derived(forged("a random graph")))
    await asyncio.sleep(0.05)
    deriving.close()
    assert (await asked).graph is not None
    await asyncio.sleep(0)
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.killpg(pid, 0)
