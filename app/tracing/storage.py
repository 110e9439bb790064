"""The ledger of storages and tensors: one id each for the length of a trace, and what is known of them.

Identity is the hard part. `data_ptr()` is 0 for meta and empty storages, and the allocator hands a freed
address out again. A storage is therefore known by the address of its StorageImpl, kept from being reused
by a weak count: the bytes are free to go, the address is not. A tensor is known by its Python object, which
lives as long as C++ owns the tensor. Nothing here holds a tensor or a storage.

Source: torch 2.13, c10/core/StorageImpl.h; torch/multiprocessing/reductions.py; THPVariable_tryResurrect.
"""

from collections.abc import Callable, Iterable
from typing import Any, Protocol

import torch

from . import reading, torch_private
from .changes import layers_between
from .contents import Contents
from .rows import OurRef, Running, State, StorageRow, TensorRow
from .stream import Stream
from .traits import layers_of, may_have, traits_of

_PLAIN = (torch.Tensor, torch.nn.Parameter)


class NodeOf(Protocol):
    """Gives the id of a tensor's grad_fn, known to the graph."""

    def __call__(self, t: Any, /) -> int | None:
        """The id; None for a leaf."""


class Ledger:
    """Tensors and storages by id.

    Args:
        stream: Takes the events.
        now: The statement that is running.
        contents: Records bytes and values.
    """

    def __init__(self, stream: Stream, now: Running, contents: Contents) -> None:
        self._stream = stream
        self._now = now
        self._contents = contents
        self._tensors: dict[int, TensorRow] = {}
        self.by_id: dict[int, TensorRow] = {}
        """Live tensors by our id."""
        self.suspects: dict[int, StorageRow] = {}
        """Storages made, or let go of by a name or `.grad`, since someone looked who holds them."""
        self.heads: dict[int, list[int]] = {}
        """Node → ids of tensors that had it as their grad_fn."""
        self._storages: dict[int, StorageRow] = {}
        self._foreign: dict[int, StorageRow] = {}
        """Those of them over memory that PyTorch's allocator did not make: only they can overlap others."""
        self._dead: list[TensorRow] = []
        """Parts of sparse and nested tensors that are no more."""
        self._gone: list[OurRef] = []
        """References whose tensors died. Told by a function of C: one in Python would be traced."""
        self._died: Callable[[OurRef], None] = self._gone.append
        self._let_go: list[StorageRow] = []
        """Storages that a tensor was taken off."""
        self._next_tensor = 1
        self._next_storage = 1
        self._expired = torch_private.storage_expired
        self._release = torch_private.release_storage
        self.alive: dict[str, int] = {}
        self.node_of: NodeOf = lambda t: None
        self._new_rows: list[TensorRow] = []

    # -- identity

    def tensor(self, t: Any) -> TensorRow:
        """The row of a tensor, made at first sight."""
        key = id(t)
        row = self._tensors.get(key)
        if row is not None and row.ref() is t:
            return row
        ref = OurRef(t, self._died)
        ref.address, ref.tensor_id = key, self._next_tensor
        row = TensorRow(self._next_tensor, ref)
        self.by_id[self._next_tensor] = row
        self._next_tensor += 1
        self._tensors[key] = row
        if reading.has_parts(t):
            row.parts = {}
        return row

    def parts(self, t: Any, row: TensorRow) -> dict[str, TensorRow]:
        """What a sparse or nested tensor is made of, by the expression that follows its own."""
        if row.state is None:
            self.update(t)
        return row.parts or {}

    def known(self, t: Any) -> bool:
        """The tensor has a row."""
        row = self._tensors.get(id(t))
        return row is not None and row.ref() is t

    def storage(self, t: Any, row: TensorRow | None = None) -> StorageRow | None:
        """The row of a tensor's storage, made at first sight; None for a layout without one."""
        try:
            untyped = reading.storage_of(t)
            impl = torch_private.storage_address(untyped)
            if type(t) not in _PLAIN and (reading.is_uninitialized(t) or reading.has_no_data(t, untyped)):
                return None
        except (RuntimeError, NotImplementedError):
            return None
        if row is None:
            row = self.tensor(t)
        known = row.storage
        if known is not None and known.impl == impl and impl in self._storages:
            return known
        if known is not None:
            known.tensors.pop(row.id, None)
            self._let_go.append(known)
        found = self._storages.get(impl)
        if found is None:
            found = self._new_storage(untyped, impl, _has_address(t))
        row.storage = found
        found.tensors[row.id] = row
        return found

    def _new_storage(self, untyped: Any, impl: int, has_address: bool) -> StorageRow:
        nbytes, address, device = _size_and_place(untyped, has_address)
        torch_private.watch_storage(untyped)
        row = StorageRow(self._next_storage, impl, nbytes, address, device)
        if address:
            row.foreign = row.odd = reading.is_foreign(untyped)
        self._next_storage += 1
        self._count(row, 1)
        self._storages[impl] = self.suspects[row.id] = row
        if row.foreign:
            self._foreign[row.id] = row
            for other in self.overlapping(row):
                other.versionless = True
        self._emit_storage(row)
        return row

    def _emit_storage(self, row: StorageRow) -> None:
        self._stream.events.append(
            {
                "kind": "storage",
                "id": row.id,
                "nbytes": row.nbytes,
                "address": hex(row.address),
                "device": row.device,
            }
        )

    def _count(self, row: StorageRow, sign: int) -> None:
        """A storage comes (1) or goes (-1): bytes that another one lies over as well count once."""
        nbytes = row.nbytes
        if row.foreign or self._foreign:
            nbytes -= _covered(row, self.overlapping(row))
        alive = self.alive[row.device] = self.alive.get(row.device, 0) + sign * nbytes
        peak = self._now.effects.peak
        if alive > peak.get(row.device, -1):
            peak[row.device] = alive

    def overlapping(self, row: StorageRow) -> list[StorageRow]:
        """Other storages over the same memory."""
        if not row.address or not (row.foreign or self._foreign):
            return []
        start, end = row.address, row.address + row.nbytes
        others = self._storages if row.foreign else self._foreign
        return [
            o
            for o in others.values()
            if o is not row and o.device == row.device and o.address < end and start < o.address + o.nbytes
        ]

    def next_tensor_id(self) -> int:
        """Id the next tensor will get."""
        return self._next_tensor

    def next_storage_id(self) -> int:
        """Id the next storage will get."""
        return self._next_storage

    # -- state

    def update(self, t: Any) -> TensorRow:
        """Read a tensor's state, tell what changed, and look at its bytes."""
        row = self.tensor(t)
        self._update(t, row)
        if row.parts is not None:
            self._update_parts(t, row, row.parts)
        return row

    def _update_parts(self, t: Any, row: TensorRow, known: dict[str, TensorRow]) -> None:
        parts = reading.parts_of(t)
        for suffix, part in parts:
            if suffix not in known:
                known[suffix] = TensorRow(self._next_tensor, row.ref)
                self._next_tensor += 1
            self._update(part, known[suffix])
        if len(parts) < len(known):
            self._dead.extend(known.pop(suffix) for suffix in set(known) - {suffix for suffix, _ in parts})

    def _update(self, t: Any, row: TensorRow) -> None:
        storage = self.storage(t, row)
        if storage is not None:
            self._check_size(t, storage)
        grad = self._grad(t)
        node = self.node_of(t)
        key = reading.view_key(t)
        quantizer = reading.quantizer_of(t) if key[3].startswith("torch.q") else None
        version = reading.version_of(t)
        traits = traits_of(t, key, storage, version) if may_have(t, key, storage, version) else ()
        state: State = (
            key,
            None if storage is None else storage.id,
            version,
            node,
            None if grad is None else grad.id,
            quantizer,
        )
        old = row.state
        if state != old:
            row.state = state
            if old is None:
                self._new_rows.append(row)
            self._emit_tensor(row, state)
            if node is not None and (old is None or old[3] != node):
                self.heads.setdefault(node, []).append(row.id)
            if old is not None:
                if old[4] is not None and old[4] != state[4]:
                    self.suspect((old[4],))
                layers = layers_between(old, state)
                self._now.effects.touch(row.id, layers)
                if old[1] != state[1] or (old[2] != state[2] and not self._contents.compares(storage)):
                    self._contents.tell_owners(row)
                if old[4] != state[4] and grad is not None:
                    grad.grad_of.add(row.id)
            elif grad is not None:
                grad.grad_of.add(row.id)
        if traits != row.traits:
            self._tell_traits(row, traits, old is None)
        if storage is not None:
            self._contents.look_at_bytes(t, storage)
        self._contents.look_at_values(t, row, storage, state)

    def _check_size(self, t: Any, row: StorageRow) -> None:
        """A storage may have been resized or moved."""
        nbytes, address, device = _size_and_place(reading.storage_of(t), _has_address(t))
        if nbytes == row.nbytes and address == row.address and device == row.device:
            return
        self._count(row, -1)
        resized = nbytes != row.nbytes
        if nbytes < row.nbytes:
            row.shrunk = row.odd = True
        row.nbytes, row.address, row.device = nbytes, address, device
        self._count(row, 1)
        self._emit_storage(row)
        if resized:
            self._contents.written[row.id] = row
            for other in row.tensors.values():
                self._now.effects.touch(other.id, {"data"})

    def glance(self, t: Any) -> None:
        """Look whether a tensor changed in what ops cannot have told; read its whole state only if so."""
        row = self._tensors.get(id(t))
        if row is None or row.ref() is not t or row.state is None or self._moved(t, row, row.state):
            self.update(t)
        elif row.storage is not None and row.storage.versionless:
            self.look_closely(t)

    def look_closely(self, t: Any) -> None:
        """As `glance`, and compare the bytes as well: not every write is told by an op or a version."""
        row = self._tensors.get(id(t))
        if row is None or row.ref() is not t or row.state is None or self._moved(t, row, row.state):
            self.update(t)
            return
        storage = row.storage
        if storage is None or row.valued:
            self.update(t)
        elif storage.device in reading.readable_devices and storage.nbytes <= self._contents.small_bytes:
            self._check_size(t, storage)
            self._contents.look_at_bytes(t, storage)

    def _moved(self, t: Any, row: TensorRow, state: State) -> bool:
        """The version, the storage, requires_grad, the place in the graph or `.grad` is another one."""
        storage = row.storage
        if storage is None:
            return True
        try:
            if reading.version_of(t) != state[2] or reading.get_requires_grad(t) != state[0][9]:
                return True
            # A custom function makes its output a result after it was seen; asked for `.grad`, it would warn.
            if reading.get_is_leaf(t) != state[0][10]:
                return True
            if torch_private.storage_address(reading.storage_of(t)) != storage.impl:
                return True
            if state[0][10] or reading.get_retains_grad(t):
                grad = reading.get_grad(t)
                if grad is None:
                    return state[4] is not None
                if self.tensor(grad).id != state[4]:
                    return True
                self.glance(grad)
        except (RuntimeError, NotImplementedError):
            return True
        return False

    def with_grad_fn(self) -> list[Any]:
        """Live tensors that have a grad_fn. The caller drops them before the program goes on."""
        return [
            t
            for row in list(self._tensors.values())
            if row.state is not None and row.state[3] is not None and (t := row.ref()) is not None
        ]

    def take_new_rows(self) -> list[TensorRow]:
        """Rows whose state was read for the first time since the last call."""
        rows, self._new_rows = self._new_rows, []
        return rows

    def origin_of(self, row: TensorRow) -> tuple[Any, int | None] | None:
        """What a tensor that no op returned was made from: an older one on its storage, or nothing."""
        if row.storage is not None:
            for other in row.storage.tensors.values():
                if other.id < row.id and other.state is not None:
                    return (other.state[0], row.storage.id)
        return None

    def _grad(self, t: Any) -> TensorRow | None:
        """The row of `.grad`; reading it elsewhere than on a leaf would warn."""
        try:
            if not (reading.get_is_leaf(t) or reading.get_retains_grad(t)):
                return None
            grad = reading.get_grad(t)
        except RuntimeError:
            return None
        return None if grad is None else self.update(grad)

    def _tell_traits(self, row: TensorRow, traits: tuple[Any, ...], first: bool) -> None:
        if not first:
            self._now.effects.touch(row.id, layers_of(set(traits) ^ set(row.traits)))
        row.traits = traits
        told = [{"id": name, "args": dict(args)} for name, args in traits]
        self._stream.events.append({"kind": "traits", "tensor": row.id, "traits": told})

    def _emit_tensor(self, row: TensorRow, state: State) -> None:
        self._stream.events.append(
            {
                "kind": "tensor",
                "id": row.id,
                "view": state[0],
                "storage": state[1],
                "version": state[2],
                "grad_fn": state[3],
                "grad": state[4],
                "quantizer": state[5],
            }
        )

    # -- the end of things

    def sweep(self) -> None:
        """Tell which tensors and storages went since the last time."""
        if not self._gone and not self._dead and not self._let_go:
            return
        dead, candidates = self._dead[:], set(self._let_go)
        dead += self._take_gone()
        dead += [part for row in dead if row.parts for part in row.parts.values()]
        self._dead.clear()
        self._let_go.clear()
        told = []
        for row in dead:
            self.by_id.pop(row.id, None)
            storage = row.storage
            if storage is not None:
                storage.tensors.pop(row.id, None)
                candidates.add(storage)
            if row.state is not None:
                told.append(row.id)
        if told:
            self._stream.events.append({"kind": "gone", "tensors": sorted(told)})
        self._free(s for s in candidates if self._storages.get(s.impl) is s and self._expired(s.impl))
        if not torch_private.has_weak_storages:
            self._forget([s for s in candidates if not s.tensors])

    def _take_gone(self) -> list[TensorRow]:
        """Rows of tensors that died since the last time."""
        rows = []
        gone = self._gone[:]
        del self._gone[: len(gone)]
        for ref in gone:
            row = self.by_id.get(ref.tensor_id)
            if row is not None:
                rows.append(row)
            if (other := self._tensors.get(ref.address)) is row and other is not None:
                del self._tensors[ref.address]
        return rows

    def _forget(self, rows: list[StorageRow]) -> None:
        """Storages that nobody can watch: their addresses may be given out again."""
        for row in rows:
            if self._storages.get(row.impl) is row:
                del self._storages[row.impl]

    def sweep_storages(self) -> None:
        """Look at every storage: owners that are not tensors may have let go of one."""
        self.sweep()
        self._free([s for s in self._storages.values() if self._expired(s.impl)])

    def expire(self, rows: list[StorageRow]) -> None:
        """Tell which of these storages went, between two ops of one statement."""
        self._free([row for row in rows if self._storages.get(row.impl) is row and self._expired(row.impl)])

    def _free(self, rows: Iterable[StorageRow]) -> None:
        freed = []
        for row in rows:
            if self._storages.get(row.impl) is not row:
                continue  # told before; its address may be another's by now
            del self._storages[row.impl]
            self._release(row.impl)
            freed.append(row.id)
            self._now.effects.free(row.id)
            self._foreign.pop(row.id, None)
            self._count(row, -1)
        if freed:
            self._stream.events.append({"kind": "freed", "storages": sorted(freed), "line": self._now.line})

    def suspect(self, tensor_ids: Iterable[int]) -> None:
        """Who led to these tensors, and so to their `.grad`, does so no more."""
        for tensor_id in tensor_ids:
            row = self.by_id.get(tensor_id)
            grad = None if row is None or row.state is None else row.state[4]
            for each in (row, None if grad is None else self.by_id.get(grad)):
                if each is not None and each.storage is not None:
                    self.suspects[each.storage.id] = each.storage

    def storages(self) -> list[StorageRow]:
        """Storages whose bytes are there, oldest first."""
        return list(self._storages.values())

    def is_there(self, row: StorageRow) -> bool:
        """A storage was not freed yet."""
        return self._storages.get(row.impl) is row

    def siblings(self, row: StorageRow) -> list[Any]:
        """Live tensors on a storage. The caller drops them before the program goes on."""
        return [t for r in list(row.tensors.values()) if (t := r.ref()) is not None]

    def record_what_is_left(self) -> None:
        """At the end: bytes and values that were withheld are recorded after all."""
        self._now.full_records = self._now.late = True
        for storage in list(self._storages.values()):
            if storage.recorded is False:
                for t in self.siblings(storage)[:1]:
                    self._contents.look_at_bytes(t, storage)
        for row in list(self._tensors.values()):
            t = row.ref()
            if t is not None and row.state is not None and row.withheld:
                row.values_key = None
                self._contents.look_at_values(t, row, row.storage, row.state)


def _covered(row: StorageRow, others: list[StorageRow]) -> int:
    """Bytes of a storage that lie in others as well."""
    if not others:
        return 0
    start, end = row.address, row.address + row.nbytes
    ranges = [(max(start, o.address), min(end, o.address + o.nbytes)) for o in others]
    covered, reached = 0, start
    for first, last in sorted(ranges):
        covered += max(0, last - max(first, reached))
        reached = max(reached, last)
    return covered


def _has_address(t: Any) -> bool:
    """Its storage may be asked where it is."""
    return type(t) in _PLAIN or not reading.is_fake(t)


def _size_and_place(untyped: Any, has_address: bool) -> tuple[int, int, str]:
    """nbytes, address and device of a storage; address 0 where there is none."""
    device = reading.device_name(untyped.device)
    try:
        nbytes = int(untyped.nbytes())
    except (RuntimeError, TypeError):
        nbytes = 0
    if device == "meta" or not has_address:
        return nbytes, 0, device
    try:
        return nbytes, int(untyped.data_ptr()), device
    except RuntimeError:
        return nbytes, 0, device
