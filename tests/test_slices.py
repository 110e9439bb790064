"""What is read and written a slice at a time is what one call would have made, and each slice is small."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from tensor_anatomy.errors import ReplyInvalid
from tensor_anatomy.execution.assembly import Assembly
from tensor_anatomy.execution.framing import decode_chunk
from tensor_anatomy.execution.pieces import pieces_of
from tensor_anatomy.schema import Closing, Environment, Steps, Trace
from tensor_anatomy.schema.packing import packed_json, unpack
from tensor_anatomy.schema.slices import SLICE_BYTES, json_of, record_of

from .forging import FORGERIES, closing, names, node, reply, storage, tensor

NOWHERE = Environment(torch="", python="", device="cpu", simulated=False, seed=0)


def small_steps() -> list[bytes]:
    """A frame of many steps."""
    return reply(iter([[node(i)] for i in range(3_000)]), names=["Mul"])


def one_large_step() -> list[bytes]:
    """A frame with one step of many events, some of them large themselves."""
    paths = {f"v[{i}]": 0 for i in range(9_000)}
    events = [storage(0, 16), tensor(0, 0), names("v", paths), *(node(i) for i in range(1_000))]
    return reply(iter([events]), names=["Mul"], views=[_view()])


def large_tables() -> list[bytes]:
    """A frame whose tables are large, and whose sites refer to them."""
    rows = [f"op{i}" * 20 for i in range(3_000)]
    return reply(iter([[node(0, name=2_999)]]), names=rows, views=[_view()] * 800)


def _view() -> dict[str, Any]:
    steps = FORGERIES["a long chain of views"]()[1]
    view: dict[str, Any] = json.loads(steps)["views"][0]
    return view


FRAMES = [small_steps, one_large_step, large_tables, FORGERIES["many breaks"]]


def assembled(chunks: Iterator[Any]) -> Trace:
    assembly = Assembly("f(1)\n", NOWHERE)
    for chunk in chunks:
        assembly.add(chunk)
    assert assembly.closing is not None
    return assembly.trace(assembly.closing.outcome, "")


@pytest.fixture(scope="module", params=FRAMES, ids=lambda make: make.__name__)
def both(request: Any) -> tuple[Trace, Trace]:
    """A trace whose frames were read at once, and in pieces."""
    payloads = [*request.param(), closing()]
    assert any(len(each) > SLICE_BYTES for each in payloads)
    at_once = assembled(decode_chunk(each) for each in payloads)
    return at_once, assembled(piece for each in payloads for piece in pieces_of(each))


def test_pieces_of_a_frame_make_the_same_trace(both: tuple[Trace, Trace]) -> None:
    at_once, in_pieces = both
    assert in_pieces == at_once


def test_a_trace_is_written_and_read_as_in_one_call(both: tuple[Trace, Trace]) -> None:
    trace, _ = both
    text = json_of(trace)
    assert text == trace.model_dump_json(by_alias=True).encode()
    assert record_of(Trace, text, strict=False) == trace
    assert unpack(json.loads(packed_json(trace))) == json.loads(text)


def test_a_piece_is_small_where_its_steps_are() -> None:
    _, steps = small_steps()
    pieces = list(pieces_of(steps))
    assert len(pieces) > len(steps) // SLICE_BYTES
    assert all(len(json_of(piece)) < 2 * SLICE_BYTES for piece in pieces)
    chunk = decode_chunk(steps)
    assert isinstance(chunk, Steps)
    assert [step for piece in pieces if isinstance(piece, Steps) for step in piece.steps] == list(chunk.steps)


def test_a_large_last_chunk_is_read_whole() -> None:
    chunk = json.loads(closing())
    chunk["events"] = json.loads(small_steps()[1])["steps"][0]["events"] * 2_000
    text = json.dumps(chunk).encode()
    (read,) = pieces_of(text)
    assert isinstance(read, Closing)
    assert read == decode_chunk(text)


NO_STATE: dict[str, Any] = {
    "tensors": {},
    "graph": {},
    "sharing": [],
    "generators": {},
    "stdout": 0,
    "error": None,
    "contents": [],
}
MANY = {f"t{i}": ["a", str(i)] for i in range(9_000)}


@pytest.mark.parametrize(
    "change",
    [
        {"tensors": MANY},
        {"tensors": {"t": ["a"] * 40_000}},
        {"graph": {name: "Mul" for name in MANY}},
        {"sharing": [["a", "b"]] * 9_000},
        {"sharing": [["a"] * 40_000, []]},
        {"generators": {name: 7 for name in MANY}},
        {"error": "e" * 100_000},
        {"contents": [{"name": "t", "data": None, "values": [[1, -2.5, "nan", True], []] * 9_000}] * 2},
        {
            "contents": [
                {"name": "t", "data": "A" * 90_000, "values": {"a": [{}] * 40_000, "b": "c" * 90_000}}
            ]
        },
    ],
    ids=lambda change: "-".join(change),
)
def test_a_large_final_state_is_read_as_in_one_call(change: Any) -> None:
    chunk = json.loads(closing())
    chunk["fingerprint"] = NO_STATE | change
    text = json.dumps(chunk).encode()
    assert len(text) > SLICE_BYTES
    (read,) = pieces_of(text)
    assert read == decode_chunk(text)


def test_a_large_outcome_is_read_as_in_one_call() -> None:
    chunk = json.loads(closing())
    operands = [{"tensor": None, "name": "x" * 50, "text": "t"}] * 2_000
    chunk["outcome"] |= {"failure": {"api": None, "op": None, "operands": operands, "node": None}}
    text = json.dumps(chunk).encode()
    (read,) = pieces_of(text)
    assert isinstance(read, Closing)
    assert read == decode_chunk(text)
    for wrong in ({"operands": None}, {"node": 7}, {"more": "x"}, {"api": ["x" * 70_000]}):
        changed = chunk | {"outcome": chunk["outcome"] | {"failure": chunk["outcome"]["failure"] | wrong}}
        with pytest.raises(ReplyInvalid):
            list(pieces_of(json.dumps(changed).encode()))


def test_values_nested_deeper_than_any_tensor_are_refused() -> None:
    chunk = json.loads(closing())
    chunk["fingerprint"] = NO_STATE | {"contents": [{"name": "t", "data": None, "values": 0}]}
    text = "[" * 300 + "1," * 70_000 + "1" + "]" * 300
    payload = json.dumps(chunk).replace('"values": 0', f'"values": {text}').encode()
    with pytest.raises(ReplyInvalid):
        list(pieces_of(payload))


def broken(change: Any) -> bytes:
    steps = json.loads(small_steps()[1])
    change(steps)
    return json.dumps(steps).encode()


@pytest.mark.parametrize(
    ("payload", "kept"),
    [
        (b"[" * 200_000, 0),
        (b"{" + b" " * SLICE_BYTES, 0),
        (b'"' + b"x" * SLICE_BYTES + b'"', 0),
        (small_steps()[1][:-1], 0),
        (small_steps()[1] + b" x", 0),
        (broken(lambda steps: steps.update(kind="nothing")), 0),
        (broken(lambda steps: steps.update(kind="closing")), 0),
        (broken(lambda steps: steps.update(more=1)), 0),
        (broken(lambda steps: steps.pop("views")), 0),
        (broken(lambda steps: steps.update(names={})), 0),
        (broken(lambda steps: steps.update(running="1")), 0),
        (broken(lambda steps: steps["steps"].append(7)), 1_000),
        (broken(lambda steps: steps["steps"].append({"events": []})), 1_000),
        (broken(lambda steps: steps["steps"][-1]["events"].append({"kind": ["x"]})), 1_000),
        (small_steps()[1].replace(b'"Mul"', b'"\xff"'), 0),
    ],
    ids=range(15),
)
def test_what_is_wrong_in_a_large_frame_leaves_what_stands_before_it(payload: bytes, kept: int) -> None:
    assert len(payload) > SLICE_BYTES
    with pytest.raises(ReplyInvalid):
        decode_chunk(payload)
    pieces: list[Any] = []
    with pytest.raises(ReplyInvalid):
        pieces.extend(pieces_of(payload))
    assert sum(len(piece.steps) for piece in pieces) >= kept
