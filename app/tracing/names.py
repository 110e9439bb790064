"""Names: a bounded walk from a program's variables to the tensors they lead to.

A name is a Python expression that gives the tensor in its frame: `model[0].weight`, `best['weight']`.
No code of the program runs: types are compared exactly, attributes come from `__dict__` and slots, never
from properties or `__getattr__`. A recursion without closures, since a closure that refers to itself is a
cycle that keeps tensors alive until the collector runs.
"""

import argparse
import functools
import keyword
import math
import types
import weakref
from collections import ChainMap, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

import torch
from torch.nested._internal.nested_tensor import NestedTensor

from .classes import bases_of, class_module, class_name, members_of, module_of, texts

MOST_ENTRIES = 200
"""Entries of one container that are looked at."""

MOST_OBJECTS = 4000
"""Objects that one walk looks at."""

DEEPEST = 8
"""Containers within containers."""

_Tensor = torch.Tensor
_PLAIN = frozenset(
    id(kind)
    for kind in (
        int,
        float,
        str,
        bool,
        type(None),
        bytes,
        complex,
        range,
        slice,
        types.ModuleType,
        types.BuiltinFunctionType,
        torch.dtype,
        torch.device,
        torch.Size,
        torch.memory_format,
        torch.layout,
        torch.Generator,
    )
)
"""Classes whose instances lead to no tensor, by `id`: a class may answer `==` with code of the program."""

_BUFFERS = frozenset({"ndarray", "memoryview", "PyCapsule"})
_HOLDERS = ("torch.distributions.", "torch.utils.data.", "torch.amp.")
"""Modules of PyTorch whose objects keep a program's tensors in attributes of their own."""

_VIEWS = frozenset(map(id, (type({}.keys()), type({}.values()), type({}.items()))))
_ORDERED = frozenset(map(id, (dict, OrderedDict, defaultdict)))
"""Dictionaries that iterate with no code of the program; by `id`, as above."""

_LARGEST_KEY = 1 << 40
"""A key above it is what `id` gave, and that is chance."""

_WEAK_KEYED = frozenset({"WeakKeyDictionary", "WeakIdKeyDictionary"})

_INDEXED = (torch.nn.Sequential, torch.nn.ModuleList, torch.nn.ParameterList)
_KEYED = (torch.nn.ModuleDict, torch.nn.ParameterDict)

_OF_EVERY_MODULE = frozenset(vars(torch.nn.Module()))
"""Attributes by which PyTorch keeps a module's parts and hooks."""

Found = list[tuple[str, Any]]

NameOf = Callable[[Any], str | None]
"""Gives an expression that leads to a tensor, as far as one is known."""


