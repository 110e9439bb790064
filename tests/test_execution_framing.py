"""What a child sends is input: whatever is wrong with it, what came before stands and nothing else breaks."""

import pickle
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tensor_anatomy.errors import ReplyInvalid
from tensor_anatomy.execution.assembly import Assembly
from tensor_anatomy.execution.framing import FrameDecoder, decode_chunk
from tensor_anatomy.execution.verdict import Ending, verdict
from tensor_anatomy.schema import (
    Closing,
    Environment,
    Limits,
    Opening,
    Outcome,
    SourceRange,
    Statement,
    Step,
    Steps,
    StorageBytes,
    TensorState,
    TensorView,
    UntypedStorage,
)

ENVIRONMENT = Environment(torch="2", python="3", device="cpu", simulated=False, seed=0)
LIMITS = Limits(
    wall_s=2.5,
    cpu_s=4,
    memory_bytes=512 << 20,
    steps_kept=10,
    statements=10,
    stdout_kept_bytes=10,
    stdout_bytes=1_000,
    trace_bytes=10,
    value_elements=10,
)
FINISHED = Outcome(
    kind="finished",
    line=None,
    type=None,
    message=None,
    reason=None,
    limit=None,
    range=None,
    traceback=(),
    failure=None,
)
RANGE = SourceRange(line=3, column=0, end_line=3, end_column=5)
OPENING = Opening(kind="opening", environment=ENVIRONMENT, statements=(Statement(kind="Expr", range=RANGE),))
CLOSING = Closing(kind="closing", events=(), outcome=FINISHED, fingerprint=None)
VIEW = TensorView(
    shape=(2, 3),
    stride=(3, 1),
    storage_offset=0,
    dtype="torch.float32",
    layout="torch.strided",
    device="cpu",
    is_contiguous=True,
    is_conj=False,
    is_neg=False,
    requires_grad=False,
    is_leaf=True,
)
STORAGE = UntypedStorage(kind="storage", id=1, nbytes=24, address="0x10", device="cpu")
TENSOR = TensorState(
    kind="tensor", id=1, view=0, storage=1, version=0, grad_fn=None, grad=None, quantizer=None
)


def frame(payload: bytes) -> bytes:
    return struct.pack("<I", len(payload)) + payload


def a_step(*events: Any, **fields: Any) -> Step:
    told: dict[str, Any] = {
        "statement": 0,
        "frame": 0,
        "depth": 0,
        "began": 0,
        "first_event": 0,
        "executions": 1,
        "fold": None,
        "raised": False,
        "changed": {},
        "lamps": (),
        "peak_bytes": {},
        "events": events,
    }
    return Step(**(told | fields))


def steps(*each: Step, views: tuple[TensorView, ...] = (VIEW,), running: int | None = None) -> Steps:
    return Steps(kind="steps", names=(), views=views, ranges=(), sites=(), steps=each, running=running)


@given(st.lists(st.binary(max_size=300), max_size=8), st.integers(1, 50))
def test_frames_arrive_whole_however_the_bytes_are_cut(payloads: list[bytes], size: int) -> None:
    stream = b"".join(map(frame, payloads))
    decoder = FrameDecoder(10_000)
    received = [p for i in range(0, len(stream), size) for p in decoder.feed(stream[i : i + size])]
    assert received == payloads
    assert decoder.is_between_frames


def test_a_frame_that_announces_too_much_is_refused_but_not_those_before_it() -> None:
    frames = FrameDecoder(1_000).feed(frame(b"first") + frame(b"second") + b"\xff\xff\xff\xff")
    assert [next(frames), next(frames)] == [b"first", b"second"]
    with pytest.raises(ReplyInvalid, match="4,294,967,295 bytes"):
        next(frames)


def test_a_chunk_comes_back_as_it_was_sent() -> None:
    for chunk in (OPENING, steps(a_step(STORAGE, TENSOR)), CLOSING):
        assert decode_chunk(chunk.model_dump_json().encode()) == chunk


@pytest.mark.parametrize(
    "payload",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"\xff\xfe", id="not UTF-8"),
        pytest.param(b'"\\ud800"', id="lone surrogate"),
        pytest.param(b'{"kind": "opening"', id="not JSON"),
        pytest.param(b"[" * 1_000_000, id="nested without end"),
        pytest.param(b'{"kind":"opening","x":' * 100_000, id="objects without end"),
        pytest.param(pickle.dumps(CLOSING), id="a pickle"),
        pytest.param(b'{"kind": "something"}', id="unknown kind"),
        pytest.param(CLOSING.model_dump_json().encode() + b"x", id="more than JSON"),
        pytest.param(b"9" * 10_000, id="a number with ten thousand digits"),
        pytest.param(
            CLOSING.model_dump_json().replace('"events":[]', '"events":[],"more":1').encode(),
            id="extra field",
        ),
        pytest.param(
            steps(a_step()).model_dump_json().replace('"depth":0', '"depth":"0"').encode(),
            id="text for a number",
        ),
    ],
)
def test_what_is_not_a_chunk_is_refused(payload: bytes) -> None:
    with pytest.raises(ReplyInvalid):
        decode_chunk(payload)


def test_chunks_make_a_trace() -> None:
    assembly = Assembly("\n\nx = 1", ENVIRONMENT)
    for chunk in (OPENING, steps(a_step(STORAGE, TENSOR)), steps(a_step(began=1, first_event=2)), CLOSING):
        assembly.add(chunk)
    trace = assembly.trace(FINISHED, "")
    assert [step.events for step in trace.steps] == [(STORAGE, TENSOR), ()]
    assert len(trace.views) == 2
    assert trace.outcome.kind == "finished"


