"""The autograd graph as it grows: nodes, edges, saved tensors with the version they were saved at.

Holding a `grad_fn` would keep the graph and all it saved alive, so nodes are known by `_sequence_nr()` and
AccumulateGrad by its variable. Saved tensors are read through `_raw_saved_*` only: `_saved_*` runs the
reader's unpack hooks and checks versions. A saved tensor gone stale is noticed by comparing the version
of the saved tensor object, kept by weak reference, with the version it was saved at.

Source: torch 2.13, torch/csrc/autograd/saved_variable.h; tools/autograd/gen_autograd_functions.py.
"""

import re
import weakref
from typing import Any

import torch

from . import reading, torch_private
from .classes import class_of, texts
from .modules import Modules
from .rows import Running, StorageRow, TensorRow
from .storage import Ledger
from .stream import Stream

_RAW = "_raw_saved_"
_MOST_NODES = 50_000
_LARGEST_SCALAR = 16
_LOOKS = 6
_REFUSED = re.compile(r"is at version \d+; expected version (\d+) instead")


class _Slot:
    """A saved tensor being watched for staleness."""

    __slots__ = ("field", "node", "ref", "slot", "stale", "version")

    def __init__(self, node: int, slot: int, ref: "weakref.ref[Any]", version: int) -> None:
        self.node = node
        self.slot = slot
        self.ref = ref
        self.version = version
        self.stale = False