class Walk:
    """One walk from one variable. Throw it away before the program goes on: it holds tensors."""

    __slots__ = (
        "buffers",
        "found",
        "left_out",
        "looked_at",
        "name_of",
        "program_module",
        "repeatable",
        "seen",
        "visited",
    )

    def __init__(
        self, program_module: str, name_of: NameOf | None = None, *, repeatable: bool = False
    ) -> None:
        self.found: Found = []
        self.buffers: Found = []
        """NumPy arrays, memoryviews and capsules, which may keep memory of a tensor."""
        self.name_of = name_of
        self.looked_at = 0
        self.program_module = program_module
        self.repeatable = repeatable
        """Only names that another run of the program has as well: where a set puts a tensor is chance."""
        self.seen: set[int] = set()
        self.visited: set[int] = set()
        """Containers that were looked into, by `id`."""
        self.left_out: dict[str, tuple[int, int]] = {}
        """Expression for a container → entries that were looked at, and all that it has."""

    def go(self, path: str, value: Any, depth: int = 0) -> None:
        """Find the tensors behind `value`, which the expression `path` gives."""
        kind = type(value)
        if id(kind) in _PLAIN:
            return
        if kind is _Tensor or issubclass(kind, _Tensor):
            self.found.append((path, value))
            if kind is NestedTensor:
                self._jagged(path, value)
            return
        if depth > DEEPEST or self.looked_at > MOST_OBJECTS or id(value) in self.seen:
            return
        self.looked_at += 1
        self.seen.add(id(value))
        self.visited.add(id(value))
        if issubclass(kind, torch.nn.Module):
            self._module(path, value, depth)
        elif kind is list or kind is tuple:
            for i, item in enumerate(value[:MOST_ENTRIES]):
                self.go(f"{path}[{i}]", item, depth + 1)
            self._leave_out(path, len(value))
        elif id(kind) in _ORDERED:
            self._entries(path, value, depth)
            self._leave_out(path, dict.__len__(value))
        elif kind is types.FunctionType:
            self._function(path, value, depth)
        elif issubclass(kind, tuple):
            self._tuple(path, value, kind, depth)
        elif kind is types.MethodType:
            self.go(f"{path}.__self__", value.__self__, depth + 1)
        elif issubclass(kind, torch.optim.Optimizer):
            self._optimizer(path, value, depth)
        elif class_module(kind) == self.program_module:
            self._instance(path, value, kind, depth)
        elif issubclass(kind, type):
            self._class(path, value, depth)
        elif class_name(kind) in _BUFFERS:
            self.buffers.append((path, value))
        else:
            self._of_a_library(path, value, kind, depth)
        self.seen.discard(id(value))

    def _of_a_library(self, path: str, value: Any, kind: type, depth: int) -> None:
        """Containers of Python's and PyTorch's own libraries."""
        if kind is deque:
            for i, item in enumerate(islice(value, MOST_ENTRIES)):
                self.go(f"{path}[{i}]", item, depth + 1)
            self._leave_out(path, len(value))
        elif kind is types.SimpleNamespace or kind is argparse.Namespace or kind is ChainMap:
            for name, item in list(vars(value).items())[:MOST_ENTRIES]:
                if type(name) is str:
                    self.go(attribute_of(path, name), item, depth + 1)
        elif kind is functools.partial:
            self.go(f"{path}.func", value.func, depth + 1)
            self.go(f"{path}.args", value.args, depth + 1)
            self.go(f"{path}.keywords", value.keywords, depth + 1)
        elif issubclass(kind, dict):
            self._items(path, value, kind, depth)
        elif kind is set or kind is frozenset:
            if not (self.repeatable and len(value) > 1):
                self._listed(path, value, len(value), depth)
        elif id(kind) in _VIEWS:
            self._listed(path, value, len(value), depth)
        elif class_name(kind) in _WEAK_KEYED:
            self._weak_keyed(path, value, kind, depth)
        elif class_module(kind).startswith(_HOLDERS):
            self._instance(path, value, kind, depth)

    def _listed(self, path: str, values: Iterable[Any], count: int, depth: int) -> None:
        """What can be come by only one after another: `list(s)[0]`."""
        for i, item in enumerate(islice(values, MOST_ENTRIES)):
            if id(type(item)) not in _PLAIN:
                self.go(f"list({path})[{i}]", item, depth + 1)
        self._leave_out(path, count)

    def _weak_keyed(self, path: str, value: Any, kind: type, depth: int) -> None:
        """The values of a dictionary that holds only its keys weakly."""
        if class_module(kind) not in ("weakref", "torch.utils.weak"):
            return
        data: Any = dictionary_of(value, kind).get("data")
        entries = list(dict.items(data)) if type(data) is dict else []
        alive = [item for ref, item in entries if not (issubclass(type(ref), weakref.ref) and ref() is None)]
        self._listed(f"{path}.values()", alive, len(alive), depth)

    def _items(self, path: str, value: Any, kind: type, depth: int) -> None:
        """What a list or dictionary of its own class holds, where `[…]` is still its parent's."""
        for base in bases_of(kind):
            if base is list:
                for i, item in enumerate(list.__getitem__(value, slice(MOST_ENTRIES))):
                    self.go(f"{path}[{i}]", item, depth + 1)
                self._leave_out(path, list.__len__(value))
                return
            if base is dict:
                self._entries(path, value, depth)
                self._leave_out(path, dict.__len__(value))
                return
            if "__getitem__" in members_of(base) and base is not OrderedDict:
                return

    def _jagged(self, path: str, value: Any) -> None:
        """The rows of a jagged nested tensor, one after another, and where each begins."""
        attributes = object.__getattribute__(value, "__dict__")
        for name in ("_values", "_offsets", "_lengths"):
            item = attributes.get(name)
            if type(item) is _Tensor:
                self.found.append((f"{path}.{name}", item))

    def _leave_out(self, path: str, count: int) -> None:
        if count > MOST_ENTRIES:
            self.left_out[path] = (MOST_ENTRIES, count)

    def _function(self, path: str, function: types.FunctionType, depth: int) -> None:
        """The variables that a function of the program closes over, its defaults and its attributes."""
        if module_of(function) != self.program_module:
            return
        if function.__defaults__ is not None:
            self.go(f"{path}.__defaults__", function.__defaults__, depth + 1)
        if function.__kwdefaults__ is not None:
            self.go(f"{path}.__kwdefaults__", function.__kwdefaults__, depth + 1)
        for name, item in islice(texts(function.__dict__), MOST_ENTRIES):
            if id(type(item)) not in _PLAIN:
                self.go(attribute_of(path, name), item, depth + 1)
        for i, cell in enumerate(function.__closure__ or ()):
            try:
                value = cell.cell_contents
            except ValueError:
                continue  # its variable is not bound
            if id(type(value)) not in _PLAIN:
                self.go(f"{path}.__closure__[{i}].cell_contents", value, depth + 1)

    def _entries(self, path: str, value: Any, depth: int) -> None:
        for i, (key, item) in enumerate(dict.items(value)):
            if i >= MOST_ENTRIES:
                return
            if type(key) is int and key > _LARGEST_KEY and self.repeatable:
                continue
            if type(key) is not str and id(type(key)) not in _PLAIN and id(type(value)) in _ORDERED:
                self.go(f"list({path})[{i}]", key, depth + 1)
            if id(type(item)) in _PLAIN:
                continue
            text = key_text(key)
            if text is not None:
                self.go(f"{path}[{text}]", item, depth + 1)
            elif id(type(value)) in _ORDERED:
                self.go(self._at_key(path, key) or f"list({path}.values())[{i}]", item, depth + 1)

    def _at_key(self, path: str, key: Any) -> str | None:
        """The entry of a dictionary whose key is a tensor with a name of its own."""
        if self.name_of is None or not issubclass(type(key), _Tensor):
            return None
        name = self.name_of(key)
        return None if name is None or path in name else f"{path}[{name}]"

    def _tuple(self, path: str, value: Any, kind: type, depth: int) -> None:
        fields = members_of(kind).get("_fields")
        for i in range(min(tuple.__len__(value), MOST_ENTRIES)):
            item = tuple.__getitem__(value, i)
            if type(fields) is tuple and i < len(fields) and type(fields[i]) is str:
                self.go(f"{path}.{fields[i]}", item, depth + 1)
            else:
                self.go(f"{path}[{i}]", item, depth + 1)

    def _module(self, path: str, module: Any, depth: int) -> None:
        kind = type(module)
        attributes = dictionary_of(module, kind)
        for group in ("_parameters", "_buffers", "_modules"):
            members: Any = dict.get(attributes, group)
            if not issubclass(type(members), dict):
                continue
            for position, (name, item) in enumerate(dict.items(members)):
                if item is None or type(name) is not str:
                    continue
                if issubclass(kind, _INDEXED) and not name.isidentifier():
                    inner = f"{path}[{position}]"
                elif issubclass(kind, _KEYED):
                    inner = f"{path}[{key_text(name)}]"
                else:
                    inner = attribute_of(path, name)
                self.go(inner, item, depth + 1)
        for name, item in dict.items(attributes):
            if type(name) is str and name not in _OF_EVERY_MODULE and id(type(item)) not in _PLAIN:
                self.go(attribute_of(path, name), item, depth + 1)

    def _optimizer(self, path: str, optimizer: Any, depth: int) -> None:
        attributes = dictionary_of(optimizer, type(optimizer))
        position: dict[int, str] = {}
        groups = dict.get(attributes, "param_groups")
        for g, group in enumerate(groups if type(groups) is list else ()):
            parameters: Any = dict.get(group, "params") if issubclass(type(group), dict) else None
            for i, parameter in enumerate(parameters if type(parameters) is list else ()):
                position.setdefault(id(parameter), f"{path}.param_groups[{g}]['params'][{i}]")
        state: Any = dict.get(attributes, "state")
        if not issubclass(type(state), dict):
            return
        for parameter, entries in dict.items(state):
            if type(entries) is dict and id(parameter) in position:
                name = None if self.name_of is None else self.name_of(parameter)
                for key, item in entries.items():
                    text = key_text(key)
                    if text is not None:
                        inner = f"{path}.state[{name or position[id(parameter)]}][{text}]"
                        self.go(inner, item, depth + 2)

    def _class(self, path: str, value: Any, depth: int) -> None:
        """Attributes of a class of the program itself; what it inherits is its parents'."""
        members = members_of(value)
        if class_module(value) != self.program_module:
            return
        for name, item in list(members.items())[:MOST_ENTRIES]:
            if type(name) is str and name[:2] != "__" and id(type(item)) not in _PLAIN:
                self.go(attribute_of(path, name), item, depth + 1)

    def _instance(self, path: str, value: Any, kind: type, depth: int) -> None:
        if issubclass(kind, (list, dict)):
            self._items(path, value, kind, depth)
        for name, item in attributes_of(value, kind):
            if id(type(item)) not in _PLAIN:
                self.go(attribute_of(path, name), item, depth + 1)


