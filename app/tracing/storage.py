"""The ledger of storages and tensors: one id each for the length of a trace, and what is known of them.

Identity is the hard part. `data_ptr()` is 0 for meta and empty storages, and the allocator hands a freed
address out again. A storage is therefore known by the address of its StorageImpl, kept from being reused
by a weak count: the bytes are free to go, the address is not. A tensor is known by its Python object, which
lives as long as C++ owns the tensor. Nothing here holds a tensor or a storage.

Source: torch 2.13, c10/core/StorageImpl.h; torch/multiprocessing/reductions.py; THPVariable_tryResurrect.
"""

import base64
import weakref
from collections.abc import Callable
from typing import Any, Protocol

import torch

from . import reading
from .changes import Effects, layers_between
from .stream import Stream

State = tuple[Any, int | None, int | None, int | None, int | None, str | None]
"""A tensor's state: view key, storage id, version, node, `.grad` id, quantizer."""

SMALL_VALUES_BYTES = 256
"""Storages up to this size are recorded at every change."""

FULL_RECORDS = 3
"""Executions of a statement during which larger storages are recorded as well."""


class NodeOf(Protocol):
    """Gives the id of a tensor's grad_fn, known to the graph."""

    def __call__(self, t: Any, /) -> int | None:
        """The id; None for a leaf."""


class TensorRow:
    """What is known of a tensor."""

    __slots__ = ("grad_of", "id", "ref", "state", "storage", "valued", "values_key")

    def __init__(self, tensor_id: int, ref: "weakref.ref[Any]") -> None:
        self.id = tensor_id
        self.ref = ref
        self.state: State | None = None
        self.storage: StorageRow | None = None
        self.grad_of: set[int] = set()
        """Ids of the tensors whose `.grad` it is."""
        self.valued = False
        """Its values travel with it rather than with its storage."""
        self.values_key: Any = None


class StorageRow:
    """What is known of a storage."""

    __slots__ = (
        "address",
        "data",
        "device",
        "digest",
        "id",
        "impl",
        "nbytes",
        "recorded",
        "tensors",
        "versionless",
    )

    def __init__(self, storage_id: int, impl: int, nbytes: int, address: int, device: str) -> None:
        self.id = storage_id
        self.impl = impl
        self.nbytes = nbytes
        self.address = address
        self.device = device
        self.data: bytes | None = None
        """The last observed bytes of a small storage."""
        self.recorded: bool | None = None
        """The trace has these bytes; False when it was told that it has not; None before either."""
        self.digest: int | None = None
        self.tensors: dict[int, TensorRow] = {}
        self.versionless = False
        """It can be written without a version counter: exported to NumPy, or of unknown origin."""


