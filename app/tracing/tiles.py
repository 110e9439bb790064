"""Figures of a large storage by tiles, read from its memory: two sums over it, or over a sample of it.

Takes memory whose extent the caller has checked, and gives a `schema.TileGrid` as a plain structure. Makes
no tensor on the program's storage: the memory is read as a buffer, so that no version, no reference and no
count of the program's changes. Which storages are read, and when, is for `tiling` to say.

A tile with a value that is not finite has a sum that is not; only such tiles are looked at one by one.
"""

import math
from collections.abc import Callable
from typing import Any

import torch

from ..schema.tiles import MOST_TILES, Figures, packed

_FEWEST = 64
"""Cells that a tile should have."""
_WHOLE = 1 << 20
"""Cells up to which all are looked at; of more a sample."""

_OF_A_TILE = 256
"""Cells of each tile that are looked at then."""

_EXACT_IN_FLOAT32 = frozenset(
    {
        torch.float16,
        torch.bfloat16,
        torch.float32,
        torch.float8_e5m2,
        torch.float8_e4m3fn,
        torch.float8_e5m2fnuz,
        torch.float8_e4m3fnuz,
        torch.float8_e8m0fnu,
        torch.int8,
        torch.uint8,
        torch.int16,
        torch.uint16,
        torch.bool,
    }
)
_COMPLEX = frozenset({torch.complex32, torch.complex64, torch.complex128})
DTYPES = {
    str(dtype): dtype
    for dtype in (
        *_EXACT_IN_FLOAT32,
        *_COMPLEX,
        *(torch.float64, torch.int32, torch.int64, torch.uint32, torch.uint64),
    )
}
"""Dtypes whose values are read, by name."""

Shape = tuple[int, ...]


def row_length(shape: Shape, stride: Shape) -> int | None:
    """Cells of a row in which a view lies in its storage; None for one without two dimensions apart.

    The second smallest stride, as the browser draws it (`layout/storage.ts`): transposed or sliced, the
    rows are those of memory.
    """
    moving = sorted((s, n) for n, s in zip(shape, stride, strict=True) if n > 1 and s > 0)
    if len(moving) < 2 or moving[1][0] < moving[0][0] * moving[0][1]:
        return None
    return moving[1][0]