def test_what_came_late_ends_the_last_step() -> None:
    assembly = Assembly("\n\nx = 1", ENVIRONMENT)
    assembly.add(OPENING)
    assembly.add(steps(a_step(), a_step(began=1)))
    assembly.add(CLOSING.model_copy(update={"events": (STORAGE,)}))
    first, last = assembly.trace(FINISHED, "from C").steps
    assert first.events == ()
    assert last.events[0] == STORAGE
    assert last.events[1].text == "from C"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "chunks",
    [
        pytest.param([steps()], id="steps before the opening"),
        pytest.param([CLOSING], id="an end before the opening"),
        pytest.param([OPENING, OPENING], id="two openings"),
        pytest.param([OPENING, CLOSING, CLOSING], id="two ends"),
        pytest.param([OPENING, CLOSING, steps()], id="steps after the end"),
        pytest.param([OPENING, steps(running=1)], id="an unknown statement runs"),
        pytest.param([OPENING, steps(a_step(statement=1))], id="a step of an unknown statement"),
        pytest.param([OPENING, steps(a_step(statement=-1))], id="a step of statement -1"),
        pytest.param([OPENING, steps(a_step(began=1))], id="a step that began after it ended"),
        pytest.param([OPENING, steps(a_step(first_event=1))], id="events to come"),
        pytest.param([OPENING, steps(a_step(STORAGE, TENSOR), views=())], id="an unknown view"),
        pytest.param([OPENING, steps(a_step(TENSOR))], id="an unknown storage"),
        pytest.param(
            [OPENING, steps(a_step(StorageBytes(kind="bytes", storage=5, data=None, late=False)))],
            id="bytes of nothing",
        ),
        pytest.param(
            [OPENING, steps(a_step(STORAGE, StorageBytes(kind="bytes", storage=1, data="A", late=False)))],
            id="bytes that are not base64",
        ),
        pytest.param(
            [OPENING, steps(views=(VIEW.model_copy(update={"stride": (1,)}),))], id="a stride too few"
        ),
        pytest.param(
            [OPENING, steps(views=(VIEW.model_copy(update={"shape": (-1, 3)}),))], id="a size of -1"
        ),
    ],
)
def test_a_chunk_out_of_place_is_refused_and_what_came_before_stands(chunks: list[Any]) -> None:
    assembly = Assembly("\n\nx = 1", ENVIRONMENT)
    for chunk in chunks[:-1]:
        assembly.add(chunk)
    before = assembly.trace(FINISHED, "")
    with pytest.raises(ReplyInvalid):
        assembly.add(chunks[-1])
    assert assembly.trace(FINISHED, "") == before


def ending(**fields: Any) -> Ending:
    told: dict[str, Any] = {
        "status": 0,
        "cpu_s": 0.1,
        "killed_for": None,
        "fault": None,
        "ran_out_of_memory": False,
        "said": FINISHED,
        "line": 7,
    }
    return Ending(**(told | fields))


@pytest.mark.parametrize(
    ("known", "kind", "reason", "words"),
    [
        (ending(), "finished", None, None),
        (ending(status=9, killed_for="time-limit"), "stopped", "time-limit", "limit of 2.5 s"),
        (ending(status=9, killed_for="output-limit"), "stopped", "output-limit", "1,000 bytes"),
        (ending(status=24, said=None), "stopped", "time-limit", "4 s of processor time"),
        (ending(status=9, said=None, cpu_s=5.0), "stopped", "time-limit", "4 s of processor time"),
        (ending(status=9, said=None, ran_out_of_memory=True), "stopped", "memory-limit", "512 MiB"),
        (ending(status=6, said=None, ran_out_of_memory=True), "stopped", "memory-limit", "512 MiB"),
        (ending(status=9, said=None), "crashed", "signal", "SIGKILL"),
        (ending(status=11 | 0x80, said=None), "crashed", "signal", "SIGSEGV"),
        (ending(status=40, said=None), "crashed", "signal", "signal 40"),
        (ending(status=11), "crashed", "signal", "SIGSEGV"),
        (ending(said=None), "crashed", "invalid-reply", "exit status 0"),
        (ending(status=3 << 8), "crashed", "invalid-reply", "exit status 3"),
        (
            ending(status=9, killed_for="invalid-reply", fault="it is odd"),
            "crashed",
            "invalid-reply",
            "it is odd",
        ),
    ],
)
def test_how_a_run_ended(known: Ending, kind: str, reason: str | None, words: str | None) -> None:
    outcome = verdict(known, LIMITS)
    assert (outcome.kind, outcome.reason) == (kind, reason)
    assert words is None or words in (outcome.message or "")
    assert outcome.line == (None if kind == "finished" else 7)


def test_what_the_child_cannot_know_is_added() -> None:
    finished = ending().said
    assert finished is not None
    said = finished.model_copy(update={"kind": "raised", "line": 7, "type": "RuntimeError"})
    full = said.model_copy(update={"reason": "memory-limit", "message": "no memory"})
    save = said.model_copy(update={"message": "Parent directory a/b does not exist."})
    other = said.model_copy(update={"message": "a size is wrong"})

    assert verdict(ending(said=full), LIMITS).limit == f"{LIMITS.memory_bytes >> 20:,} MiB of memory"
    assert verdict(ending(said=save), LIMITS).reason == "denied"
    assert verdict(ending(said=other), LIMITS) == other