class Ledger:
    """Tensors and storages by id.

    Args:
        stream: Takes the events.
        value_elements: Tensors up to this size are recorded with their values.
    """

    def __init__(self, stream: Stream, value_elements: int) -> None:
        self._stream = stream
        self._value_elements = value_elements
        self._small_bytes = value_elements * 8
        self._tensors: dict[int, TensorRow] = {}
        self._storages: dict[int, StorageRow] = {}
        self._dead: list[TensorRow] = []
        self._next_tensor = 1
        self._next_storage = 1
        self._expired = torch.UntypedStorage._expired
        self._release: Callable[[int], None] = torch.UntypedStorage._free_weak_ref
        self.alive: dict[str, int] = {}
        self.effects = Effects(0)
        """Of the statement that is running."""
        self.node_of: NodeOf = lambda t: None
        self.line: int | None = None
        """First line of the statement that is running."""
        self.full_records = True
        """Large storages are recorded at this execution."""
        self.written: dict[int, StorageRow] = {}
        """Storages whose bytes were found changed: others on them must be looked at."""
        self._new_rows: list[TensorRow] = []

    # -- identity

    def tensor(self, t: Any) -> TensorRow:
        """The row of a tensor, made at first sight."""
        key = id(t)
        row = self._tensors.get(key)
        if row is not None and row.ref() is t:
            return row
        row = TensorRow(self._next_tensor, weakref.ref(t, self._on_death(key)))
        self._next_tensor += 1
        self._tensors[key] = row
        return row

    def known(self, t: Any) -> bool:
        """The tensor has a row."""
        row = self._tensors.get(id(t))
        return row is not None and row.ref() is t

    def _on_death(self, key: int) -> Callable[[Any], None]:
        tensors, dead = self._tensors, self._dead

        def gone(ref: Any) -> None:
            row = tensors.get(key)
            if row is not None and row.ref is ref:
                del tensors[key]
                dead.append(row)

        return gone

    def storage(self, t: Any, row: TensorRow | None = None) -> StorageRow | None:
        """The row of a tensor's storage, made at first sight; None for a layout without one."""
        try:
            untyped = reading.storage_of(t)
            impl = untyped._cdata
        except (RuntimeError, NotImplementedError):
            return None
        if row is None:
            row = self.tensor(t)
        known = row.storage
        if known is not None and known.impl == impl and impl in self._storages:
            return known
        if known is not None:
            known.tensors.pop(row.id, None)
        found = self._storages.get(impl)
        if found is None:
            found = self._new_storage(untyped, impl)
        row.storage = found
        found.tensors[row.id] = row
        return found

    def _new_storage(self, untyped: Any, impl: int) -> StorageRow:
        nbytes, address, device = _size_and_place(untyped)
        untyped._weak_ref()
        row = StorageRow(self._next_storage, impl, nbytes, address, device)
        self._next_storage += 1
        self._storages[impl] = row
        self._emit_storage(row)
        self._count(device, nbytes)
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

    def _count(self, device: str, delta: int) -> None:
        alive = self.alive[device] = self.alive.get(device, 0) + delta
        peak = self.effects.peak
        if alive > peak.get(device, -1):
            peak[device] = alive

    def next_storage_id(self) -> int:
        """Id the next storage will get."""
        return self._next_storage

    # -- state

    def update(self, t: Any) -> TensorRow:
        """Read a tensor's state, tell what changed, and look at its bytes."""
        row = self.tensor(t)
        storage = self.storage(t, row)
        grad = self._grad(t)
        node = self.node_of(t)
        key = reading.view_key(t)
        quantizer = reading.quantizer_of(t) if key[3].startswith("torch.q") else None
        version = reading.version_of(t)
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
            if old is not None:
                self.effects.touch(row.id, layers_between(old, state))
                if old[4] != state[4] and grad is not None:
                    grad.grad_of.add(row.id)
            elif grad is not None:
                grad.grad_of.add(row.id)
        if storage is not None:
            self.look_at_bytes(t, storage)
        self._look_at_values(t, row, storage, state)
        return row

    def glance(self, t: Any) -> None:
        """Look whether anything about a tensor changed; read its whole state only if so."""
        row = self._tensors.get(id(t))
        if row is None or row.ref() is not t or row.state is None or self._looks_changed(t, row):
            self.update(t)

    def _looks_changed(self, t: Any, row: TensorRow) -> bool:
        state, storage = row.state, row.storage
        if state is None or storage is None:
            return True
        try:
            if reading.version_of(t) != state[2] or reading.get_requires_grad(t) != state[0][9]:
                return True
            untyped = reading.storage_of(t)
            if untyped._cdata != storage.impl:
                return True
            if state[0][10]:
                grad = reading.get_grad(t)
                if (grad is None) != (state[4] is None):
                    return True
                if grad is not None:
                    if self.tensor(grad).id != state[4]:
                        return True
                    self.glance(grad)
            if storage.device != "cpu" or storage.data is None:
                return storage.device == "cpu" and storage.nbytes <= self._small_bytes
            if untyped.nbytes() != storage.nbytes or untyped.data_ptr() != storage.address:
                return True
            return reading.read_bytes(storage.address, storage.nbytes) != storage.data
        except (RuntimeError, NotImplementedError):
            return True

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

    def _emit_tensor(self, row: TensorRow, state: State) -> None:
        self._stream.events.append(
            {
                "kind": "tensor",
                "id": row.id,
                "view": self._stream.view(state[0]),
                "storage": state[1],
                "version": state[2],
                "grad_fn": state[3],
                "grad": state[4],
                "quantizer": state[5],
            }
        )

    # -- bytes

    def look_at_bytes(self, t: Any, row: StorageRow) -> None:
        """Compare a storage's size, address and bytes with what was last seen of it."""
        untyped = reading.storage_of(t)
        nbytes, address, device = _size_and_place(untyped)
        if nbytes != row.nbytes or address != row.address:
            self._count(row.device, nbytes - row.nbytes)
            resized = nbytes != row.nbytes
            row.nbytes, row.address, row.device = nbytes, address, device
            self._emit_storage(row)
            if resized:
                for other in row.tensors.values():
                    self.effects.touch(other.id, {"data"})
        if device != "cpu":
            return
        if nbytes > self._small_bytes:
            self._look_at_large(t, row)
            return
        if nbytes and not address:
            return
        data = reading.read_bytes(address, nbytes)
        if data == row.data and row.recorded:
            return
        if row.data is not None and data != row.data:
            self._bytes_changed(row, row.data, data)
        row.data = data
        self._record_bytes(row, data)

    def _record_bytes(self, row: StorageRow, data: bytes) -> None:
        if len(data) <= SMALL_VALUES_BYTES or self.full_records:
            text: str | None = base64.b64encode(data).decode()
        elif row.recorded is False:
            return
        else:
            text = None
        row.recorded = text is not None
        self._stream.events.append({"kind": "bytes", "storage": row.id, "data": text})

    def _look_at_large(self, t: Any, row: StorageRow) -> None:
        """A storage too large to record: a checksum tells whether its bytes changed."""
        if row.data is not None:
            row.data = None
            row.recorded = False
            self._stream.events.append({"kind": "bytes", "storage": row.id, "data": None})
        version = reading.version_of(t)
        if row.digest is not None and version is not None and not row.versionless:
            return
        if row.address and (row.versionless or version is None):
            digest = reading.digest(row.address, row.nbytes)
            if row.digest is not None and digest != row.digest:
                for other in row.tensors.values():
                    self.effects.touch(other.id, {"data"})
            row.digest = digest

    def _bytes_changed(self, row: StorageRow, old: bytes, new: bytes) -> None:
        """Tell each tensor on a storage whether bytes of its own changed."""
        self.written[row.id] = row
        for other in list(row.tensors.values()):
            state = other.state
            if state is None or other.ref() is None:
                continue
            if _covers_change(state[0], old, new):
                self.effects.touch(other.id, {"data"})
                self._tell_owners(other)

    def _tell_owners(self, row: TensorRow) -> None:
        """A gradient's values changed: that is a change of autograd for the tensor it belongs to."""
        for owner in row.grad_of:
            self.effects.touch(owner, {"autograd"})

    def _look_at_values(self, t: Any, row: TensorRow, storage: StorageRow | None, state: State) -> None:
        """Record values that do not follow from recorded bytes: other layouts, large tensors."""
        key = state[0]
        decodable = (
            storage is not None
            and storage.device == "cpu"
            and storage.nbytes <= self._small_bytes
            and key[4] == "torch.strided"
            and key[0] is not None
            and state[5] is None
        )
        if decodable:
            if row.valued:
                row.valued = False
                self._emit_values(row, None, None)
            return
        if key[5] != "cpu" or (storage is not None and storage.device != "cpu"):
            return
        if storage is not None and state[5] is None:
            values_key = (state[2], state[1], storage.digest, key)
            if row.valued and (
                not self.full_records or (values_key == row.values_key and state[2] is not None)
            ):
                return
            row.values_key = values_key
        self._read_values(t, row, storage, key)

    def _read_values(self, t: Any, row: TensorRow, storage: StorageRow | None, key: tuple[Any, ...]) -> None:
        try:
            if storage is not None and not reading.is_readable(t, storage.nbytes, storage.address):
                if row.valued:
                    self._emit_values(row, None, None)
                return
            count = reading.numel(t)
        except (RuntimeError, NotImplementedError, ValueError):
            count = 0 if key[0] is None else 1 << 62
            if key[0] is not None or not reading.get_is_nested(t):
                return
        if count <= self._value_elements:
            values = reading.nested_values(t)
            if values is None or (row.valued and storage is None and values == row.values_key):
                return
            if storage is None or key[4] != "torch.strided":
                if row.valued:
                    self.effects.touch(row.id, {"data"})
                    self._tell_owners(row)
                row.values_key = values
            self._emit_values(row, values, None)
        elif key[4] == "torch.strided" and key[3] != "torch.bool":
            self._emit_values(row, None, reading.summary(t))

    def _emit_values(self, row: TensorRow, values: Any, summary: Any) -> None:
        row.valued = values is not None or summary is not None
        self._stream.events.append({"kind": "values", "tensor": row.id, "values": values, "summary": summary})

    # -- the end of things

    def sweep(self) -> None:
        """Tell which tensors and storages went since the last time."""
        if not self._dead:
            return
        dead, candidates = self._dead[:], set()
        self._dead.clear()
        told = []
        for row in dead:
            storage = row.storage
            if storage is not None:
                storage.tensors.pop(row.id, None)
                candidates.add(storage)
            if row.state is not None:
                told.append(row.id)
        if told:
            self._stream.events.append({"kind": "gone", "tensors": sorted(told)})
        self._free(storage for storage in candidates if self._expired(storage.impl))

    def sweep_storages(self) -> None:
        """Look at every storage: owners that are not tensors may have let go of one."""
        self.sweep()
        self._free([s for s in self._storages.values() if self._expired(s.impl)])

    def expire(self, rows: list[StorageRow]) -> None:
        """Tell which of these storages went, between two ops of one statement."""
        self._free([row for row in rows if row.impl in self._storages and self._expired(row.impl)])

    def _free(self, rows: Any) -> None:
        freed = []
        for row in rows:
            if self._storages.pop(row.impl, None) is None:
                continue
            self._release(row.impl)
            freed.append(row.id)
            self.effects.free(row.id)
            self._count(row.device, -row.nbytes)
        if freed:
            self._stream.events.append({"kind": "freed", "storages": sorted(freed), "line": self.line})

    def siblings(self, row: StorageRow) -> list[Any]:
        """Live tensors on a storage. The caller drops them before the program goes on."""
        return [t for r in list(row.tensors.values()) if (t := r.ref()) is not None]

    def record_what_is_left(self) -> None:
        """At the end: bytes and values that were withheld are recorded after all."""
        self.full_records = True
        for storage in list(self._storages.values()):
            if storage.recorded is False:
                for t in self.siblings(storage)[:1]:
                    self.look_at_bytes(t, storage)
        for row in list(self._tensors.values()):
            t = row.ref()
            if t is not None and row.state is not None and row.valued:
                self._look_at_values(t, row, row.storage, row.state)


