"""A child may send anything: the server keeps the valid part, says what happened, and everything works on."""

import html
import io
import json
import random
import re
import resource
from collections.abc import Sequence
from typing import Any

import pytest
from rich.console import Console
from tensor_anatomy.drawing import draw
from tensor_anatomy.explaining import explain
from tensor_anatomy.schema import Trace
from tensor_anatomy.schema.packing import packed_json, unpack
from tensor_anatomy.schema.replay import state_document
from tensor_anatomy.terminal import Manner, print_trace
from tensor_anatomy.web import export
from tensor_anatomy.web.export import page_of

from ..effort import at_most
from .replies import HOSTILE_TEXT, LIMITS, PROGRAMS, broken_bytes, broken_fields, frames, read, recorded

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200f\u202a-\u202e\u2066-\u2069]")


@pytest.fixture(autouse=True)
def built(tmp_path, monkeypatch):
    """A front end for exports, whether or not one was built."""
    dist = tmp_path / "static" / "dist"
    dist.mkdir(parents=True)
    for name in ("embed", "more"):
        (dist / f"{name}.css").write_text("p{color:red}")
        (dist / f"{name}.js").write_text("0")
    monkeypatch.setattr(export, "resource", lambda name: tmp_path / name)


@pytest.fixture(autouse=True)
def quiet(caplog):
    """What cannot be derived from a forged trace is left out, with a line in the log."""
    caplog.set_level("CRITICAL", logger="tensor_anatomy")