class Graph:
    """Nodes of the autograd graph by id.

    Args:
        stream: Takes the events.
        now: The statement that is running.
        ledger: Knows tensors and storages.
        modules: Knows the modules that are being called.
    """

    def __init__(self, stream: Stream, now: Running, ledger: Ledger, modules: Modules) -> None:
        self._stream = stream
        self._now = now
        self._ledger = ledger
        self._modules = modules
        self._inside: list[int] = []
        """Modules that were being called when nodes were last looked at."""
        self._ids: dict[Any, int] = {}
        self._result: dict[int, weakref.ref[Any]] = {}
        """Node → the tensor whose grad_fn it was when last seen."""
        self._twins: dict[Any, int] = {}
        """Keys that nodes of several threads have → how many more there are."""
        self._freed: set[int] = set()
        self._slots: dict[int, list[_Slot]] = {}
        self.savers: dict[int, dict[tuple[int, str], None]] = {}
        """Storage id → nodes that keep it, each with its name for it."""
        self._consumers: dict[int, list[int]] = {}
        self._next: dict[int, list[int]] = {}
        self._names: dict[int, str] = {}
        self._saves_nothing: dict[int, int] = {}
        """Nodes that may keep tensors but had none when told of, and how often they are looked at again."""
        self.released = False
        """Nodes let go of what they saved, since someone looked who holds it."""
        self._overtaken: dict[int, StorageRow] = {}
        self._fields: dict[type, tuple[str, ...]] = {}

    def node_of(self, t: Any) -> int | None:
        """Id of a tensor's grad_fn; None for a leaf, or when PyTorch refuses to say."""
        try:
            fn = reading.get_grad_fn(t)
        except RuntimeError:
            return None
        if fn is None:
            return None
        key = self._key(fn)
        known = self._ids.get(key)
        row = self._ledger.tensor(t)
        if known is None or key in self._twins or self._result.setdefault(known, row.ref) is not row.ref:
            known = self._node(fn, self._told_apart(fn, key))
            self._result[known] = row.ref
        if known in self._saves_nothing:
            self._look_again(known, fn)
        return known

    def _told_apart(self, fn: Any, key: Any) -> Any:
        """The key, or another when a node of another thread has it: numbers are counted per thread.

        Two nodes are one when the tensors they made, as long as these live, give one Python object.
        """
        twins = self._twins.get(key, 0)
        for n in range(twins + 1):
            candidate = (*key, n) if n else key
            known = self._ids.get(candidate)
            result = None if known is None else self._result.get(known)
            made = None if result is None else result()
            try:
                if made is None or reading.get_grad_fn(made) in (fn, None):
                    return candidate
            except RuntimeError:
                return candidate
        self._twins[key] = twins + 1
        return (*key, twins + 1)

    def _look_again(self, node_id: int, fn: Any) -> None:
        """A node seen from within its op, as by a pack hook, had saved nothing yet."""
        told: list[dict[str, Any]] = self._saved(node_id, fn)
        self._saves_nothing[node_id] -= 1
        if told or not self._saves_nothing[node_id]:
            del self._saves_nothing[node_id]
        if told:
            edges = [[None if n is None else self.node(n), nr] for n, nr in fn.next_functions]
            self._emit(node_id, self._names[node_id], edges, None, told)

    def node(self, fn: Any) -> int:
        """Id of a node; it and the unknown nodes behind it are told of at first sight."""
        key = self._key(fn)
        return self._node(fn, self._told_apart(fn, key) if key in self._twins else key)

    def _node(self, fn: Any, key: Any) -> int:
        known = self._ids.get(key)
        if known is not None:
            return known
        first = self._ids[key] = len(self._ids) + 1
        self._inside = [self._stream.name(label) for label in self._modules.around()]
        todo = [(first, fn)]
        while todo:
            node_id, node = todo.pop()
            edges: list[list[int | None]] = []
            for next_fn, input_nr in node.next_functions:
                if next_fn is None:
                    edges.append([None, input_nr])
                    continue
                next_key = self._key(next_fn)
                if next_key in self._twins:
                    next_key = self._told_apart(next_fn, next_key)
                next_id = self._ids.get(next_key)
                if next_id is None:
                    next_id = self._ids[next_key] = len(self._ids) + 1
                    todo.append((next_id, next_fn))
                edges.append([next_id, input_nr])
                self._consumers.setdefault(next_id, []).append(node_id)
            self._next[node_id] = [n for n, _ in edges if n is not None]
            self._tell(node_id, node, edges)
        return first

    def _key(self, fn: Any) -> Any:
        name = class_of(fn)
        if name == "AccumulateGrad":
            return ("leaf", self._ledger.tensor(fn.variable).id)
        return (fn._sequence_nr(), name)  # numbers are per thread, so not enough

    def _tell(self, node_id: int, fn: Any, edges: list[list[int | None]]) -> None:
        name = self._names[node_id] = class_of(fn)
        variable = None
        if name == "AccumulateGrad":
            leaf = self._ledger.tensor(fn.variable)
            variable = leaf.id
            storage = self._ledger.storage(fn.variable, leaf)
            if storage is not None:
                self.savers.setdefault(storage.id, {})[node_id, "variable"] = None
        told = self._saved(node_id, fn)
        if not told and self._fields_of(fn):
            self._saves_nothing[node_id] = _LOOKS
        self._emit(node_id, name, edges, variable, told)

    def _emit(
        self, node_id: int, name: str, edges: list[list[int | None]], variable: int | None, saved: list[Any]
    ) -> None:
        self._stream.events.append(
            {
                "kind": "node",
                "id": node_id,
                "name": self._stream.name(name),
                "line": self._now.line,
                "next_functions": edges,
                "variable": variable,
                "saved": saved,
                "modules": self._inside,
            }
        )
        self._now.effects.autograd = True

    # -- saved tensors

    def _fields_of(self, fn: Any) -> tuple[str, ...]:
        kind = type(fn)
        fields = self._fields.get(kind)
        if fields is None:
            fields = self._fields[kind] = tuple(n for n in dir(kind) if n.startswith(_RAW))
        return fields

    def _saved(self, node_id: int, fn: Any) -> list[dict[str, Any]]:
        told: list[dict[str, Any]] = []
        for attribute in self._fields_of(fn):
            field = attribute[len(_RAW) :]
            try:
                raw = getattr(fn, attribute)
            except RuntimeError:
                continue
            several = isinstance(raw, (tuple, list))
            for i, one in enumerate(raw if several else (raw,)):
                data = _data(one)
                if issubclass(type(data), torch.Tensor):
                    place = f"{field}[{i}]" if several else field
                    self._save(node_id, place, data, told, one)
        if issubclass(type(fn), torch_private.custom_function_node):
            for name, value in texts(object.__getattribute__(fn, "__dict__")):
                if issubclass(type(value), torch.Tensor):
                    self._save(node_id, f"ctx.{name}", value, told)
        return told

    def _save(
        self, node_id: int, field: str, data: Any, told: list[dict[str, Any]], saved: Any = None
    ) -> None:
        newest = self._ledger.next_storage_id()
        row = self._ledger.tensor(data)
        storage = self._ledger.storage(data, row)
        version = now = reading.version_of(data)
        if storage is not None and storage.id >= newest and storage.nbytes <= _LARGEST_SCALAR:
            self._tell_scalar(row, data)
        if storage is not None:
            self.savers.setdefault(storage.id, {})[node_id, field] = None
            if now and saved is not None and (row.state is None or row.state[2] != now):
                version = _saved_version(saved, now)
                if version != now:
                    self._overtaken[storage.id] = storage
        if storage is not None and version is not None and not field.startswith("ctx."):
            slot = _Slot(node_id, len(told), row.ref, version)
            self._slots.setdefault(storage.id, []).append(slot)
        told.append(
            {
                "field": field,
                "tensor": row.id,
                "storage": None if storage is None else storage.id,
                "version": version,
            }
        )

    def _tell_scalar(self, row: TensorRow, data: Any) -> None:
        """A number of the program, as in `w * 2`, is saved as a tensor that no op made."""
        value = reading.scalar_of(data)
        if value is not None:
            traits = [{"id": "scalar", "args": {"value": value}}]
            self._stream.events.append({"kind": "traits", "tensor": row.id, "traits": traits})

    def keepers(self, storage: StorageRow) -> list[tuple[int, str]]:
        """Nodes that keep a storage, as long as they are there themselves, each with its name for it."""
        return [
            (node, field)
            for node, field in self.savers.get(storage.id, ())
            if node not in self._freed or field.startswith("ctx.")
        ]

    def is_led_to(self, node: int, known: dict[int, bool]) -> bool:
        """A live tensor leads to a node. `known` is what was found out a moment ago."""
        seen, todo = {node}, [node]
        for each in todo:
            if (answer := known.get(each)) is not None:
                if answer:
                    break
                continue
            if self._is_grad_fn(each):
                break
            fresh = [n for n in self._consumers.get(each, ()) if n not in seen]
            seen.update(fresh)
            todo.extend(fresh)
        else:
            known.update(dict.fromkeys(seen, False))
            return False
        known[node] = True
        return True

    def _is_grad_fn(self, node: int) -> bool:
        by_id = self._ledger.by_id
        for tensor_id in self._ledger.heads.get(node, ()):
            row = by_id.get(tensor_id)
            if row is not None and row.state is not None and row.state[3] == node:
                return True
        return False

    def name_of(self, node: int) -> str:
        """`MulBackward0`."""
        return self._names[node]

    def behind(self, fn: Any) -> set[int]:
        """Nodes that a node leads to, itself included."""
        seen: set[int] = set()
        todo = [self.node(fn)]
        while todo and len(seen) < _MOST_NODES:
            node = todo.pop()
            if node not in seen:
                seen.add(node)
                todo.extend(self._next.get(node, ()))
        return seen

    def take_overtaken(self) -> dict[int, StorageRow]:
        """Storages written between a save and the first look at its node, as by `a.mul_(a)`."""
        overtaken, self._overtaken = self._overtaken, {}
        return overtaken

    def check_versions(self, storage: StorageRow) -> None:
        """A storage was written: which saved tensors went stale?"""
        slots = self._slots.get(storage.id)
        if not slots:
            return
        alive = []
        for slot in slots:
            data = slot.ref()
            if data is None or slot.node in self._freed:
                continue
            alive.append(slot)
            stale = reading.version_of(data) != slot.version
            if stale != slot.stale:
                slot.stale = stale
                self._stream.events.append(
                    {"kind": "saved", "node": slot.node, "slot": slot.slot, "stale": stale}
                )
                self._now.effects.autograd = True
        self._slots[storage.id] = alive

    # -- backward

    def after_backward(self, roots: list[Any]) -> list[TensorRow]:
        """Look at the graphs behind `roots` after a backward pass.

        Returns:
            Rows of the leaves met, whose `.grad` may have changed.
        """
        leaves: list[TensorRow] = []
        freed: list[int] = []
        seen: set[int] = set()
        todo = []
        for t in roots:
            try:
                fn = reading.get_grad_fn(t)
            except RuntimeError:
                continue
            if fn is not None:
                todo.append(fn)
        while todo and len(seen) < _MOST_NODES:
            fn = todo.pop()
            node_id = self.node(fn)
            if node_id in seen:
                continue
            seen.add(node_id)
            if type(fn).__name__ == "AccumulateGrad":
                leaves.append(self._ledger.tensor(fn.variable))
                continue
            if node_id not in self._freed and self._is_freed(fn):
                self._freed.add(node_id)
                freed.append(node_id)
            todo.extend(next_fn for next_fn, _ in fn.next_functions if next_fn is not None)
        if freed:
            self._stream.events.append({"kind": "saved-freed", "nodes": freed})
            self._now.effects.autograd = True
            self.released = True
        return leaves

    def _is_freed(self, fn: Any) -> bool:
        """All its saved tensors were released; False for a node that saves none."""
        some = False
        for attribute in self._fields_of(fn):
            try:
                raw = getattr(fn, attribute)
            except RuntimeError:
                return True
            for one in raw if isinstance(raw, (tuple, list)) else (raw,):
                some = True
                if _data(one) is not None:
                    return False
        return some


def _saved_version(saved: Any, version: int) -> int:
    """The version a tensor was saved at, which was written in the statement that saved it.

    PyTorch says it only as it refuses to unpack. With hooks that would run the program's code, so then the
    version is taken for the one it has now.
    """
    if getattr(saved, "unpack_hook", saved) is not None:
        return version
    try:
        saved.unpack()
    except RuntimeError as error:
        refused = _REFUSED.search(str(error))
        return version if refused is None else int(refused[1])
    return version


def _data(saved: Any) -> Any:
    """What a raw saved variable holds: a tensor, None once freed, something else under hooks."""
    try:
        return saved.data
    except (RuntimeError, AttributeError):
        return None