def attribute_of(path: str, name: str) -> str:
    """The expression that gives an attribute, whatever it is called."""
    if name.isidentifier() and not keyword.iskeyword(name):
        return f"{path}.{name}"
    return f"getattr({path}, {key_text(name)})"


def dictionary_of(value: Any, kind: type) -> dict[str, Any]:
    """An object's own attributes; none where a class of the program answers for them with code of its own."""
    for base in bases_of(kind):
        found = members_of(base).get("__dict__")
        if found is not None:
            own: Any = found.__get__(value) if type(found) is types.GetSetDescriptorType else None
            return own if issubclass(type(own), dict) else {}
    return {}


def attributes_of(value: Any, kind: type) -> Iterator[tuple[str, Any]]:
    """Instance attributes, slots included, by the type's own descriptors."""
    attributes = dictionary_of(value, kind)
    if type(attributes) is dict:
        yield from [(name, item) for name, item in attributes.items() if type(name) is str][:MOST_ENTRIES]
    for base in bases_of(kind):
        members = members_of(base)
        for name in _slots(members):
            member = members.get(name)
            if type(member) is types.MemberDescriptorType:
                try:
                    yield name, member.__get__(value, kind)
                except (AttributeError, TypeError):  # empty; or put here from another class
                    continue


def _slots(members: Any) -> Iterable[str]:
    """Names of a class's slots; where `__slots__` is neither text, tuple nor list, those that it made."""
    slots = members.get("__slots__", ())
    if type(slots) is str:
        return (slots,)
    if type(slots) is tuple or type(slots) is list:
        return [name for name in slots if type(name) is str]
    return [name for name in members if type(name) is str]


