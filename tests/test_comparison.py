"""What watching changed is told by name; what differs between any two runs raises no alarm."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import pytest
import pytest_asyncio
from tensor_anatomy.execution import Pool, Turns
from tensor_anatomy.execution.zygote_client import ZygoteClient
from tensor_anatomy.explaining import explain
from tensor_anatomy.messages import LANGUAGES, text_of
from tensor_anatomy.schema import Event, Limits, Trace, TraceRequest
from tensor_anatomy.schema.replay import state_document
from tensor_anatomy.settings import Settings

pytestmark = pytest.mark.asyncio(loop_scope="module")

LIMITS: Limits = Settings().limits.model_copy(update={"wall_s": 20.0, "cpu_s": 20})


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def zygote() -> AsyncIterator[ZygoteClient]:
    client = ZygoteClient()
    await client.start()
    assert client.state == "ready", client.reason
    yield client
    await client.close()


@pytest.fixture
def pool(zygote: ZygoteClient) -> Pool:
    return Pool(LIMITS, turns=Turns(1, 2), zygote=zygote)


async def compared(pool: Pool, source: str) -> Trace:
    return explain(await pool.run(TraceRequest(source="import torch\n" + source)))


def events_of(trace: Trace) -> list[Event]:
    return [event for step in trace.steps for event in step.events]


def found(trace: Trace) -> list[tuple[str, str | None, str, str]]:
    return [(each.what, each.name, each.observed, each.plain) for each in trace.observer_effects]


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("x = torch.arange(6.).reshape(2, 3)\ny = x.t()\ny.add_(1)\nprint(y)\n", id="views"),
        pytest.param("x = torch.ones(3)\nx.view(5)\n", id="an exception"),
        pytest.param("import warnings\nwarnings.warn('careful')\n", id="a warning"),
        pytest.param("import random\nx = torch.rand(3) * random.random()\n", id="random numbers"),
        pytest.param("x = torch.rand(3).cuda()\ny = torch.rand(3, device='cuda') * x\n", id="simulated CUDA"),
    ],
)
async def test_a_program_that_ends_alike_has_no_effect(pool: Pool, source: str) -> None:
    trace = await compared(pool, source)

    assert trace.comparison.state == "same"
    assert (trace.observer_effects, trace.comparison.sentences) == ((), ())


@pytest.mark.parametrize(
    ("source", "unsteady"),
    [
        pytest.param("x = torch.empty(10)\ny = torch.empty(100_000)\n", None, id="unwritten memory"),
        pytest.param("x = torch.ones(3)\nprint(id(x), x.data_ptr())\n", "stdout", id="addresses"),
        pytest.param("import time\nprint(time.time_ns())\n", "stdout", id="the clock"),
        pytest.param(
            "import time\nx = torch.tensor(time.time_ns())\n", "x: values", id="a value of the clock"
        ),
    ],
)
async def test_what_no_seed_fixes_raises_no_alarm(pool: Pool, source: str, unsteady: str | None) -> None:
    trace = await compared(pool, source)

    assert trace.comparison.state == "same"
    assert trace.observer_effects == ()
    assert unsteady is None or unsteady in trace.comparison.unsteady


async def test_a_version_that_watching_changes_is_named_with_its_cause(pool: Pool) -> None:
    trace = await compared(pool, "w = torch.ones(3, requires_grad=True)\n(w * w).sum().backward()\n")

    assert found(trace) == [("version", "w.grad", "0", "1")]
    (sentence,) = trace.comparison.sentences
    assert sentence.id == "effect.version-grad"
    for language in LANGUAGES:
        assert "w.grad" in text_of(language, sentence.id, sentence.args)
    assert state_document(trace).observer_effects == trace.observer_effects


async def test_values_that_watching_changes_are_shown_as_they_are_unwatched(pool: Pool) -> None:
    source = "a = torch.randn(5, 5)\ns = torch.linalg.svdvals(a)\nt = s[:2]\n"
    trace = await compared(pool, source)
    plain = await pool.run(
        TraceRequest(source="import torch\n" + source + "print(s.tolist())\n"), observed=False
    )
    effects = {(what, name) for what, name, _, _ in found(trace)}
    state = state_document(trace)
    s, t, a = (state.tensors[str(state.bindings[name])] for name in "sta")

    assert plain.outcome.kind == "finished"
    assert effects == {("values", "s"), ("values", "t")}
    assert [sentence.id for sentence in trace.comparison.sentences] == ["effect.values-linalg"] * 2
    assert (s.unobserved, t.unobserved, a.unobserved) == (True, True, False)
    assert t.values == s.values[:2]
    (effect,) = [each for each in trace.observer_effects if each.name == "s"]
    index, _, number = effect.plain.partition(" = ")
    assert s.values[int(index.strip("[]"))] == float(number)
    assert effect.observed != effect.plain
    before = state_document(trace, 2)
    assert not any(tensor.unobserved for tensor in before.tensors.values())


async def test_a_node_that_watching_changes_has_both_names(pool: Pool) -> None:
    source = "x = torch.randn(2, 2, 3, requires_grad=True)\ny = (x @ x.mT) * 2\n"
    trace = await compared(pool, source)
    pairs = [(observed, plain) for what, _, observed, plain in found(trace) if what == "grad_fn"]
    nodes = {event.id: trace.names[event.name] for event in events_of(trace) if event.kind == "node"}

    assert pairs == [("ViewBackward0", "ReshapeAliasBackward0")]
    assert [(nodes[each.node], each.name) for each in trace.comparison.nodes] == pairs
    assert {sentence.id for sentence in trace.comparison.sentences} == {"effect.grad_fn-reshape"}


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        pytest.param(
            "open('/etc/passwd')\n",
            "denied",
            id="denied",
        ),
        pytest.param("import os\nos.abort()\n", "crashed", id="crashed"),
        pytest.param("x = torch.empty(2**40)\n", "stopped", id="a memory limit"),
        pytest.param("x = = 1\n", "nothing-ran", id="no program"),
    ],
)
async def test_what_cannot_be_compared_says_so(pool: Pool, source: str, reason: str) -> None:
    trace = await compared(pool, source)

    assert (trace.comparison.state, trace.comparison.reason) == ("not-compared", reason)
    assert [sentence.id for sentence in trace.comparison.sentences] == [f"compare.{reason}"]


async def test_the_trace_comes_before_it_is_compared(pool: Pool) -> None:
    async with aclosing(pool.stream(TraceRequest(source="x = 1\n"))) as stream:
        traces = [piece async for piece in stream if isinstance(piece, Trace)]

    assert [trace.comparison.state for trace in traces] == ["pending", "same"]
    assert traces[0].steps == traces[1].steps


async def test_comparing_can_be_switched_off(zygote: ZygoteClient) -> None:
    trace = await Pool(LIMITS, compare=False, zygote=zygote).run(TraceRequest(source="x = 1\n"))

    assert (trace.comparison.state, trace.comparison.reason) == ("not-compared", "off")


async def test_those_who_wait_come_before_a_comparison(zygote: ZygoteClient) -> None:
    pool = Pool(LIMITS, turns=Turns(1, 2), zygote=zygote)
    slow = TraceRequest(source="import time\ntime.sleep(0.3)\n")
    traces = await asyncio.gather(*(pool.run(slow) for _ in range(3)))

    assert [trace.comparison.reason for trace in traces] == ["busy", None, None]
    assert traces[-1].comparison.state == "same"


ASKED = Path(__file__).parent / "data" / "asked"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "what", "sentence"),
    [
        ("gettrace", "stdout", "effect.stdout"),
        ("refcount", "stdout", "effect.stdout"),
        ("gcobjects", "stdout", "effect.stdout"),
        ("frames", "stdout", "effect.stdout"),
        ("stack", "stdout", "effect.stdout"),
        ("modes", "stdout", "effect.stdout"),
        ("setprofile", "stdout", "effect.stdout"),
        ("settrace", "stdout", "effect.stdout"),
        ("recursion", "stdout", "effect.stdout-recursion"),
        ("linalg", "values", "effect.values-linalg"),
        ("ctc", "grad_fn", "effect.grad_fn-ctc"),
        ("sdpa", "grad_fn", "effect.grad_fn-reshape"),
    ],
)
async def test_what_cannot_be_the_same_is_found_and_named(
    pool: Pool, name: str, what: str, sentence: str
) -> None:
    trace = explain(await pool.run(TraceRequest(source=(ASKED / f"{name}.py").read_text(encoding="utf-8"))))

    assert trace.outcome.kind == "finished"
    assert {each.what for each in trace.observer_effects} == {what}
    assert {each.id for each in trace.comparison.sentences} == {sentence}
