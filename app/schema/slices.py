"""JSON ↔ records a slice at a time, for records that may be as large as a reply.

The library that checks and writes records is fast, but lets no other thread run meanwhile: four megabytes in
one call keep a server from its readers for half a second. Here no call gets much more than `SLICE_BYTES`;
between two calls others have their turn. What comes out is what one call would have made. Which records a
reply consists of, and in which order, is not known here.
"""

from collections.abc import Hashable, Iterator
from functools import lru_cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, cast, get_args, get_origin

import msgspec
from pydantic import TypeAdapter, ValidationError

from ..errors import ReplyInvalid
from .base import Record
from .trace import Step

SLICE_BYTES = 64 << 10
"""About what one call gets to check: some ten milliseconds of a busy processor."""

_SLICE_ITEMS = 200
"""Records that one call writes."""

MOST_DEPTH = 128
"""Lists in lists that are large themselves: a tensor has no more dimensions."""

R = TypeVar("R", bound=Record)


# ---- reading


def record_of(kind: type[R], text: bytes, *, strict: bool = True) -> R:
    """Check the JSON of a record.

    Args:
        kind: What it is.
        text: The JSON.
        strict: Values must be of the very types. Not for a trace as it was kept, which may be an older one.

    Raises:
        ReplyInvalid: It is not JSON of such a record.

    >>> from .base import Sentence
    >>> record_of(Sentence, b'{"layer": "data", "id": "step.op", "args": {}}').id
    'step.op'
    """
    try:
        if len(text) <= SLICE_BYTES:
            return kind.model_validate_json(text, strict=strict)
        members = members_of(text)
        aside: dict[str, Any] = {}
        for name, member in members.items():
            field = kind.model_fields.get(name)
            if field is not None and len(member) > SLICE_BYTES and _is_parted(field.annotation):
                aside[name], members[name] = _large(field.annotation, member), _least(field.annotation)
        whole = kind.model_validate_json(object_of(members), strict=strict)
        return whole.model_copy(update=aside)
    except ValidationError as e:
        raise ReplyInvalid(f"a frame is not a chunk ({e.error_count()} faults)") from e
    except (ValueError, RecursionError, MemoryError) as e:
        raise ReplyInvalid(f"a frame cannot be read ({type(e).__name__})") from e


def members_of(text: bytes) -> dict[str, bytes]:
    """The members of a JSON object, each still JSON; of two with one name the last.

    Raises:
        ValueError, RecursionError: It is no JSON object.
    """
    return {name: bytes(raw) for name, raw in _members.decode(text).items()}


def slices_of(item: Any, text: bytes) -> Iterator[tuple[Any, ...]]:
    """The items of a JSON array, checked, some at a time.

    Args:
        item: Type of each.
        text: The array.

    Raises:
        ValueError, RecursionError, ReplyInvalid: It is no such array.
    """
    some: list[bytes] = []
    size = 0
    for raw in _items.decode(text):
        one = bytes(raw)
        if some and size + len(one) > SLICE_BYTES:
            yield _checked(item, some)
            some, size = [], 0
        if len(one) > SLICE_BYTES:
            yield (_large(item, one),)
        else:
            some.append(one)
            size += len(one) + 1
    if some:
        yield _checked(item, some)


def item_of(kind: type[Record], name: str) -> Any:
    """Type of the items of a field that is a tuple of any length."""
    return get_args(kind.model_fields[name].annotation)[0]


_members = msgspec.json.Decoder(dict[str, msgspec.Raw])
_items = msgspec.json.Decoder(list[msgspec.Raw])


def _is_parted(annotation: Any) -> bool:
    """Whether a large value of this type consists of smaller ones. A text, say, does not."""
    return any(
        each is Any
        or get_origin(each) in (tuple, dict)
        or (isinstance(each, type) and issubclass(each, Record))
        for each in _alternatives(annotation)
    )


def _alternatives(annotation: Any) -> tuple[Any, ...]:
    return get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)


