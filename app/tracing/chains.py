"""Writes a chain of objects, from a variable down to a tensor, the way a program would.

`f.__defaults__[0]` is an expression, `keep.__traceback__ › f: big` a local of a frame that a traceback keeps,
`it (list_iterator)` what no expression reaches. Nothing of the program runs: types are
compared exactly, attributes read by the types' own descriptors. It does not find the chains (`referrers`).
"""

import collections
import functools
import types
from typing import Any

import torch

from .classes import class_of, members_of, texts
from .names import attribute_of, attributes_of, dictionary_of, key_text
from .reading import get_grad, get_hooks, get_is_leaf

_Link = tuple[str, bool]
"""What is added to the text, and whether the text may go on after it."""

_FUNCTION_PARTS = ("__closure__", "__defaults__", "__kwdefaults__", "__dict__", "__annotations__")
_SUSPENDED = {
    types.GeneratorType: "gi_frame",
    types.CoroutineType: "cr_frame",
    types.AsyncGeneratorType: "ag_frame",
}
_LONGEST = 100_000
_SPOKEN = {"_lru_cache_wrapper": "lru_cache"}
"""Classes by the names that programs know."""

_OPAQUE: _Link = ("", False)


def written(label: str, way: list[Any], last: str = "") -> str:
    """A chain as text.

    Args:
        label: What goes before a variable of its first object, a namespace: `f: ` for the locals of f.
        way: The objects, each referring to the next.
        last: What comes at the end, for a link that is no reference of Python's.

    Returns:
        An expression, as far as one reaches.
    """
    text = label + _variable(way[0], way[1])
    for i in range(1, len(way) - 1):
        link, goes_on = _link(way[i], way[i + 1], way[i - 1])
        text += link
        if not goes_on:
            return text + (link == "") * f" ({_SPOKEN.get(kind := class_of(way[i]), kind)})"
    return text + last


def hook_text(way: list[Any]) -> str | None:
    """A chain that begins with the hooks of a tensor or node that C++ keeps; None for any other."""
    first = way[0]
    if not (type(first) is dict or type(first) is collections.OrderedDict) or len(way) < 3:
        return None
    if not all(type(k) is int for k in dict.keys(first)) or type(way[1]) is not types.FunctionType:
        return None
    return written("", [{"hook": way[1]}, *way[1:]])


def function_name(qualified: str) -> str:
    """`add` of `make.<locals>.add`."""
    return qualified.rpartition("<locals>.")[2]


def _variable(namespace: Any, value: Any) -> str:
    return next((name for name, item in texts(namespace) if item is value), "?")


def _link(parent: Any, child: Any, before: Any) -> _Link:
    """How `parent` leads to `child`."""
    kind = type(parent)
    if kind is dict and _is_namespace_of(before, parent):
        return _attribute(parent, child)
    if issubclass(kind, dict):
        return _entry(parent, child)
    if issubclass(kind, (list, tuple)):
        return _item(parent, child, kind)
    if kind is types.TracebackType:
        return "", True
    if kind is types.CellType:
        return (".cell_contents" if type(before) is tuple else ""), True
    if kind is types.FunctionType:
        return _function_part(parent, child)
    if kind is types.MethodType:
        return (".__self__", True) if parent.__self__ is child else ("", True)
    if kind is functools.partial:
        named = (("func", parent.func), ("args", parent.args), ("keywords", parent.keywords))
        return next((_on(f".{name}") for name, part in named if part is child), _OPAQUE)
    suspended = next((frame for each, frame in _SUSPENDED.items() if each is kind), None)
    if suspended is not None:
        return _local(getattr(parent, suspended), child, ": ")
    if kind is types.FrameType:
        return _local(parent, child, f" › {function_name(parent.f_code.co_qualname)}: ")
    if issubclass(kind, BaseException) and (link := _exception_part(parent, child)):
        return link
    if issubclass(kind, torch.Tensor) and (link := _tensor_part(parent, child)):
        return link
    if type(child) is dict and _is_namespace_of(parent, child):
        return "", True
    if kind is types.ModuleType or issubclass(kind, type):
        return _attribute(_namespace(parent), child)
    for name, item in attributes_of(parent, kind):
        if item is child:
            return _on(attribute_of("", name))
    return _OPAQUE


def _on(text: str) -> _Link:
    return text, True


def _namespace(owner: Any) -> dict[str, Any]:
    try:
        if issubclass(type(owner), type):
            return dict(members_of(owner))
        found = object.__getattribute__(owner, "__dict__")
    except AttributeError:
        return {}
    return found if type(found) is dict else {}


def _is_namespace_of(owner: Any, candidate: dict[Any, Any]) -> bool:
    kind = type(owner)
    if owner is None or any(kind is each for each in _WITHOUT_A_NAMESPACE):
        return kind is types.FunctionType and owner.__dict__ is candidate
    if issubclass(kind, type):
        names = members_of(owner)
        same = len(names) == len(candidate) and all(type(name) is str for name in candidate)
        return same and names.keys() == candidate.keys()
    return dictionary_of(owner, kind) is candidate


_WITHOUT_A_NAMESPACE = (dict, list, tuple, types.FunctionType, types.FrameType)


def _attribute(namespace: dict[Any, Any], child: Any) -> _Link:
    for name, item in texts(namespace):
        if item is child:
            return _on(attribute_of("", name))
    return _OPAQUE


def _entry(parent: Any, child: Any) -> _Link:
    for key, item in dict.items(parent):
        if item is child:
            text = key_text(key)
            return _on(f"[{text}]") if text is not None else (f" ({class_of(parent)})", False)
        if key is child:
            return f" ({class_of(parent)})", False
    return _OPAQUE


def _item(parent: Any, child: Any, kind: type) -> _Link:
    base: Any = list if issubclass(kind, list) else tuple
    count, get = base.__len__(parent), base.__getitem__
    for i in range(min(count, _LONGEST)):
        if get(parent, i) is child:
            fields = members_of(kind).get("_fields")
            if type(fields) is tuple and i < len(fields) and type(fields[i]) is str:
                return _on(f".{fields[i]}")
            return _on(f"[{i}]")
    return _OPAQUE


def _function_part(parent: types.FunctionType, child: Any) -> _Link:
    for name in _FUNCTION_PARTS:
        if getattr(parent, name) is child:
            return _on("" if name == "__dict__" else f".{name}")
    return _OPAQUE


def _local(frame: Any, child: Any, sign: str) -> _Link:
    """The variable of a frame that does not run: it was watched, so its variables are there to be read."""
    if frame is not None:
        for name, item in texts(frame.f_locals):
            if item is child or (type(child) is types.CellType and _holds(child, item)):
                return _on(sign + name)
    return _OPAQUE


def _holds(cell: types.CellType, item: Any) -> bool:
    try:
        return cell.cell_contents is item
    except ValueError:  # its variable is not bound
        return False


def _exception_part(parent: BaseException, child: Any) -> _Link | None:
    for name in ("__traceback__", "__cause__", "__context__", "args"):
        if BaseException.__dict__[name].__get__(parent) is child:
            return _on(f".{name}")
    return None


def _tensor_part(parent: Any, child: Any) -> _Link | None:
    if get_hooks(parent) is child:
        return _on("._backward_hooks")
    if issubclass(type(child), torch.Tensor) and get_is_leaf(parent) and get_grad(parent) is child:
        return _on(".grad")
    return None
