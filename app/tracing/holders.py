"""Who keeps a storage that neither a name, nor a `.grad`, nor a saved tensor accounts for.

Most storages have a holder that follows from what is told anyway (`schema/replay.py`). Those that have
none at the end of a step, and only those, are searched for: closures, default arguments, hooks,
tracebacks, iterators, NumPy arrays, a cycle that waits for the collector. What is told was found there;
nothing is guessed. A search costs about as much as there are objects, so it has a credit, and storages
whose holders were found are asked about again ever more rarely.
"""

import gc
from typing import Any

import torch

from . import reading, torch_private
from .autograd import Graph
from .chains import hook_text, written
from .classes import class_of
from .names import Names
from .referrers import Referrers
from .roots import buffers_in, given_to_modules, namespaces_of
from .rows import StorageRow
from .storage import Ledger
from .stream import Stream

_CREDIT = 2_000_000
_CREDIT_PER_STEP = 100
_MOST_SEARCHED = 64
"""Storages looked for in one search."""

_MOST_HOLDERS = 4
_MOST_CHECKED = 2_000
"""Storages asked one by one who holds them, when anything may have let go of them."""

_RAREST = 64


class _Sought:
    """A storage that is searched for: what keeps it, by `id`, and the end of each text."""

    __slots__ = ("keepers", "row", "tensors")

    def __init__(self, row: StorageRow) -> None:
        self.row = row
        self.keepers: dict[int, str] = {}
        self.tensors: list[int] = []


