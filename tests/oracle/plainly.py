"""What PyTorch says after each line of a plain run: the truth a state document is held against.

No tracer, no modes: each line is executed and every named tensor is asked. What a line changed and which
layers it touched follow from these answers by the rule the project documents. Nothing is kept alive
between lines but by the program: weak references tell whose bytes are gone, numbers which nodes are new.
"""

import weakref
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from .chains import NAMES, Statement, execute
from .comparing import LAYERS, METADATA, layers_changed
from .facts import Facts, facts_of, tensors_in, told, unheard, values_of


@dataclass
class After:
    """The program after a line."""

    facts: dict[str, Facts] = field(default_factory=dict)
    """Name → facts of its tensor."""
    values: dict[str, Any] = field(default_factory=dict)
    changed: dict[str, set[str]] = field(default_factory=dict)
    """Name → what the line did to it."""
    lamps: list[str] = field(default_factory=list)
    stale: set[tuple[str, str]] = field(default_factory=set)
    """Nodes with a saved tensor that has moved on, by name of the node and field."""
    error: str | None = None


class PlainRun:
    """Executes statements one by one."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {"torch": torch}
        self._before = After()
        self._ever: set[str] = set()
        self._storages: dict[int, StorageWeakRef] = {}
        self._nodes: set[Any] = set()
        self._tensors: list[weakref.ref[torch.Tensor]] = []
        """All that were ever named; `a.mul_(a)` lives on, as its node saves its own result."""
        self._stale: set[Any] = set()

    def execute(self, statement: Statement) -> After:
        """Run a line and ask."""
        after = After()
        older = dict(self._storages)
        source = self._before.facts.get(statement.source or "")
        try:
            execute(statement.text, self.names)
        except (RuntimeError, IndexError, ValueError, TypeError) as error:
            after.error = f"{type(error).__name__}: {error}"
            error.__traceback__ = None
        with unheard():
            self._ask(after)
            after.changed = self._changed(after)
            after.lamps = self._lamps(after, source, older, statement.text)
        self._before = after
        return after

    def _ask(self, after: After) -> None:
        for name in (*NAMES, "pair"):
            for path, t in tensors_in(self.names.get(name), name):
                after.facts[path] = facts_of(t)
                after.values[path] = values_of(t)
                self._remember(t)
                if told(lambda t=t: t.is_leaf or t.retains_grad) and t.grad is not None:
                    self._remember(t.grad)

    def _remember(self, t: torch.Tensor) -> None:
        if not any(ref() is t for ref in self._tensors):
            self._tensors.append(weakref.ref(t))
        self._remember_storage(t)

    def _remember_storage(self, t: torch.Tensor) -> None:
        storage = t.untyped_storage()
        known = self._storages.get(storage._cdata)
        if known is None or known.expired():
            self._storages[storage._cdata] = StorageWeakRef(storage)

    # -- what the line changed

    def _changed(self, after: After) -> dict[str, set[str]]:
        before = self._before.facts
        changed: dict[str, set[str]] = {}
        for name in {**before, **after.facts}:
            old, new = before.get(name), after.facts.get(name)
            if old is None and new is not None:
                changed[name] = {"rebound" if name in self._ever else "new"}
            elif new is None:
                changed[name] = {"deleted"}
            elif old is not None and old["tensor"] != new["tensor"]:
                changed[name] = {"rebound"}
            elif old is not None:
                changed[name] = layers_changed(old, new)
        self._ever.update(after.facts)
        return {name: what for name, what in changed.items() if what}

    def _lamps(
        self, after: After, source: Facts | None, older: dict[int, StorageWeakRef], text: str
    ) -> list[str]:
        lit = {layer for what in after.changed.values() for layer in what if layer in LAYERS}
        known = {f["tensor"] for f in self._before.facts.values()}
        for facts in after.facts.values():
            if facts["tensor"] not in known:
                lit |= _differs(source, facts)
        if any(ref.expired() for ref in older.values()):
            lit.add("data")
        for key in [k for k, ref in self._storages.items() if ref.expired()]:
            del self._storages[key]
        if self._graph_moved(after) or ("backward" in text and after.error is None):
            lit.add("autograd")
        return [layer for layer in LAYERS if layer in lit]

    def _graph_moved(self, after: After) -> bool:
        """A node was added, or a saved tensor went stale or came back."""
        named = [t for name in (*NAMES, "pair") for _, t in tensors_in(self.names.get(name), name)]
        _, stale = self._graph_behind(named)
        after.stale = {(key[0], field_name) for key, field_name in stale}
        nodes, stale = self._graph_behind([t for ref in self._tensors if (t := ref()) is not None])
        moved = bool(nodes - self._nodes) or any(key in nodes for key, _ in stale ^ self._stale)
        self._nodes |= nodes
        self._stale = stale
        return moved

    def _graph_behind(self, tensors: list[torch.Tensor]) -> tuple[set[Any], set[Any]]:
        """Nodes that tensors lead to, and which saved tensors of theirs are stale."""
        nodes: set[Any] = set()
        stale: set[Any] = set()
        todo = [told(lambda t=t: t.grad_fn) for t in tensors]
        while todo:
            fn = todo.pop()
            if fn is None:
                continue
            leaf = getattr(fn, "variable", None) if type(fn).__name__ == "AccumulateGrad" else None
            key = (type(fn).__name__, id(leaf) if leaf is not None else fn._sequence_nr())
            if key in nodes:
                continue
            nodes.add(key)
            for attribute in dir(fn):
                if attribute.startswith("_raw_saved_"):
                    field_name = attribute.removeprefix("_raw_saved_")
                    stale |= {(key, field_name)} if _is_stale(fn, field_name) else set()
                    data = told(lambda fn=fn, a=attribute: getattr(fn, a).data)
                    if isinstance(data, torch.Tensor):
                        self._remember_storage(data)
            todo.extend(f for f, _ in fn.next_functions)
        return nodes, stale


def _is_stale(fn: Any, field_name: str) -> bool:
    """PyTorch refuses to unpack it: it was modified since."""
    try:
        getattr(fn, f"_saved_{field_name}")
    except RuntimeError as error:
        return "modified by an inplace operation" in str(error)
    return False


def _differs(source: Facts | None, new: Facts) -> set[str]:
    """Layers in which a new tensor differs from the one it was made from."""
    if source is None:
        return {"data", "metadata", *(("autograd",) if new["requires_grad"] else ())}
    layers = set()
    if source["storage"] != new["storage"]:
        layers.add("data")
    if any(source[f] != new[f] for f in METADATA):
        layers.add("metadata")
    if source["requires_grad"] != new["requires_grad"]:
        layers.add("autograd")
    return layers
