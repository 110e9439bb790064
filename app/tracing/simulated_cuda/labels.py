"""Which simulated device each storage is on: a label beside CPU memory, and a block of the device's memory.

A storage is known as the ledger knows it, by the address of its StorageImpl and a weak count on it. What
carries no label is on the CPU. A tensor that PyTorch's own code made in passing, from nothing, is undecided:
on a GPU it would have been made where the tensors around it are, so it joins the first it meets.
"""

from typing import Any

import torch

from .. import torch_private
from .allocator import Allocator, Block, DeviceFull, out_of_memory

CPU = torch.device("cpu")
SIMULATED = "simulated CUDA: "
"""Begins what only the simulation says."""


class _Label:
    __slots__ = ("block", "device", "nbytes")

    def __init__(self, device: torch.device, nbytes: int, block: Block | None) -> None:
        self.device = device
        self.nbytes = nbytes
        self.block = block


_UNDECIDED = None

_storage_of = torch._C.TensorBase.untyped_storage
_layout_of: Any = torch._C.TensorBase.layout
_address = torch_private.storage_address


class Labels:
    """Labels of storages, and the memories of the devices.

    Args:
        devices: How many devices there are.
        capacity: Bytes each has.
    """

    def __init__(self, devices: int, capacity: int) -> None:
        self.devices = [torch.device("cuda", i) for i in range(devices)]
        self.memories = [Allocator(capacity) for _ in self.devices]
        self._labels: dict[int, _Label | None] = {}
        self.pinned: set[int] = set()
        """Addresses of storages that were pinned and may be gone."""

    @property
    def is_empty(self) -> bool:
        """Nothing was ever put on a device."""
        return not self._labels

    def of(self, t: Any) -> torch.device:
        """The device of a tensor."""
        label = self._labels.get(self._key(t))
        return CPU if label is None else label.device

    def of_storage(self, untyped: Any) -> torch.device:
        """The device of a storage."""
        label = self._labels.get(_address(untyped))
        return CPU if label is None else label.device

    def is_undecided(self, t: Any) -> bool:
        """PyTorch's own code made it in passing."""
        return self._labels.get(self._key(t), self) is _UNDECIDED

    def _key(self, t: Any) -> int:
        try:
            return _address(_storage_of(t))
        except (RuntimeError, NotImplementedError):
            part = _part_of(t)
            return 0 if part is None else self._key(part)

    def key_of(self, t: Any) -> int:
        """What the storage of a tensor is known by; 0 without one."""
        return self._key(t)

    def put(self, t: Any, device: torch.device) -> None:
        """Put the storage of a tensor on a device, if it is on none.

        Raises:
            torch.OutOfMemoryError: The device is full.
        """
        for part in _parts_of(t):
            self.put_storage(_storage_of(part), device)

    def put_storage(self, untyped: Any, device: torch.device) -> None:
        """Put a storage on a device, if it is on none. Errors as of `put`."""
        key = _address(untyped)
        known = self._labels.get(key, self)
        if known is not self and known is not _UNDECIDED:
            return
        nbytes = untyped.nbytes()
        block = self.room(device, nbytes)
        if known is self:
            untyped._weak_ref()
        self._labels[key] = _Label(device, nbytes, block)

    def leave_undecided(self, t: Any) -> None:
        """It was made in passing, from nothing."""
        try:
            untyped = _storage_of(t)
        except (RuntimeError, NotImplementedError):
            return
        key = _address(untyped)
        if key not in self._labels:
            untyped._weak_ref()
            self._labels[key] = _UNDECIDED

    def resized(self, t: Any) -> None:
        """The storage of a tensor may have grown. Errors as of `put`."""
        label = self._labels.get(self._key(t))
        if label is None:
            return
        nbytes = _storage_of(t).nbytes()
        if nbytes != label.nbytes:
            block = self.room(label.device, nbytes)
            self.memories[label.device.index].free(label.block)
            label.nbytes, label.block = nbytes, block

    def room(self, device: torch.device, nbytes: int) -> Block | None:
        """Take memory of a device. Errors as of `put`."""
        self.sweep()
        memory = self.memories[device.index]
        try:
            return memory.allocate(nbytes)
        except DeviceFull as full:
            raise torch.OutOfMemoryError(out_of_memory(memory, device.index, full.nbytes)) from None

    def sweep(self) -> None:
        """Free the blocks of storages that are gone."""
        expired = torch_private.storage_expired
        for key in [key for key in self._labels if expired(key)]:
            label = self._labels.pop(key)
            torch_private.release_storage(key)
            if label is not None:
                self.memories[label.device.index].free(label.block)

    def pin(self, t: Any) -> None:
        """Its memory is page-locked, so to speak."""
        untyped = _storage_of(t)
        key = _address(untyped)
        if key not in self.pinned:
            untyped._weak_ref()
            self.pinned.add(key)

    def is_pinned(self, t: Any) -> bool:
        """It was pinned."""
        return self._key(t) in self.pinned

    def forget(self) -> None:
        """Let go of all storages."""
        for key in (*self._labels, *self.pinned):
            torch_private.release_storage(key)
        self._labels.clear()
        self.pinned.clear()


def _part_of(t: Any) -> Any:
    """A tensor that stands for one without a storage of its own."""
    parts = _parts_of(t)
    return parts[0] if parts and parts[0] is not t else None


def _parts_of(t: Any) -> list[Any]:
    """Itself, or the tensors a sparse tensor is made of."""
    layout = _layout_of.__get__(t)
    with torch_private.without_functions(), torch_private.without_dispatch(), torch.no_grad():
        try:
            if layout is torch.strided:
                _storage_of(t)
                return [t]
            if layout is torch.sparse_coo:
                return [t._values(), t._indices()]
            if layout is torch.jagged:
                return [t._values, t._offsets]
            if layout in (torch.sparse_csr, torch.sparse_bsr):
                return [t.values(), t.crow_indices(), t.col_indices()]
            if layout in (torch.sparse_csc, torch.sparse_bsc):
                return [t.values(), t.ccol_indices(), t.row_indices()]
        except (RuntimeError, NotImplementedError):
            return []
        return []
