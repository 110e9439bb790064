"""A trace as it travels: what repeats is sent once.

A loop does the same again and again, with new tensors. In a packed trace an id is told by its distance from
the newest one, so that the events of two iterations are the same text; a step that reads like an earlier one
is its index. What differs each time, bytes and addresses, stands aside. `unpack` gives back exactly what was
packed; the browser has a twin of it (`model/unpack.ts`). The packed trace itself tells which fields hold ids.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any, Literal

from pydantic import ConfigDict

from .base import Record
from .slices import json_of, plain_of, plain_step
from .trace import Trace
from .weight import weight_of

_MOST_PACKED = 150_000
"""Weight of a trace beyond which it is sent as it is: to pack more takes longer than to send it."""

_AT_ONCE = 2_000
"""Items of a list that become text in one call."""

Code = str | dict[str, Any]
"""How a field is packed, see `EventShape`."""


class EventShape(Record):
    """How events of one kind are packed: a list of an index into `shapes` and of the values of its fields."""

    kind: str
    """The kind."""

    fields: tuple[tuple[str, str | dict[str, Any]], ...]
    """Name and code of each field. `""`: the value as it is. `t`, `s`, `n`, `p`: ids of tensors, storages,
    nodes and backward passes, alone, in a list or as the values of an object; an id newer than all before
    is told by minus its distance from the newest, a recent one by twice its distance, any other by twice
    itself plus one. `x`: the next text aside, null for none. `{"rows": [[name, code], …]}`: records, each a
    list of values. `{"pair": [code, …]}`: lists."""


class Table(Record):
    """Records of one kind."""

    fields: tuple[str, ...]
    """Their fields."""

    rows: tuple[tuple[Any, ...], ...]
    """The values of each."""


class PackedTrace(Record):
    """A trace as it is sent. The fields not named here are those of `Trace`."""

    model_config = ConfigDict(extra="allow")

    packed: Literal[1]
    """How it is packed."""

    steps: tuple[int, ...]
    """Per step an index into `blocks`."""

    blocks: tuple[tuple[tuple[Any, ...], tuple[tuple[Any, ...], ...]], ...]
    """Steps that read alike: the values of `fields`, and the packed events. `began` and `first_event` are
    told by their distance from the step and from its first event."""

    fields: tuple[str, ...]
    """Fields of a step, its events aside."""

    shapes: tuple[EventShape, ...]
    """Kinds of events."""

    texts: tuple[str, ...]
    """Texts aside: bytes in base64, addresses."""

    aside: tuple[int, ...]
    """Indices into `texts`, in the order of the events."""

    views: Table
    ranges: Table
    sites: Table
    sentences: Table
    graph: dict[str, Any] | None
    """As `Trace.graph`, but for nodes and edges in tables, those of `folded` and its `folds` too."""


_SAVED = {"rows": [["field", ""], ["tensor", "t"], ["storage", "s"], ["version", ""]]}
_CODES: dict[tuple[str, str], Code] = {
    ("storage", "id"): "s",
    ("storage", "address"): "x",
    ("bytes", "storage"): "s",
    ("bytes", "data"): "x",
    ("tiles", "storage"): "s",
    ("freed", "storages"): "s",
    ("tensor", "id"): "t",
    ("tensor", "storage"): "s",
    ("tensor", "grad_fn"): "n",
    ("tensor", "grad"): "t",
    ("values", "tensor"): "t",
    ("traits", "tensor"): "t",
    ("gone", "tensors"): "t",
    ("op", "inputs"): "t",
    ("op", "outputs"): "t",
    ("api", "inputs"): "t",
    ("api", "outputs"): "t",
    ("node", "id"): "n",
    ("node", "next_functions"): {"pair": ["n", ""]},
    ("node", "variable"): "t",
    ("node", "saved"): _SAVED,
    ("saved", "node"): "n",
    ("ran", "node"): "n",
    ("ran", "task"): "p",
    ("gradient", "tensor"): "t",
    ("saved-freed", "nodes"): "n",
    ("transfer", "source"): "t",
    ("transfer", "target"): "t",
    ("names", "paths"): "t",
}
_RECENT = 64
"""Ids this far from the newest are told by their distance, older ones as they are."""

_LISTS = ("views", "ranges", "sites", "sentences")


def pack(trace: Trace) -> dict[str, Any]:
    """Pack a trace into what is sent as JSON."""
    packed, blocks = _packed_apart(trace)
    return {**packed, "blocks": [json.loads(text) for text in blocks]}


def packed_json(trace: Trace) -> bytes:
    """A trace as it is sent: packed, unless there is too much in it."""
    if weight_of(trace, most=_MOST_PACKED) > _MOST_PACKED:
        return json_of(trace)
    packed, blocks = _packed_apart(trace)
    # Not in one call, during which no other thread could run.
    members = [f"{_text(name)}:{_long_text(value)}" for name, value in packed.items()]
    return f'{{{",".join(members)},"blocks":[{",".join(blocks)}]}}'.encode()


def _packed_apart(trace: Trace) -> tuple[dict[str, Any], list[str]]:
    """A packed trace without its blocks, and these, which are JSON already."""
    plain = plain_of(trace)
    shapes = _Shapes()
    ids, aside = _Ids(), _Aside()
    blocks: dict[str, int] = {}
    steps: list[int] = []
    position = 0
    for number, each in enumerate(trace.steps):
        step = plain_step(each)
        events = step.pop("events")
        step["began"], step["first_event"] = number - step["began"], position - step["first_event"]
        position += len(events)
        packed = [[shapes.of(e), *_packed(e, shapes.codes(e), ids, aside)] for e in events]
        text = _text([list(step.values()), packed])
        steps.append(blocks.setdefault(text, len(blocks)))
        fields = list(step)
    if plain["graph"] is not None:
        plain["graph"] = _picture(plain["graph"], _table)
    for name in _LISTS:
        plain[name] = _table(plain[name])
    packed_trace = {
        **plain,
        "packed": 1,
        "steps": steps,
        "fields": fields if steps else [],
        "shapes": shapes.rows,
        "texts": aside.texts,
        "aside": aside.indices,
    }
    return packed_trace, list(blocks)


def _text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _long_text(value: Any) -> str:
    if isinstance(value, list):
        parts = (_text(value[i : i + _AT_ONCE])[1:-1] for i in range(0, len(value), _AT_ONCE))
        return f"[{','.join(parts)}]"
    if isinstance(value, dict) and "rows" in value:
        return f'{{"fields":{_text(value["fields"])},"rows":{_long_text(value["rows"])}}}'
    return _text(value)


def unpack(packed: dict[str, Any]) -> dict[str, Any]:
    """The plain JSON data of a packed trace; what is not packed comes back as it is.

    Raises:
        LookupError, ValueError, TypeError: It was not made by `pack`.
    """
    if "packed" not in packed:
        return packed
    plain = dict(packed)
    del plain["packed"]
    fields, shapes, blocks = plain.pop("fields"), plain.pop("shapes"), plain.pop("blocks")
    texts, aside = plain.pop("texts"), iter(plain.pop("aside"))
    for name in _LISTS:
        plain[name] = _rows(plain[name])
    if plain["graph"] is not None:
        plain["graph"] = _picture(plain["graph"], _rows)
    ids, steps, position = _Ids(), [], 0

    def text() -> str:
        return str(texts[next(aside)])

    for number, index in enumerate(plain["steps"]):
        values, packed_events = blocks[index]
        step = dict(zip(fields, values, strict=True))
        step["began"], step["first_event"] = number - step["began"], position - step["first_event"]
        step["events"] = [_event(shapes[e[0]], e, ids, text) for e in packed_events]
        position += len(packed_events)
        steps.append(step)
    return {**plain, "steps": steps}


class _Shapes:
    """The kinds of events, each with its fields and how they are packed."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self._indices: dict[str, int] = {}

    def of(self, event: dict[str, Any]) -> int:
        kind = event["kind"]
        index = self._indices.get(kind)
        if index is None:
            index = self._indices[kind] = len(self.rows)
            fields = [[name, _CODES.get((kind, name), "")] for name in event if name != "kind"]
            self.rows.append({"kind": kind, "fields": fields})
        return index

    def codes(self, event: dict[str, Any]) -> Any:
        return self.rows[self._indices[event["kind"]]]["fields"]