def everything_made_of(trace: Trace, *, pages: bool = True) -> Trace:
    """Make of a trace what servers and terminals make of one; nothing may raise."""
    explained = draw(explain(trace))
    assert unpack(json.loads(packed_json(explained))) == json.loads(explained.model_dump_json(by_alias=True))
    for step in {0, len(trace.steps) // 2, len(trace.steps)}:
        state_document(explained, step).model_dump_json(by_alias=True)
    if pages:
        page_of(explained, "a page", "zh")
        console = Console(file=io.StringIO(), width=80, color_system=None)
        print_trace(explained, console, Manner(language="en", verbose=True))
    return explained


@pytest.mark.parametrize("source", PROGRAMS)
def test_a_whole_reply_is_read_however_it_is_cut(source: str) -> None:
    reply = frames(recorded(source))
    whole = read(source, reply)
    assert whole.outcome.kind in ("finished", "raised")
    assert len(whole.steps) > 8
    assert read(source, reply, cut=13) == whole


def test_a_reply_with_wrong_bytes_is_invalid_and_keeps_what_came_before() -> None:
    crashed = 0
    for number in range(120):
        chance = random.Random(number)
        source = PROGRAMS[number % len(PROGRAMS)]
        whole = read(source, frames(recorded(source)))
        trace = read(source, broken_bytes(recorded(source), chance), cut=chance.choice((997, 1 << 16)))
        if trace.outcome.kind == "crashed":
            crashed += 1
            assert trace.outcome.reason == "invalid-reply"
            assert trace.steps == whole.steps[: len(trace.steps)] or _is_flipped(trace, whole)
        if number % 20 == 0:
            everything_made_of(trace)
    assert crashed > 80


def _is_flipped(trace: Trace, whole: Trace) -> bool:
    """A bit in a value makes another value, which no reader can know to be wrong."""
    return len(trace.steps) <= len(whole.steps) + 1


def test_fields_that_hold_anything_break_nothing() -> None:
    ends: dict[str, int] = {}
    for number in range(120):
        chance = random.Random(1_000 + number)
        source = PROGRAMS[chance.choice((0, 0, 1, 1, 2))]
        trace = read(source, broken_fields(recorded(source), chance))
        ends[trace.outcome.kind] = ends.get(trace.outcome.kind, 0) + 1
        assert trace.outcome.kind != "crashed" or trace.outcome.reason == "invalid-reply"
        everything_made_of(trace, pages=number % 4 == 0)
    assert ends["crashed"] > 40
    assert ends.get("finished", 0) + ends.get("raised", 0) > 5  # some of it is as good as before


def _events(*events: dict[str, Any]) -> dict[str, Any]:
    """The chunk of one step, of the first statement."""
    step = {
        "statement": 0, "frame": 0, "depth": 0, "began": 0, "first_event": 0, "executions": 1, "fold": None,
        "raised": False, "changed": {}, "lamps": [], "peak_bytes": {}, "events": list(events),
    }  # fmt: skip
    return {"kind": "steps", "names": ["N"], "views": [_VIEW], "ranges": [], "sites": [], "steps": [step],
            "running": None}  # fmt: skip


_VIEW = {
    "shape": [1024], "stride": [0], "storage_offset": 0, "dtype": "torch.float32", "layout": "torch.strided",
    "device": "cpu", "is_contiguous": True, "is_conj": False, "is_neg": False, "requires_grad": True,
    "is_leaf": False,
}  # fmt: skip
_STORAGE = {"kind": "storage", "id": 1, "nbytes": 4, "address": "0x10", "device": "cpu"}
_BYTES = {"kind": "bytes", "storage": 1, "data": "AAAAAA==", "late": False}


def _tensor(number: int, **fields: Any) -> dict[str, Any]:
    told = {
        "kind": "tensor",
        "id": number,
        "view": 0,
        "storage": 1,
        "version": 0,
        "grad_fn": None,
        "grad": None,
    }
    return {**told, "quantizer": None, **fields}


def _node(number: int, *targets: int) -> dict[str, Any]:
    return {"kind": "node", "id": number, "name": 0, "line": 1, "next_functions": [[t, 0] for t in targets],
            "variable": None, "saved": []}  # fmt: skip


def forged(*chunks: dict[str, Any], source: str = PROGRAMS[0]) -> bytes:
    """A reply that begins as a real one does."""
    opening = recorded(source)[:2]
    return frames([*opening, *(json.dumps(chunk).encode() for chunk in chunks)])


@pytest.mark.parametrize(
    "events",
    [
        pytest.param([{**_STORAGE, "address": "0x"}], id="an address without digits"),
        pytest.param([{**_STORAGE, "address": "twelve"}], id="an address in words"),
        pytest.param([{**_STORAGE, "address": "0x" + "f" * 40}], id="an address beyond the machine"),
        pytest.param([{**_STORAGE, "nbytes": -1}], id="a storage of -1 bytes"),
        pytest.param([{**_STORAGE, "nbytes": 10**400}], id="a storage of a googol to the fourth"),
        pytest.param([_STORAGE, _tensor(1, view=7)], id="a view to come"),
        pytest.param([_tensor(1)], id="a storage never mentioned"),
        pytest.param([{"kind": "freed", "storages": [3], "line": 1}], id="freed before it was there"),
        pytest.param([{"kind": "freed", "storages": [], "line": -5}], id="line -5"),
        pytest.param([{"kind": "freed", "storages": [], "line": 10**30}], id="a line beyond counting"),
        pytest.param([{**_node(1), "name": 12}], id="a name to come"),
        pytest.param([{"kind": "op", "site": 0, "inputs": [], "outputs": []}], id="a site to come"),
    ],
)
def test_a_forged_event_is_refused(events: list[dict[str, Any]]) -> None:
    trace = read(PROGRAMS[0], forged(_events(), _events(*events)))
    assert (trace.outcome.kind, trace.outcome.reason) == ("crashed", "invalid-reply")
    assert len(trace.steps) == 1
    everything_made_of(trace)


@pytest.mark.parametrize(
    "place",
    [
        {"line": 0, "end_line": 0},
        {"line": 1, "end_line": 10**12},
        {"line": 10**12, "end_line": 10**12},
        {"line": 3, "end_line": 2},
        {"column": -1},
    ],
)
def test_a_statement_stands_in_the_program(place: dict[str, int]) -> None:
    opening = json.loads(recorded(PROGRAMS[0])[1])
    opening["statements"][0]["range"].update(place)
    trace = read(PROGRAMS[0], frames([b"", json.dumps(opening).encode()]))
    assert (trace.outcome.kind, trace.outcome.reason) == ("crashed", "invalid-reply")
    assert trace.statements == ()
    everything_made_of(trace)


def test_a_graph_that_leads_back_to_itself_can_be_shown() -> None:
    circle = [_node(1, 2), _node(2, 3, 1), _node(3, 3)]
    trace = read(PROGRAMS[0], forged(_events(_STORAGE, _tensor(1, grad_fn=1, grad=1), *circle)))
    assert len(trace.steps) == 1
    state = state_document(everything_made_of(trace))
    assert set(state.nodes) == {"1", "2", "3"}


def _grew(read_it: Any) -> tuple[Trace, int]:
    """What it gives, and MiB by which this process has grown at most."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    trace = read_it()
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return trace, (after - before) >> 10


_FLOODS: dict[str, list[Sequence[bytes]]] = {
    "a million empty frames": [[b""] * 1_000_000],
    "a million frames of null": [[b"null"] * 700_000],
    "as many chunks as fit": [[json.dumps({**_events(), "views": []}).encode()] * 12_000],
    "one frame of lists in lists": [[b"[" * 4_900_000]],
    "one frame of empty lists": [
        [b'{"kind":"closing","events":[{"kind":"values","tensor":1,"values":[' + b"[]," * 1_600_000 + b"0]"]
    ],
    "a number of a million digits": [[b'{"kind":"closing","events":' + b"9" * 1_000_000 + b"}"]],
    "a key said a million times": [[b'{"kind":"steps",' + b'"k":1,' * 800_000 + b'"k":1}']],
}


@pytest.mark.parametrize("flood", _FLOODS)
def test_a_flood_ends_soon_and_takes_little(flood: str) -> None:
    opening = frames(recorded(PROGRAMS[0])[:2])
    reply = opening + frames(_FLOODS[flood][0])
    with at_most(200):
        trace, grew_mib = _grew(lambda: read(PROGRAMS[0], reply))
    assert (trace.outcome.kind, trace.outcome.reason) == ("crashed", "invalid-reply")
    assert grew_mib < 700


def test_a_length_that_lies_is_refused_before_it_is_waited_for() -> None:
    reply = frames(recorded(PROGRAMS[0])[:2]) + b"\xff\xff\xff\x7f" + b"{"
    trace = read(PROGRAMS[0], reply)
    assert trace.outcome.reason == "invalid-reply"
    assert "2,147,483,647 bytes" in (trace.outcome.message or "")


def test_many_tensors_in_one_small_storage_do_not_fill_the_state_document() -> None:
    tensors = [_tensor(i) for i in range(1, 20_001)]
    trace = read(PROGRAMS[0], forged(_events(_STORAGE, _BYTES, *tensors)))
    assert len(trace.steps) == 1
    assert len(state_document(trace).model_dump_json()) < 64 << 20


@pytest.mark.parametrize("text", [pytest.param(t, id=str(i)) for i, t in enumerate(HOSTILE_TEXT)])
def test_a_strangers_text_stays_text_everywhere(text: str) -> None:
    print_it = {"kind": "stdout", "text": text}
    warning = {"kind": "warning", "line": 1, "category": text, "message": text}
    names = {"kind": "names", "frame": 0, "root": text, "paths": {text: 1}}
    traits = {"kind": "traits", "tensor": 1, "traits": [{"id": "quantized", "args": {"quantizer": text}}]}
    thread = {"kind": "thread", "name": text, "function": text}
    view = {**_VIEW, "dtype": text, "layout": text, "device": text}
    raised = {"kind": "exception", "type": text, "message": text, "range": None}
    chunk = _events({**_STORAGE, "device": text}, _tensor(1, grad_fn=1, quantizer=text), _node(1), names,
                    traits, thread, raised, warning, print_it)  # fmt: skip
    chunk.update(names=[text], views=[view])
    chunk["steps"][0]["changed"] = {text: ["new"]}
    closing = json.loads(recorded(PROGRAMS[0])[-1])
    closing["outcome"].update(kind="raised", type=text, message=text, line=1)
    closing["events"] = []
    source = PROGRAMS[0] + f"# {text}\n".replace("\0", "")
    trace = everything_made_of(read(source, forged(chunk, closing)))
    assert trace.outcome.kind == "raised"

    for language in ("en", "zh"):
        page = page_of(trace, text, language)  # type: ignore[arg-type]
        outside = re.sub(r"<script[^>]*>.*?</script>", "", page, flags=re.DOTALL)
        if "<" in text:
            assert text not in page
            assert html.escape("<script>") not in text or text not in outside
        assert page.count("<script") == page.count("</script>") == page_of_nothing().count("<script")
        assert "<svg onload" not in page and "<img src=x" not in page

        file = io.StringIO()
        manner = Manner(language=language, verbose=True)  # type: ignore[arg-type]
        print_trace(trace, Console(file=file, width=80, color_system=None), manner)
        assert _CONTROL.findall(file.getvalue()) == []

    assert json.loads(packed_json(trace))["outcome"]["message"] == text


def page_of_nothing() -> str:
    """The page of an ordinary trace."""
    return page_of(read(PROGRAMS[0], frames(recorded(PROGRAMS[0]))), "x", "en")


def test_a_reply_may_not_be_longer_than_its_limit() -> None:
    trace = read(
        PROGRAMS[0], frames([b"", *[recorded(PROGRAMS[0])[1]]]) + bytes(LIMITS.trace_bytes + (1 << 20))
    )
    assert (trace.outcome.kind, trace.outcome.reason) == ("crashed", "invalid-reply")
