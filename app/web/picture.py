"""The home page's picture: two tensors above the one strip of cells they both read.

Coordinates are computed here, from a recorded trace; the template only paints. Sizes are in units of the
picture's own, about a CSS pixel each.
"""

from dataclasses import dataclass

from ..schema import Trace
from ..schema.replay import state_document
from ..schema.state import StateTensor
from .figures import CodeLine, StorageCard, cells_of, code_lines, elements, storages_of, tuple_text

CELL_W, CELL_H, GAP = 50, 40, 4
STRIP_H = 46
WIDTH = 360
TOP = 46
"""Room for the names and their shapes."""


@dataclass(frozen=True)
class PictureCell:
    """A cell, of a tensor or of the storage."""

    cell: int
    """Its place in the storage: cells with equal numbers are the same memory."""

    label: str
    value: str
    x: float
    y: float
    written: bool
    """The program's last line wrote it."""


@dataclass(frozen=True)
class PictureTensor:
    """A tensor as a grid."""

    name: str
    shape: str
    stride: str
    x: float
    cells: tuple[PictureCell, ...]


@dataclass(frozen=True)
class HomePicture:
    """`x` and its transpose above the one strip they both read."""

    tensors: tuple[PictureTensor, ...]
    strip: tuple[PictureCell, ...]
    strip_y: float
    width: float
    height: float
    cell_w: float
    cell_h: float
    strip_w: float
    strip_h: float
    storage: StorageCard
    lines: tuple[CodeLine, ...]

    @property
    def same(self) -> tuple[str, int, str, str]:
        """What the last line wrote: the second name's element, its cell, the first's element, the value."""
        here, there = (
            next(cell for cell in tensor.cells if cell.written) for tensor in reversed(self.tensors)
        )
        return here.label, here.cell, there.label, here.value


def home_picture(trace: Trace, names: tuple[str, str]) -> HomePicture:
    """The picture of a trace in which two 2-d names share a storage and the last line writes to it.

    Args:
        trace: The recorded trace.
        names: The two names.
    """
    after = state_document(trace)
    before = state_document(trace, len(trace.steps) - 1)
    tensors = {name: after.tensors[str(after.bindings[name])] for name in names}
    old = cells_of({name: before.tensors[str(before.bindings[name])] for name in names})
    new = cells_of(tensors)
    written = {cell for cell, value in new.items() if old.get(cell) != value}
    storage = next(card for card in storages_of(after) if card.id == tensors[names[0]].storage)
    grids, left = [], 0.0
    for name, tensor in tensors.items():
        grids.append(_grid(name, tensor, left, written))
        left = WIDTH - (tensors[names[1]].shape or (0, 0))[1] * (CELL_W + GAP) + GAP
    rows = max((tensor.shape or (0, 0))[0] for tensor in tensors.values())
    strip_y = TOP + rows * (CELL_H + GAP) + 62
    strip_w = (WIDTH + GAP) / len(storage.cells) - GAP
    strip = tuple(
        PictureCell(cell, str(cell), value, cell * (strip_w + GAP), strip_y, cell in written)
        for cell, value in storage.cells
    )
    return HomePicture(
        tensors=tuple(grids),
        strip=strip,
        strip_y=strip_y,
        width=WIDTH,
        height=strip_y + STRIP_H + 4,
        cell_w=CELL_W,
        cell_h=CELL_H,
        strip_w=strip_w,
        strip_h=STRIP_H,
        storage=storage,
        lines=code_lines(trace, len(trace.steps)),
    )


def _grid(name: str, tensor: StateTensor, left: float, written: set[int]) -> PictureTensor:
    return PictureTensor(
        name=name,
        shape=tuple_text(tensor.shape),
        stride=tuple_text(tensor.stride),
        x=left,
        cells=tuple(
            PictureCell(
                cell,
                f"{name}[{', '.join(map(str, index))}]",
                value,
                left + index[1] * (CELL_W + GAP),
                TOP + index[0] * (CELL_H + GAP),
                cell in written,
            )
            for index, cell, value in elements(tensor)
        ),
    )