class _Ids:
    """Ids told by their distance from the newest of their kind."""

    def __init__(self) -> None:
        self._newest = {"t": 0, "s": 0, "n": 0, "p": 0}

    def pack(self, kind: str, value: int) -> int:
        newest = self._newest[kind]
        if value > newest:
            self._newest[kind] = value
            return newest - value
        return 2 * (newest - value) if newest - value < _RECENT else 2 * value + 1

    def unpack(self, kind: str, value: int) -> int:
        newest = self._newest[kind]
        if value < 0:
            self._newest[kind] = newest - value
            return newest - value
        return value // 2 if value % 2 else newest - value // 2


class _Aside:
    """Texts that differ each time."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.indices: list[int] = []
        self._known: dict[str, int] = {}

    def put(self, text: str) -> int:
        index = self._known.get(text)
        if index is None:
            index = self._known[text] = len(self.texts)
            self.texts.append(text)
        self.indices.append(index)
        return 1


def _packed(record: dict[str, Any], fields: Any, ids: _Ids, aside: _Aside) -> Iterator[Any]:
    for name, code in fields:
        yield _pack(record[name], code, ids, aside)


def _pack(value: Any, code: Code, ids: _Ids, aside: _Aside) -> Any:
    if value is None or code == "":
        return value
    if isinstance(code, dict):
        if "rows" in code:
            return [list(_packed(each, code["rows"], ids, aside)) for each in value]
        return [[_pack(v, c, ids, aside) for v, c in zip(each, code["pair"], strict=True)] for each in value]
    if code == "x":
        return aside.put(value)
    if isinstance(value, list):
        return [ids.pack(code, each) for each in value]
    if isinstance(value, dict):
        return {name: ids.pack(code, each) for name, each in value.items()}
    return ids.pack(code, value)


def _event(shape: dict[str, Any], packed: list[Any], ids: _Ids, text: Callable[[], str]) -> dict[str, Any]:
    return {"kind": shape["kind"], **_record(shape["fields"], packed[1:], ids, text)}


def _record(fields: Any, values: list[Any], ids: _Ids, text: Callable[[], str]) -> dict[str, Any]:
    return {name: _unpack(value, code, ids, text) for (name, code), value in zip(fields, values, strict=True)}


def _unpack(value: Any, code: Code, ids: _Ids, text: Callable[[], str]) -> Any:
    if value is None or code == "":
        return value
    if isinstance(code, dict):
        if "rows" in code:
            return [_record(code["rows"], each, ids, text) for each in value]
        return [[_unpack(v, c, ids, text) for v, c in zip(each, code["pair"], strict=True)] for each in value]
    if code == "x":
        return text()
    if isinstance(value, list):
        return [ids.unpack(code, each) for each in value]
    if isinstance(value, dict):
        return {name: ids.unpack(code, each) for name, each in value.items()}
    return ids.unpack(code, value)


def _picture(picture: dict[str, Any], change: Callable[[Any], Any]) -> dict[str, Any]:
    """A drawing, and those folded within it, with nodes and edges in tables or out of them."""
    changed = {**picture, "nodes": change(picture["nodes"]), "edges": change(picture["edges"])}
    if picture.get("folded") is not None:
        changed["folded"] = _picture(picture["folded"], change)
    if "folds" in picture:
        changed["folds"] = [_picture(fold, change) for fold in picture["folds"]]
    return changed


def _table(records: list[dict[str, Any]]) -> dict[str, Any]:
    """Records of one kind: their fields once, then a list of values each."""
    return {"fields": list(records[0]) if records else [], "rows": [list(each.values()) for each in records]}


def _rows(table: dict[str, Any]) -> list[dict[str, Any]]:
    return [dict(zip(table["fields"], values, strict=True)) for values in table["rows"]]
