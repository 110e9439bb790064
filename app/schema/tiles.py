"""Tiles of a large storage: how its values lie, where not every one is recorded.

A storage is cut into rows of `columns` cells in address order, and those into tiles of `height` rows and
`width` cells, 256 at most. Of each tile the trace has the smallest value, the largest and the mean, in seven
bytes. The browser has a twin of `figures_of` (`layout/tiles.ts`); both pass `tests/data/tiles.json`.

A bound is a float of 20 bits: a float32 without its last 12, rounded so that the tile's values lie within.
The mean is a share of the way from the one bound to the other, of 16 bits.
"""

import base64
import math
import struct
from typing import Literal, NamedTuple

from .base import Record

MOST_TILES = 256
"""Tiles of one storage."""

_DROPPED = 12
_MAGNITUDE = 0x7FFFFFFF
_NAN = 0x7FC00
_SHARES = 65_535

TILE_BYTES = 7
"""Bytes of a tile's figures."""


class TileGrid(Record):
    """The figures of a storage's tiles."""

    dtype: str
    """The dtype its bytes were read as; of complex ones the figures are of absolute values."""

    cells: int
    """Elements of that dtype in the storage."""

    columns: int
    """Cells in a row, in address order: a row of the storage's tensor, or all its cells."""

    height: int
    """Rows of a tile; the last tiles may have fewer."""

    width: int
    """Cells of a row in a tile; the last tiles may have fewer."""

    looked_at: int
    """Cells the figures are taken from; fewer than `cells` when sampled."""

    figures: str
    """Base64 of seven bytes per tile, row by row: bounds of its finite values and their mean."""

    odd: tuple[tuple[int, int, int, int], ...]
    """Runs of tiles with values that are not finite: the first tile, how many, and in each of them how many
    values were not a number, how many infinite."""


class StorageTiles(Record):
    """The values of a storage too large to record, by tiles."""

    kind: Literal["tiles"]
    storage: int
    """The storage's id."""

    grid: TileGrid | None
    """Null when its bytes changed and no new figures were taken."""

    late: bool
    """Taken when the program was over, of a change that was told without them."""


class Figures(NamedTuple):
    """What is known of one tile. None where no finite value was looked at."""

    low: float | None
    high: float | None
    mean: float | None


def tiles_down(grid: TileGrid) -> int:
    """Rows of tiles."""
    rows = -(-grid.cells // grid.columns)
    return -(-rows // grid.height)


def tiles_across(grid: TileGrid) -> int:
    """Tiles in each of them."""
    return -(-grid.columns // grid.width)


def bound(value: float, *, up: bool) -> int:
    """The 20 bits of a bound: not above `value`, or with `up` not below it.

    >>> [float_of(bound(x, up=False)) for x in (1.0, 4095.0, -0.5)]
    [1.0, 4095.0, -0.5]
    >>> float_of(bound(0.1, up=False)) < 0.1 < float_of(bound(0.1, up=True))
    True
    """
    if math.isnan(value):
        return _NAN
    try:
        bits = struct.unpack("<I", struct.pack("<f", value))[0]
    except OverflowError:
        bits = 0xFF800000 if value < 0 else 0x7F800000
    sign, code = bits >> 31, (bits & _MAGNITUDE) >> _DROPPED
    outward = up == (value > 0)
    if outward and abs(float_of(code)) < abs(value):
        code += 1
    elif not outward and abs(float_of(code)) > abs(value):
        code -= 1
    return int(sign << 19 | code)


def float_of(code: int) -> float:
    """The float of 20 bits."""
    value: float = struct.unpack("<f", struct.pack("<I", code << _DROPPED))[0]
    return value


def packed(figures: list[Figures]) -> str:
    """Tiles as a trace has them."""
    out = bytearray()
    for low, high, mean in figures:
        if low is None or high is None or mean is None:
            out += (_NAN << 36 | _NAN << 16).to_bytes(TILE_BYTES, "big")
            continue
        # One value alone is told as nearly as can be, not as a range.
        first = bound(low, up=False)
        last = first if low == high else bound(high, up=True)
        a, b = float_of(first), float_of(last)
        whole = b - a
        share = round((mean - a) / whole * _SHARES) if 0 < whole < math.inf else 0
        out += (first << 36 | last << 16 | max(0, min(_SHARES, share))).to_bytes(TILE_BYTES, "big")
    return base64.b64encode(bytes(out)).decode()


def figures_of(grid: TileGrid) -> list[Figures]:
    """The tiles of a grid, row by row.

    Args:
        grid: As recorded.

    Returns:
        Bounds and mean of each. Beyond ±3.4e38 a bound is infinite and the mean unknown.
    """
    data = base64.b64decode(grid.figures)
    found = []
    for at in range(0, len(data) - TILE_BYTES + 1, TILE_BYTES):
        word = int.from_bytes(data[at : at + TILE_BYTES], "big")
        low, high = float_of(word >> 36), float_of(word >> 16 & 0xFFFFF)
        if math.isnan(low):
            found.append(Figures(None, None, None))
        elif math.isinf(low) or math.isinf(high):
            found.append(Figures(low, high, None))
        else:
            found.append(Figures(low, high, low + (high - low) * (word & _SHARES) / _SHARES))
    return found
