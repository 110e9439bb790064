"""Holding a run against a forged one takes no time of the server's: neither much work, nor in its loop."""

import asyncio
import sys
from types import FrameType
from typing import Any

import pytest
from tensor_anatomy.errors import ReplyInvalid
from tensor_anatomy.execution.assembly import Assembly
from tensor_anatomy.execution.comparison import Ended, compare, compared
from tensor_anatomy.execution.framing import decode_chunk
from tensor_anatomy.schema import Closing, Environment, Fingerprint, RunRequest, Trace
from tensor_anatomy.schema.comparison import MOST_CONTENTS, MOST_NODES, MOST_TENSORS
from tensor_anatomy.settings import Settings

from .forging import closing, node, reply

REQUEST = RunRequest(source="f(1)\n", device="cpu", seed=0, limits=Settings().limits, observed=True)

NOTHING = Fingerprint(tensors={}, graph={}, sharing=(), generators={}, stdout=0, error=None, contents=())


def assembly() -> Assembly:
    made = Assembly("f(1)\n", Environment(torch="", python="", device="cpu", simulated=False, seed=0))
    for payload in reply(iter([[node(0)]]), names=["Mul"]):
        made.add(decode_chunk(payload))
    return made


def last(**facts: Any) -> Closing:
    chunk = decode_chunk(closing())
    assert isinstance(chunk, Closing)
    return chunk.model_copy(update={"fingerprint": NOTHING.model_copy(update=facts)})


def run(**facts: Any) -> tuple[Trace, Ended]:
    chunk = last(**facts)
    assert chunk.fingerprint is not None
    return assembly().trace(chunk.outcome, ""), Ended(
        outcome=chunk.outcome, fingerprint=chunk.fingerprint, stdout="", warnings=()
    )


def many(count: int, value: str) -> dict[str, tuple[str, ...]]:
    return {f"t{i}": (value,) * 14 for i in range(count)}


@pytest.mark.parametrize(
    "facts",
    [
        {"tensors": many(2 * MOST_TENSORS + 1, "")},
        {"tensors": {"t": ("",) * 15}},
        {"graph": {f"t{i}.grad_fn": "Mul" for i in range(2 * MOST_TENSORS + MOST_NODES + 1)}},
        {"sharing": (("a", "b"),) * (2 * MOST_TENSORS)},
        {"sharing": ((),) * 10_000},
        {"generators": {f"g{i}": i for i in range(100)}},
        {"contents": ({"name": "a", "data": None, "values": None},) * (MOST_CONTENTS + 1)},
    ],
    ids=lambda facts: "-".join(facts),
)
def test_a_final_state_of_more_than_is_ever_told_is_refused(facts: dict[str, Any]) -> None:
    with pytest.raises(ReplyInvalid, match="final state"):
        assembly().add(last(**facts))
    assembly().add(last(tensors=many(2 * MOST_TENSORS, "")))


async def loop_work(count: int) -> int:
    """Bytecodes that the thread of the loop executes while runs with so many tensors are compared."""
    executed = 0
    trace, observed = run(tensors=many(count, "a"))
    others = iter([run(tensors=many(count, "b")), run(tensors=many(count, "b"))])

    async def again(_request: RunRequest) -> tuple[Trace, Ended]:
        return next(others)

    def count_it(frame: FrameType, event: str, _argument: object) -> Any:
        nonlocal executed
        frame.f_trace_opcodes = True
        executed += event == "opcode"
        return count_it

    task = asyncio.ensure_future(compared(trace, observed, REQUEST, again))
    before = sys.gettrace()
    sys.settrace(count_it)
    try:
        found = await task
    finally:
        sys.settrace(before)
    assert found.comparison.state == "differs"
    return executed


async def test_the_loop_of_a_server_has_no_more_work_with_many_facts_than_with_few() -> None:
    await loop_work(1)
    few, much = await loop_work(1), await loop_work(800)
    assert few > 0
    assert much < 3 * few


class Counted(str):
    """A name that counts how often it is held against another."""

    compared = 0
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        Counted.compared += 1
        return str.__eq__(self, other)


def comparisons(count: int) -> int:
    ends = [run(tensors={Counted(f"t{i}"): (value,) * 14 for i in range(count)}) for value in "abb"]
    Counted.compared = 0
    (trace, watched), (_, plain), (_, again) = ends
    assert compare(trace, watched, plain, again).comparison.state == "differs"
    return Counted.compared


def test_twice_as_many_differences_are_twice_the_work() -> None:
    few, much = comparisons(200), comparisons(400)
    assert few > 0
    assert much < 3 * few