class Holders:
    """Tells who keeps storages that would seem to be kept by nobody.

    Args:
        stream: Takes the events.
        ledger: Knows tensors and storages.
        graph: Knows who saved them.
        names: Knows what names lead to.
    """

    def __init__(self, stream: Stream, ledger: Ledger, graph: Graph, names: Names) -> None:
        self._stream = stream
        self._ledger = ledger
        self._graph = graph
        self._names = names
        self._orphans: dict[int, StorageRow] = {}
        """Held by none that is told of, when last looked at."""
        self._told: dict[int, tuple[str, tuple[str, ...]]] = {}
        self._credit = _CREDIT
        self._patience = 1
        self._waited = 0

    @property
    def waits(self) -> bool:
        """There are storages to ask about again."""
        return bool(self._orphans) or self._graph.released

    def settle(self, variables: dict[str, Any]) -> None:
        """A step ended: of the storages that lost a holder or are new, find who keeps those left over.

        Args:
            variables: The program's globals.
        """
        ledger, lost = self._ledger, self._names.lost
        self._credit += _CREDIT_PER_STEP
        if lost:
            self._names.lost = []
            ledger.suspect(lost)
            self._graph_may_have_gone()
        if self._graph.released:
            self._graph_may_have_gone()
        if ledger.suspects:
            suspects, ledger.suspects = ledger.suspects, {}
            known: dict[int, bool] = {}
            # The newest first: what they find out about the graph serves the others.
            for key in sorted(suspects, reverse=True):
                if self._is_orphan(suspects[key], known):
                    self._orphans[key] = suspects[key]
                    self._waited = self._patience
        if self._orphans:
            self._search_some(variables)

    def settle_for_good(self, variables: dict[str, Any], error: BaseException | None) -> None:
        """The program is over: ask once more, of all storages.

        Args:
            variables: The program's globals.
            error: What it raised, which Python keeps as `sys.last_value`.
        """
        self._names.lost.clear()
        known: dict[int, bool] = {}
        rows = self._ledger.storages()[-_MOST_CHECKED:]
        self._orphans = {row.id: row for row in reversed(rows) if self._is_orphan(row, known)}
        if self._orphans:
            self._search(list(self._orphans.values())[:_MOST_SEARCHED], variables, error)

    def _graph_may_have_gone(self) -> None:
        """A tensor or nodes were let go of: what only they kept may have another holder, or none."""
        self._graph.released = False
        rows = self._ledger.storages()
        if len(rows) <= _MOST_CHECKED:
            self._ledger.suspects.update({row.id: row for row in rows if row.id in self._graph.savers})

    def _is_orphan(self, row: StorageRow, known: dict[int, bool]) -> bool:
        if not self._ledger.is_there(row):
            return False
        named = self._names.paths_to
        for tensor_id, tensor in row.tensors.items():
            if tensor_id in named or any(self._has_grad(o, tensor_id) for o in tensor.grad_of if o in named):
                return False
        return not any(self._graph.is_led_to(node, known) for node, _ in self._graph.keepers(row))

    def _has_grad(self, owner: int, grad: int) -> bool:
        row = self._ledger.by_id.get(owner)
        return row is not None and row.state is not None and row.state[4] == grad

    def _search_some(self, variables: dict[str, Any]) -> None:
        """Search now, or when more steps have passed than since the last time."""
        self._waited += 1
        if self._waited <= self._patience or self._credit < 0:
            return
        new = any(key not in self._told for key in self._orphans)
        self._waited = 0
        self._patience = 1 if new else min(2 * self._patience, _RAREST)
        known: dict[int, bool] = {}
        self._orphans = {k: row for k, row in self._orphans.items() if self._is_orphan(row, known)}
        # Those never told of come first.
        rows = sorted(self._orphans.values(), key=lambda row: row.id in self._told)[:_MOST_SEARCHED]
        if rows:
            self._search(rows, variables, None)

    # -- one search

    def _search(self, rows: list[StorageRow], variables: dict[str, Any], error: BaseException | None) -> None:
        roots, namespaces = namespaces_of(variables, error)
        targets: list[Any] = []
        sought = [_Sought(row) for row in rows]
        hidden: list[tuple[Any, Any]] = []
        self._add_tensors(sought, targets)
        self._add_grads(sought, hidden)
        self._add_storage_objects(sought, targets)
        self._add_nodes(sought, targets)
        hidden.extend(given_to_modules(variables, {id(t) for t in targets}, roots))
        buffers = buffers_in(namespaces, roots, self._names.module)
        found = Referrers(targets, roots, hidden)
        hidden.clear()
        self._credit -= found.looked_at
        for each in sought:
            self._tell(each.row.id, *self._holders_of(each, found, buffers))

    def _tell(self, storage: int, kind: str, holders: list[str]) -> None:
        told = (kind, tuple(holders))
        if self._told.get(storage) != told:
            self._told[storage] = told
            self._stream.events.append({"kind": "held", "storage": storage, "by": kind, "holders": holders})

    def _holders_of(
        self, each: _Sought, found: Referrers, buffers: list[tuple[str, int]]
    ) -> tuple[str, list[str]]:
        texts: list[str] = []
        for keeper, last in each.keepers.items():
            for label, way in found.chains(keeper, _MOST_HOLDERS):
                texts.append(written(label, way, last))
        start, end = each.row.address, each.row.address + each.row.nbytes
        texts.extend(text for text, address in buffers if start <= address < end)
        if not texts:
            for keeper in each.keepers:
                for way in found.ends(keeper):
                    if (text := _end_text(way)) is not None:
                        texts.append(text)
        if not texts:
            texts.extend(self._over(each.row))
        if texts:
            return "name", list(dict.fromkeys(texts))[:_MOST_HOLDERS]
        if each.tensors and found.only_each_other(each.tensors) and self._only_tensors(each):
            return "cycle", []
        return "unknown", []

    def _only_tensors(self, each: _Sought) -> bool:
        """Besides its tensors only our look at the storage: no tensor of C++ alone."""
        count = getattr(torch._C, "_storage_Use_Count", None)
        return count is None or count(each.row.impl) <= len(each.row.tensors) + 1

    def _over(self, row: StorageRow) -> list[str]:
        """Names of tensors over the same memory whose own storage keeps this one."""
        texts: list[str] = []
        start, end = row.address, row.address + row.nbytes
        for other in self._ledger.storages() if row.address else ():
            if other is not row and other.address < end and start < other.address + other.nbytes:
                paths = (self._names.path_to(tensor_id, 0) for tensor_id in other.tensors)
                texts.extend(path for path in paths if path)
        return texts

    def _add_tensors(self, sought: list[_Sought], targets: list[Any]) -> None:
        for each in sought:
            for t in self._ledger.siblings(each.row):
                targets.append(t)
                each.keepers[id(t)] = ""
                each.tensors.append(id(t))

    def _add_grads(self, sought: list[_Sought], hidden: list[tuple[Any, Any]]) -> None:
        for each in sought:
            for row in list(each.row.tensors.values()):
                t = row.ref()
                for owner in row.grad_of:
                    owner_row = self._ledger.by_id.get(owner)
                    holder = None if owner_row is None else owner_row.ref()
                    if t is not None and holder is not None and self._has_grad(owner, row.id):
                        hidden.append((holder, t))

    def _add_storage_objects(self, sought: list[_Sought], targets: list[Any]) -> None:
        """`untyped_storage()` kept by the program."""
        without = []
        for each in sought:
            # A sparse tensor lies on the storages of its parts and has none of its own to ask for.
            siblings = (t for t in self._ledger.siblings(each.row) if reading.has_storage(t))
            t = next(siblings, None)
            if t is None:
                without.append(each)
                continue
            untyped = reading.storage_of(t)
            targets.append(untyped)
            each.keepers[id(untyped)] = ""
        if without:
            by_impl = {each.row.impl: each for each in without}
            for candidate in gc.get_objects():
                if type(candidate) is not torch.UntypedStorage:
                    continue
                found = by_impl.get(torch_private.storage_address(candidate))
                if found is not None:
                    targets.append(candidate)
                    found.keepers[id(candidate)] = ""

    def _add_nodes(self, sought: list[_Sought], targets: list[Any]) -> None:
        """Graph nodes kept as Python objects, which keep the graph behind them."""
        saved = [(each, keepers) for each in sought if (keepers := self._graph.keepers(each.row))]
        if not saved:
            return
        for fn in [o for o in gc.get_objects() if _is_node(type(o))]:
            behind = self._graph.behind(fn)
            for each, keepers in saved:
                for node, field in keepers:
                    if node in behind:
                        targets.append(fn)
                        each.keepers[id(fn)] = f": {self._graph.name_of(node)}#{node}.{field}"


def _end_text(way: list[Any]) -> str | None:
    """A chain that begins with what runs, or with what C++ keeps."""
    first = way[0]
    if issubclass(type(first), BaseException) and len(way) > 1:
        name = class_of(first)
        return written("", [{name: first}, *way])
    return hook_text(way)


_node_types: dict[type, bool] = {}


def _is_node(kind: type) -> bool:
    if type(kind) is not type:  # made by the program; those of PyTorch are made in C++
        return issubclass(kind, torch_private.custom_function_node)
    known = _node_types.get(kind)
    if known is None:
        members = dir(kind) if kind.__mro__[1:] == (object,) else ()
        known = _node_types[kind] = "_sequence_nr" in members and "next_functions" in members
    return known or issubclass(kind, torch_private.custom_function_node)