def _least(annotation: Any) -> bytes:
    """JSON of the smallest value of a type that is parted: it stands for one that is checked by itself."""
    for each in _alternatives(annotation):
        origin = get_origin(each)
        if each is Any or each is NoneType:
            return b"null"
        if origin is tuple or origin is dict:
            return b"[]" if origin is tuple else b"{}"
        if origin is Literal:
            return msgspec.json.encode(get_args(each)[0])
        if isinstance(each, type) and issubclass(each, Record):
            fields = each.model_fields.items()
            return object_of({name: _least(field.annotation) for name, field in fields})
    return msgspec.json.encode(_LEAST[annotation])


_LEAST: dict[Any, Any] = {bool: False, int: 0, float: 0.0, str: ""}


def _large(item: Any, text: bytes) -> Any:
    """A large value, checked part by part."""
    kind = _kind(item, text)
    if kind is not None:
        return record_of(kind, text)
    for each in _alternatives(item):
        arguments = get_args(each)
        if get_origin(each) is tuple and arguments[-1] is Ellipsis and text[:1] == b"[":
            return tuple(one for some in slices_of(arguments[0], text) for one in some)
        if get_origin(each) is dict and arguments[0] is str and text[:1] == b"{":
            return _mapping(arguments[1], text)
        if each is Any:
            return _plain(text)
    return adapter(item).validate_json(text, strict=True)


def _mapping(item: Any, text: bytes) -> dict[str, Any]:
    found: dict[str, Any] = {}
    some: dict[str, bytes] = {}
    size = 0
    for name, member in members_of(text).items():
        if len(member) > SLICE_BYTES:
            found[name] = _large(item, member)
            continue
        some[name] = member
        size += len(name) + len(member)
        if size > SLICE_BYTES:
            found |= adapter(dict[str, item]).validate_json(object_of(some), strict=True)
            some, size = {}, 0
    return found | cast(dict[str, Any], adapter(dict[str, item]).validate_json(object_of(some), strict=True))


def _plain(text: bytes, depth: int = 0) -> Any:
    """Any JSON, as `json.loads` reads it."""
    if len(text) <= SLICE_BYTES or text[:1] not in (b"[", b"{"):
        return adapter(Any).validate_json(text)
    if depth >= MOST_DEPTH:
        raise ReplyInvalid("a frame is nested too deeply")
    if text[:1] == b"{":
        return {name: _plain(member, depth + 1) for name, member in members_of(text).items()}
    found: list[Any] = []
    some: list[bytes] = []
    size = 0
    for raw in _items.decode(text):
        one = bytes(raw)
        if size + len(one) > SLICE_BYTES:
            found += adapter(list[Any]).validate_json(b"[" + b",".join(some) + b"]")
            some, size = [], 0
        if len(one) > SLICE_BYTES:
            found.append(_plain(one, depth + 1))
        else:
            some.append(one)
            size += len(one) + 1
    return found + cast(list[Any], adapter(list[Any]).validate_json(b"[" + b",".join(some) + b"]"))


def _checked(item: Any, texts: list[bytes]) -> tuple[Any, ...]:
    whole = b"[" + b",".join(texts) + b"]"
    return cast(tuple[Any, ...], adapter(tuple[item, ...]).validate_json(whole, strict=True))


def _kind(item: Any, text: bytes) -> type[Record] | None:
    """Which record a JSON object is: the only one it can be, or the one its `kind` names."""
    if text[:1] != b"{":
        return None
    for each in _alternatives(item):
        if isinstance(each, type) and issubclass(each, Record):
            return each
    if get_origin(item) is not Annotated:
        return None
    told = members_of(text).get("kind")
    return None if told is None else _kinds(item).get(told)


@lru_cache
def _kinds(union: Any) -> dict[bytes, type[Record]]:
    records = get_args(get_args(union)[0])
    return {
        msgspec.json.encode(word): each
        for each in records
        for word in get_args(each.model_fields["kind"].annotation)
    }


