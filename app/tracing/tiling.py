"""Which large storages are told by tiles, and when: at first sight and when their values changed.

A run has so many cells to look at and so much room for it, counted so that the same program is told alike
each time. Beyond the first executions of a statement, and when either is used up, it is told once that new
figures were not taken; at the end, the last values are. Only storages are told that a name or a `.grad`
leads to: the others are not drawn.
"""

from collections.abc import Iterable
from typing import Any

from . import reading
from .accelerator import MOST_COPIED_BYTES
from .rows import Running, StorageRow
from .stream import Stream
from .tiles import DTYPES, row_length, tiles

_CELLS = 32 << 20
"""Looked at in a run, for all grids together: about 0.1 s. A grid counts for some more, as it costs more."""

_EACH = 1 << 18
_BYTES = 192 << 10
"""Of a trace, for all grids together."""

_FOR_THE_END = 0.25
"""Share of both that is kept for the last values."""


class Tiling:
    """Tells grids of large storages.

    Args:
        stream: Takes the events.
        now: The statement that is running.
    """

    def __init__(self, stream: Stream, now: Running) -> None:
        self._stream = stream
        self._now = now
        self._cells_left = _CELLS
        self._bytes_left = _BYTES
        self.waiting: dict[int, StorageRow] = {}
        """Storages that are new or have changed since their figures were taken."""

    def mark(self, row: StorageRow, *, changed: bool) -> None:
        """A large storage was looked at: for the first time by one of its tensors, or because it changed."""
        if changed or row.tiled is None:
            self.waiting[row.id] = row

    def tell(self, named: set[int]) -> None:
        """What waits is told, of storages that one of these tensors, or a `.grad`, looks at."""
        rows, self.waiting = list(self.waiting.values()), {}
        for row in rows:
            t = _drawn(row, named if row.tiled is None else None)
            if t is None and row.tiled is None:
                continue
            grid = self._grid(t, row, _FOR_THE_END) if t is not None and self._now.early else None
            if grid is not None:
                self._emit(row, grid)
            elif row.tiled is None:
                row.tiled = False
            elif row.tiled:
                self._emit(row, None)

    def tell_the_last(self, rows: Iterable[StorageRow], named: set[int]) -> None:
        """The program is over: values that were not told are told after all, as far as there is room."""
        for row in rows:
            if row.tiled is False and (t := _drawn(row, named)) is not None:
                grid = self._grid(t, row, 0.0)
                if grid is not None:
                    self._emit(row, grid)

    def _grid(self, t: Any, row: StorageRow, kept: float) -> dict[str, Any] | None:
        if self._cells_left <= _CELLS * kept or self._bytes_left <= _BYTES * kept:
            return None
        try:
            return _read(t, row)
        except (RuntimeError, TypeError, ValueError, MemoryError):
            return None

    def _emit(self, row: StorageRow, grid: dict[str, Any] | None) -> None:
        row.tiled = grid is not None
        if grid is not None:
            self._cells_left -= _EACH + grid["looked_at"]
            self._bytes_left -= len(grid["figures"]) + 12 * len(grid["odd"]) + 150
        event = {"kind": "tiles", "storage": row.id, "grid": grid, "late": self._now.late}
        self._stream.events.append(event)


def _drawn(row: StorageRow, named: set[int] | None) -> Any:
    """The first tensor of a dtype we read, led to by a name, if it must, or a `.grad`; None without one."""
    for other in row.tensors.values():
        if (named is None or other.id in named or other.grad_of) and other.state is not None:
            key = other.state[0]
            if key[3] in DTYPES and key[1] is not None and other.state[5] is None:
                t = other.ref()
                if t is not None:
                    return t
    return None


def _read(t: Any, row: StorageRow) -> dict[str, Any] | None:
    """The grid of a storage, read as one of its tensors reads it; None where its memory cannot be read."""
    untyped = reading.storage_of(t)
    nbytes = int(untyped.nbytes())
    if nbytes != row.nbytes or not nbytes:
        return None
    name = reading.dtype_name(reading.get_dtype(t))
    if row.tile_rows is None or row.tile_rows[0] != name:
        row.tile_rows = (name, _columns(row, name) or nbytes)
    columns = row.tile_rows[1]
    if row.device in reading.readable_devices:
        address = int(untyped.data_ptr())
        if not address or address != row.address:
            return None
        return tiles(reading.memory_at(address, nbytes), name, columns)
    accelerator = reading.accelerator
    if accelerator is None or not accelerator.reaches(row.device) or nbytes > MOST_COPIED_BYTES:
        return None
    data = accelerator.copied(t, 0, nbytes)
    return None if data is None else tiles(bytearray(data), name, columns)


def _columns(row: StorageRow, dtype_name: str) -> int | None:
    """Cells of a row: of the first tensor that has rows."""
    for other in row.tensors.values():
        key = None if other.state is None else other.state[0]
        if key is not None and key[3] == dtype_name and key[0] is not None and key[1] is not None:
            columns = row_length(key[0], key[1])
            if columns is not None:
                return columns
    return None
