"""What is in the storages: bytes, and values that do not follow from recorded bytes.

Small storages are recorded whole whenever they change, so that all tensors on one show the same memory.
Values are recorded beside that only for what no recorded bytes give: other layouts, quantized tensors,
and tensors on storages too large to record, those as a summary when they are large themselves. How such a
storage is told by tiles is in `tiling`.
"""

import base64
import time
from typing import Any

import torch

from . import reading
from .accelerator import beginning_of, here
from .rows import Running, State, StorageRow, TensorRow
from .stream import Stream
from .tiling import Tiling

SMALL_VALUES_BYTES = 256
"""Storages up to this size are recorded at every change."""

_HASHING_S = 1.0
"""Seconds of a run that may be spent on checksums of whole large storages."""

_SIDE = 8
"""Values along each side of the corner that is shown of a large tensor."""

FULL_RECORDS = 3
"""Executions of a statement during which larger storages are recorded as well."""


class Contents:
    """Reads and records what storages hold.

    Args:
        stream: Takes the events.
        now: The statement that is running.
        value_elements: Tensors up to this size are recorded with their values.
    """

    def __init__(self, stream: Stream, now: Running, value_elements: int) -> None:
        self._stream = stream
        self._value_elements = value_elements
        self.small_bytes = value_elements * 8
        """Storages up to this size are recorded."""
        self._now = now
        self._hashing_left_s = _HASHING_S
        self.tiling = Tiling(stream, now)
        self.written: dict[int, StorageRow] = {}
        """Storages whose bytes were found changed: others on them must be looked at."""

    def compares(self, row: StorageRow | None) -> bool:
        """A change of its bytes is found by comparing them, so that a version alone says nothing of them."""
        return row is not None and row.device == "cpu" and row.nbytes <= self.small_bytes

    def look_at_bytes(self, t: Any, row: StorageRow) -> None:
        """Compare a storage's bytes with what was last seen of them. Its size and address are known."""
        nbytes, address = row.nbytes, row.address
        far = row.device not in reading.readable_devices
        if far and not self._reaches(row.device):
            return
        if nbytes > self.small_bytes:
            self._look_at_large(t, row, far=far)
            return
        if nbytes and not address:
            return
        data = self._copied(t, row) if far else reading.read_bytes(address, nbytes)
        if data is None or (data == row.data and row.recorded):
            return
        if row.data is not None and data != row.data:
            self._bytes_changed(row, row.data, data)
        row.data = data
        self._record_bytes(row, data)

    def _readable(self, device: str) -> bool:
        return device in reading.readable_devices or self._reaches(device)

    @staticmethod
    def _reaches(device: str) -> bool:
        return reading.accelerator is not None and reading.accelerator.reaches(device)

    def _copied(self, t: Any, row: StorageRow) -> bytes | None:
        """Bytes of a storage on a real device, copied anew if something can have written it since."""
        at = (row.writes, reading.version_of(t), row.nbytes, row.address)
        look = self._now.looks
        if row.read_at is not None and (row.read_at[0] == at or row.read_at[1] == look):
            row.read_at = (at, row.read_at[1])
            return row.data
        data: bytes | None = reading.accelerator.copied(t, 0, row.nbytes) if row.nbytes else b""
        if data is not None:
            row.read_at = (at, look)
        return data

    def _record_bytes(self, row: StorageRow, data: bytes) -> None:
        if len(data) <= SMALL_VALUES_BYTES or self._now.full_records:
            text: str | None = base64.b64encode(data).decode()
        elif row.recorded is False:
            return
        else:
            text = None
        row.recorded = text is not None
        late = self._now.late
        self._stream.events.append({"kind": "bytes", "storage": row.id, "data": text, "late": late})

    def _look_at_large(self, t: Any, row: StorageRow, *, far: bool) -> None:
        """A storage too large to record: a checksum tells whether it changed, if far its version."""
        if row.data is not None:
            row.data = None
            row.recorded = False
            self._stream.events.append({"kind": "bytes", "storage": row.id, "data": None, "late": False})
        version = reading.version_of(t)
        if far or (row.digest is not None and version is not None and not row.versionless):
            return
        if row.address and (row.versionless or version is None):
            digest = self._digest(row)
            if row.digest is not None and digest != row.digest and digest[0] == row.digest[0]:
                row.writes += 1
                self.written[row.id] = row
            row.digest = digest

    def _digest(self, row: StorageRow) -> tuple[bool, int]:
        """A checksum, and whether it is of all bytes: as long as that has not taken too much time in all.

        NumPy may write anywhere in an array that a tensor shares, and tells nobody.
        """
        if self._hashing_left_s <= 0:
            return False, reading.digest(row.address, row.nbytes)
        begun = time.perf_counter()
        checksum = reading.digest(row.address, row.nbytes, whole=True)
        self._hashing_left_s -= time.perf_counter() - begun
        return True, checksum

    def _bytes_changed(self, row: StorageRow, old: bytes, new: bytes) -> None:
        """Tell each tensor on a storage whether bytes of its own changed."""
        self.written[row.id] = row
        for other in list(row.tensors.values()):
            state = other.state
            if state is None or other.ref() is None:
                continue
            if _covers_change(state[0], old, new):
                self._now.effects.touch(other.id, {"data"})
                self.tell_owners(other)

    def tell_owners(self, row: TensorRow) -> None:
        """A gradient's values changed: that is a change of autograd for the tensor it belongs to."""
        for owner in row.grad_of:
            self._now.effects.touch(owner, {"autograd"})

    def look_at_values(self, t: Any, row: TensorRow, storage: StorageRow | None, state: State) -> None:
        """Record values that do not follow from recorded bytes: other layouts, large tensors."""
        key = state[0]
        decodable = (
            storage is not None
            and self._readable(storage.device)
            and storage.nbytes <= self.small_bytes
            and key[4] == "torch.strided"
            and key[0] is not None
            and state[5] is None
        )
        if decodable:
            if row.valued:
                row.valued = False
                self._emit_values(row, None, None)
            return
        if not self._readable(key[5]) or (storage is not None and not self._readable(storage.device)):
            return
        if storage is not None and state[5] is None and key[4] == "torch.strided":
            self._look_at_part_of_large(t, row, storage, state)
        else:
            self._read_values(t, row, storage, key)

    def _look_at_part_of_large(self, t: Any, row: TensorRow, storage: StorageRow, state: State) -> None:
        """A tensor on a storage too large to record: its own values, or a summary, when they changed."""
        values_key = (state[2], storage.writes, storage.digest, state[0])
        before = row.values_key
        if values_key == before:
            return
        row.values_key = values_key
        self.tiling.mark(storage, changed=before is not None and before[:3] != values_key[:3])
        past_the_version = (
            before is not None
            and (before[0], before[3]) == (values_key[0], values_key[3])
            and (before[1] != values_key[1] or before[2] not in (None, values_key[2]))
        )
        known = row.values
        if before is not None and not self._now.full_records:
            if row.valued:
                self._emit_values(row, None, None)
            row.withheld = True
        else:
            self._read_values(t, row, storage, state[0])
        if past_the_version and (known is None or row.withheld or row.values != known):
            self._now.effects.touch(row.id, {"data"})
            self.tell_owners(row)

    def _read_values(self, t: Any, row: TensorRow, storage: StorageRow | None, key: tuple[Any, ...]) -> None:
        if key[0] is None and not reading.get_is_nested(t):
            return
        if reading.dispatches_to_python(t):
            values = reading.nested_values(t)
            if values != row.values_key:
                row.values_key = values
                self._emit_values(row, values, None)
            return
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
        row.withheld = False
        far = key[5] not in reading.readable_devices
        if count <= self._value_elements:
            row.values = values = self._far_values(t) if far else reading.nested_values(t)
            if values is None or (row.valued and storage is None and values == row.values_key):
                return
            if storage is None or key[4] != "torch.strided":
                if row.valued:
                    self._now.effects.touch(row.id, {"data"})
                    self.tell_owners(row)
                row.values_key = values
            self._emit_values(row, values, None)
        elif key[4] == "torch.strided" and key[3] != "torch.bool":
            self._emit_values(row, None, self._far_summary(t, count) if far else reading.summary(t))

    @staticmethod
    def _far_values(t: Any) -> Any:
        near = here(t)
        return None if near is None else reading.nested_values(near)

    @staticmethod
    def _far_summary(t: Any, count: int) -> dict[str, Any] | None:
        """Of a copy; of the first elements alone where the whole would be a large one."""
        near = here(t)
        if near is None:
            near = beginning_of(t)
        said = None if near is None else reading.summary(near)
        if said is not None and said["elements"] != count:
            said.update(elements=count, corner=reading.nested_values(_corner(near, reading.get_shape(t))))
        return said

    def _emit_values(self, row: TensorRow, values: Any, summary: Any) -> None:
        row.valued = values is not None or summary is not None
        self._stream.events.append({"kind": "values", "tensor": row.id, "values": values, "summary": summary})


def _corner(first: Any, shape: Any) -> Any:
    """The first values along each of the last two dimensions, from the first elements in a row."""
    if len(shape) == 1:
        return first[:_SIDE]
    width = int(shape[-1])
    rows = min(_SIDE, int(shape[-2]), reading.numel(first) // width)
    return first[: rows * width].view(rows, width)[:, :_SIDE] if rows else first[None, :_SIDE]


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