def object_of(members: dict[str, bytes]) -> bytes:
    """A JSON object of members that are JSON already."""
    return b"{" + b",".join(msgspec.json.encode(name) + b":" + text for name, text in members.items()) + b"}"


def adapter(kind: Any) -> TypeAdapter[Any]:
    """What checks and writes values of a type."""
    return _adapter(kind)


@lru_cache(maxsize=256)
def _adapter(kind: Hashable) -> TypeAdapter[Any]:
    return TypeAdapter(cast(Any, kind))


# ---- writing


def json_of(record: Record) -> bytes:
    """A trace or a chunk as JSON: what `model_dump_json(by_alias=True)` says of it.

    Args:
        record: Its own fields have no aliases; of its steps those are small that hold few events.
    """
    if not _large_fields(record):
        return record.model_dump_json(by_alias=True).encode()
    members: dict[str, bytes] = {}
    for name, field in type(record).model_fields.items():
        value = getattr(record, name)
        if name == "steps":
            members[name] = b"[" + b",".join(_steps(value)) + b"]"
        elif isinstance(value, tuple):
            members[name] = _array(field.annotation, value)
        else:
            members[name] = adapter(field.annotation).dump_json(value, by_alias=True)
    return object_of(members)


def _steps(steps: tuple[Step, ...]) -> Iterator[bytes]:
    kind = tuple[Step, ...]
    some: list[Step] = []
    weight = 0
    for step in steps:
        own = 1 + len(step.events)
        if some and weight + own > _SLICE_ITEMS:
            yield _bare(adapter(kind).dump_json(tuple(some), by_alias=True))
            some, weight = [], 0
        if own > _SLICE_ITEMS:
            yield _step(step)
        else:
            some.append(step)
            weight += own
    if some:
        yield _bare(adapter(kind).dump_json(tuple(some), by_alias=True))


def _step(step: Step) -> bytes:
    """A step whose events may be many: they are its last field."""
    head = step.model_copy(update={"events": ()}).model_dump_json(by_alias=True).encode()
    events = _array(Step.model_fields["events"].annotation, step.events)
    return head.removesuffix(b"[]}") + events + b"}"


def _array(kind: Any, values: tuple[Any, ...]) -> bytes:
    parts = (
        _bare(adapter(kind).dump_json(values[start : start + _SLICE_ITEMS], by_alias=True))
        for start in range(0, len(values), _SLICE_ITEMS)
    )
    return b"[" + b",".join(parts) + b"]"


def plain_of(record: Record) -> dict[str, Any]:
    """A trace as plain data: what `model_dump(mode="json", by_alias=True)` says of it, without its steps."""
    large = _large_fields(record) - {"steps"}
    plain = record.model_dump(mode="json", by_alias=True, exclude={"steps", *large})
    fields = type(record).model_fields
    return plain | {name: _plainly(fields[name].annotation, getattr(record, name)) for name in large}


def _large_fields(record: Record) -> set[str]:
    """Fields that are not for one call; steps count with their events."""
    large = set()
    for name in type(record).model_fields:
        value = getattr(record, name)
        if isinstance(value, tuple):
            size = len(value)
            if name == "steps" and size <= _SLICE_ITEMS:
                size = sum(1 + len(step.events) for step in value)
            if size > _SLICE_ITEMS:
                large.add(name)
    return large


def plain_step(step: Step) -> dict[str, Any]:
    """The same of a step."""
    if len(step.events) <= _SLICE_ITEMS:
        return step.model_dump(mode="json", by_alias=True)
    plain = step.model_copy(update={"events": ()}).model_dump(mode="json", by_alias=True)
    return plain | {"events": _plainly(Step.model_fields["events"].annotation, step.events)}


def _plainly(kind: Any, values: tuple[Any, ...]) -> list[Any]:
    found: list[Any] = []
    for start in range(0, len(values), _SLICE_ITEMS):
        found += adapter(kind).dump_python(values[start : start + _SLICE_ITEMS], mode="json", by_alias=True)
    return found


def _bare(array: bytes) -> bytes:
    """What stands between the brackets."""
    return array[1:-1]