def grid_of(cells: int, columns: int) -> tuple[int, int]:
    """Height and width of the tiles of `cells` cells in rows of `columns`.

    256 tiles at most, and so few that each has 64 cells or so.

    >>> grid_of(1_000_000, 1000), grid_of(20_000, 20_000), grid_of(2_000_000, 2), grid_of(2304, 48)
    ((63, 63), (1, 79), (7813, 1), (8, 8))
    """
    rows, most = _parts(cells, columns), min(MOST_TILES, max(1, cells // _FEWEST))
    across = min(columns, math.isqrt(most))
    down = min(rows, most // across)
    across = min(columns, most // down)
    return _parts(rows, down), _parts(columns, across)


def _parts(whole: int, each: int) -> int:
    """How many parts of a size make a whole, the last one smaller perhaps."""
    return -(-whole // each)


def tiles(memory: Any, dtype_name: str, columns: int) -> dict[str, Any] | None:
    """A `schema.TileGrid` of a storage's bytes; None of less than one element.

    Args:
        memory: All of them, as a buffer that could be written.
        dtype_name: What they are read as, one of `DTYPES`.
        columns: Cells in a row.
    """
    dtype = DTYPES[dtype_name]
    cells = len(memory) // dtype.itemsize
    if cells == 0:
        return None
    columns = min(columns, cells)
    height, width = grid_of(cells, columns)
    with torch.no_grad():
        flat = torch.frombuffer(memory, dtype=dtype, count=cells)
        rows = cells // columns
        if cells <= _WHOLE:
            numbers = _numbers(flat, dtype)
            whole, tail = numbers[: rows * columns].view(rows, columns), numbers[rows * columns :]
            looked = _Looked(whole, tail, height, width)
        else:
            down, across = _places(rows, height, width), _places(columns, width, height)
            places = (down[:, None] * columns + across).reshape(-1)
            picked = _numbers(flat.take(places) if dtype not in _UNTAKEN else flat[places], dtype)
            high, wide = (min(_per_side(a, b), a) for a, b in ((height, width), (width, height)))
            looked = _Looked(picked.view(len(down), len(across)), picked[:0], high, wide)
        figures, odd = looked.figures()
    # Of a sample the last row, when it is not full, has no cell.
    count = _parts(_parts(cells, columns), height) * _parts(columns, width)
    figures += [Figures(None, None, None)] * (count - len(figures))
    return {
        "dtype": dtype_name,
        "cells": cells,
        "columns": columns,
        "height": height,
        "width": width,
        "looked_at": looked.count,
        "figures": packed(figures),
        "odd": odd,
    }


_UNTAKEN = frozenset(d for d in DTYPES.values() if "float8" in str(d) or d in (torch.complex32,))
"""Dtypes for which PyTorch has no `take`."""


def _numbers(flat: Any, dtype: torch.dtype) -> Any:
    """Floats that say what the values are, as exactly as float64 can."""
    if dtype in _COMPLEX:
        return (flat.to(torch.complex64) if dtype is torch.complex32 else flat).abs()
    if dtype in (torch.float32, torch.float64):
        return flat
    return flat.to(torch.float32 if dtype in _EXACT_IN_FLOAT32 else torch.float64)


def _per_side(own: int, other: int) -> int:
    """How many places of one side of a tile are looked at."""
    half = math.isqrt(_OF_A_TILE)
    return max(half, _OF_A_TILE // min(half, other)) if other < half else half


def _places(length: int, side: int, other: int) -> Any:
    """Places along one side of the grid at even steps: as many in each tile, fewer in the last one."""
    found: list[int] = []
    for start in range(0, length, side):
        own = min(side, length - start)
        most = min(own, min(_per_side(side, other), side))
        found += [start + (2 * k + 1) * own // (2 * most) for k in range(most)]
    return torch.tensor(found, dtype=torch.int64, device="cpu")


_Reduction = tuple[Callable[..., Any], Callable[..., Any], float]
_LEAST: _Reduction = (torch.amin, torch.minimum, math.inf)
_MOST: _Reduction = (torch.amax, torch.maximum, -math.inf)
_SUM: _Reduction = (torch.sum, torch.add, 0.0)


class _Looked:
    """Numbers in rows, and cells of one more row that is not full.

    Args:
        rows: Two dimensions, contiguous.
        tail: One dimension.
        height: Rows of a tile.
        width: Numbers of a row in a tile.
    """

    def __init__(self, rows: Any, tail: Any, height: int, width: int) -> None:
        self._rows, self._tail = rows, tail
        self._height, self._width = height, width
        self.count = rows.numel() + tail.numel()

    def figures(self) -> tuple[list[Figures], list[list[int]]]:
        """Figures per tile, and runs of tiles with numbers that are not finite."""
        least, most, sums = (self._reduced(each) for each in (_LEAST, _MOST, _SUM))
        across = _parts(self._rows.shape[1], self._width)
        found: list[Figures] = []
        odd: list[list[int]] = []
        for at, (low, high, total) in enumerate(zip(least, most, sums, strict=True)):
            row, column = divmod(at, across)
            count = self._cells_of(row, column)
            if count == 0:
                found.append(Figures(None, None, None))
            elif math.isfinite(total):
                found.append(Figures(low, high, total / count))
            else:
                figures, nan, infinite = self._finite(row, column)
                found.append(figures)
                if nan or infinite:
                    _append_run(odd, at, nan, infinite)
        return found, odd

    def _reduced(self, how: _Reduction) -> list[float]:
        reduce, combine, nothing = how
        by_rows = _folded(self._rows, self._height, reduce)
        if self._tail.numel():
            full = self._rows.shape[0] // self._height
            if full == by_rows.shape[0]:
                more = by_rows.new_full((1, by_rows.shape[1]), nothing)
                by_rows = torch.cat([by_rows, more])
            part = by_rows[full, : self._tail.numel()]
            by_rows[full, : self._tail.numel()] = combine(part, self._tail)
        values: list[float] = _narrowed(by_rows, self._width, reduce).reshape(-1).tolist()
        return values

    def _box(self, row: int, column: int) -> tuple[slice, slice]:
        return (
            slice(row * self._height, (row + 1) * self._height),
            slice(column * self._width, (column + 1) * self._width),
        )

    def _tail_of(self, row: int, column: int) -> Any:
        """Cells of the row that is not full in one tile."""
        if row != self._rows.shape[0] // self._height:
            return self._tail[:0]
        return self._tail[self._box(row, column)[1]]

    def _cells_of(self, row: int, column: int) -> int:
        rows, columns = self._rows.shape
        high: int = max(0, min(self._height, rows - row * self._height))
        wide = min(self._width, columns - column * self._width)
        tail: int = self._tail_of(row, column).numel()
        return int(high * wide + tail)

    def _finite(self, row: int, column: int) -> tuple[Figures, int, int]:
        """One tile by itself: figures of what is finite, how many are not numbers, how many infinite."""
        numbers = torch.cat([self._rows[self._box(row, column)].reshape(-1), self._tail_of(row, column)])
        numbers = numbers.to(torch.float64)
        finite = numbers[numbers.isfinite()]
        nan = int(numbers.isnan().sum())
        infinite = int(numbers.numel() - finite.numel()) - nan
        if finite.numel() == 0:
            return Figures(None, None, None), nan, infinite
        low, high = finite.min().item(), finite.max().item()
        # Halves, for a sum of large values that is none.
        mean = finite.mean().item()
        if not math.isfinite(mean):
            mean = (finite / finite.numel()).sum().item()
        return Figures(low, high, mean), nan, infinite


def _folded(numbers: Any, each: int, reduce: Callable[..., Any]) -> Any:
    """Every `each` rows as one; the last may be of fewer."""
    full = numbers.shape[0] // each
    parts = []
    if full:
        parts.append(reduce(numbers[: full * each].view(full, each, -1), 1))
    if full * each < numbers.shape[0]:
        parts.append(reduce(numbers[full * each :], 0)[None])
    return parts[0] if len(parts) == 1 else torch.cat(parts)


def _narrowed(numbers: Any, each: int, reduce: Callable[..., Any]) -> Any:
    """Every `each` numbers of a row as one; the last may be of fewer."""
    rows, columns = numbers.shape
    full = columns // each
    parts = []
    if full:
        parts.append(reduce(numbers[:, : full * each].reshape(rows, full, each), 2))
    if full * each < columns:
        parts.append(reduce(numbers[:, full * each :], 1)[:, None])
    return parts[0] if len(parts) == 1 else torch.cat(parts, 1)


def _append_run(odd: list[list[int]], at: int, nan: int, infinite: int) -> None:
    if odd and odd[-1][0] + odd[-1][1] == at and odd[-1][2:] == [nan, infinite]:
        odd[-1][1] += 1
    else:
        odd.append([at, 1, nan, infinite])