def _size_and_place(untyped: Any) -> tuple[int, int, str]:
    """nbytes, address and device of a storage; address 0 where there is none."""
    device = reading.device_name(untyped.device)
    try:
        nbytes = int(untyped.nbytes())
    except (RuntimeError, TypeError):
        nbytes = 0
    if device == "meta":
        return nbytes, 0, device
    try:
        return nbytes, int(untyped.data_ptr()), device
    except RuntimeError:
        return nbytes, 0, device


def _covers_change(key: tuple[Any, ...], old: bytes, new: bytes) -> bool:
    """Bytes that differ between `old` and `new` lie under an element of the view."""
    shape, stride, offset = key[0], key[1], key[2]
    if len(old) != len(new):
        return True
    if shape is None or stride is None or offset is None or 0 in shape:
        return shape is None
    size = torch_element_size(key[3])
    if key[6]:
        count = 1
        for n in shape:
            count *= n
        start, end = offset * size, (offset + count) * size
        return old[start:end] != new[start:end]
    offsets = [offset]
    for n, s in zip(shape, stride, strict=True):
        if s and n > 1:
            offsets = [o + i * s for o in offsets for i in range(n)]
    return any(old[o * size : (o + 1) * size] != new[o * size : (o + 1) * size] for o in offsets)


_sizes: dict[str, int] = {}


def torch_element_size(dtype_name: str) -> int:
    """Bytes of one element of a dtype by its name."""
    size = _sizes.get(dtype_name)
    if size is None:
        dtype = getattr(torch, dtype_name.removeprefix("torch."))
        size = _sizes[dtype_name] = dtype.itemsize
    return size