def key_text(key: Any) -> str | None:
    """A dictionary key as it is written, strings in single quotes; None when it cannot be written."""
    kind = type(key)
    if kind is str:
        text = repr(key)
        return text if text[0] == "'" else "'" + text[1:-1].replace("'", "\\'") + "'"
    if kind is float and not math.isfinite(key):
        return None
    if kind is int or kind is bool or kind is float or key is None:
        return repr(key)
    if kind is tuple:
        parts = [key_text(part) for part in key]
        if None in parts:
            return None
        return "(" + ", ".join(map(str, parts)) + ("," if len(parts) == 1 else "") + ")"
    return None


class Names:
    """What each variable of each frame led to at the last look, and what changed since."""

    def __init__(self, program_module: str) -> None:
        self.module = program_module
        self.frames: dict[int, dict[str, dict[str, int]]] = {0: {}}
        """Frame → variable → expression → tensor id."""
        self.ever: dict[int, set[str]] = {0: set()}
        """Expressions of each frame that ever led to a tensor."""
        self.visited: dict[tuple[int, str], set[int]] = {}
        """Frame and variable → the containers it last led through, by `id`."""
        self.left_out: dict[tuple[int, str], dict[str, tuple[int, int]]] = {}
        """Frame and variable → containers too large to name each entry of."""
        self.paths_to: dict[int, dict[tuple[int, str], None]] = {}
        """Tensor id → frames and expressions that lead to it now."""
        self.lost: list[int] = []
        """Ids of tensors that an expression no longer leads to, since someone took them."""

    def walk(
        self, variable: str, value: Any, frame: int | None = None, name_of: NameOf | None = None
    ) -> Found:
        """Tensors behind a variable, each with its expression.

        Args:
            variable: The variable.
            value: Its value.
            frame: Where it is; None when nothing is to be remembered of the walk.
            name_of: Names parameters whose state an optimizer keeps.
        """
        walk = Walk(self.module, name_of, repeatable=frame is None)
        walk.go(variable, value)
        if frame is not None and (walk.visited or (frame, variable) in self.visited):
            self.visited[frame, variable] = walk.visited
        if frame is not None and (walk.left_out or (frame, variable) in self.left_out):
            self.left_out[frame, variable] = walk.left_out
        return walk.found

    def aliases(self, frame: int, variable: str) -> list[str]:
        """Other variables of a frame that led through a container that this one leads through."""
        mine = self.visited.get((frame, variable))
        if not mine:
            return []
        return [
            other
            for (where, other), theirs in self.visited.items()
            if where == frame and other != variable and not mine.isdisjoint(theirs)
        ]

    def bind(self, frame: int, variable: str, paths: dict[str, int]) -> None:
        """A variable of a frame leads to these tensors now."""
        variables = self.frames[frame]
        before = variables.get(variable) or {}
        self._forget(frame, {p: t for p, t in before.items() if paths.get(p) != t})
        for path, tensor_id in paths.items():
            if before.get(path) != tensor_id:
                self.paths_to.setdefault(tensor_id, {})[frame, path] = None
        if paths:
            variables[variable] = paths
        else:
            variables.pop(variable, None)

    def _forget(self, frame: int, paths: dict[str, int]) -> None:
        for path, tensor_id in paths.items():
            known = self.paths_to.get(tensor_id)
            if known is not None:
                known.pop((frame, path), None)
                if not known:
                    del self.paths_to[tensor_id]
                    self.lost.append(tensor_id)

    def path_to(self, tensor_id: int, frame: int, *, but: str = "") -> str | None:
        """A short expression of a frame, else of the module, that leads to a tensor.

        Args:
            tensor_id: The tensor.
            frame: The frame.
            but: None that begins so.
        """
        places = self.paths_to.get(tensor_id, ())
        for owner in dict.fromkeys((frame, 0)):
            paths = [path for where, path in places if where == owner and not (but and path.startswith(but))]
            if paths:
                return min(paths, key=lambda path: (len(path), path))
        return None

    def tensors(self, frame: int) -> set[int]:
        """Ids of the tensors that a name of a frame or a global leads to."""
        return {
            tensor_id
            for each in {frame, 0}
            for paths in self.frames.get(each, {}).values()
            for tensor_id in paths.values()
        }

    def leave(self, frame: int) -> None:
        """A frame is gone."""
        for paths in self.frames.pop(frame, {}).values():
            self._forget(frame, paths)
        self.ever.pop(frame, None)
        if frame:
            for seen in (self.visited, self.left_out):
                for place in [place for place in seen if place[0] == frame]:
                    del seen[place]
