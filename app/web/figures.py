"""What a reader sees of a step without JavaScript: code, lamps, sentences, cells of memory.

Everything is read from a recorded trace. The home page's picture gets its coordinates here; the rest is
plain HTML that templates lay out. The interactive player is drawn by the browser, not here.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..lessons.markdown import highlighted
from ..messages import Language, parts_of
from ..messages.format import Part
from ..schema import Layer, Trace
from ..schema.replay import changed_lines, state_document, step_line
from ..schema.state import StateDocument, StateTensor
from ..schema.values import element_size

_MOST_CELLS = 32


@dataclass(frozen=True)
class CodeLine:
    """A line of a program."""

    number: int
    html: str
    lamps: tuple[Layer, ...] | None
    """The layers it lit; None when it has not run."""

    current: bool


@dataclass(frozen=True)
class ViewCard:
    """A name that looks at a storage."""

    name: str
    shape: str
    stride: str
    offset: int


@dataclass(frozen=True)
class StorageCard:
    """A storage with its values and who looks at it."""

    id: int
    nbytes: int
    device: str
    dtype: str
    cells: tuple[tuple[int, str], ...]
    """Cell number and value, the first ones."""

    omitted: int
    """Cells that are not listed."""

    views: tuple[ViewCard, ...]


@dataclass(frozen=True)
class Sentence:
    """A sentence about a step."""

    layer: Layer | None
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class StepFigure:
    """One step of a trace, for reading."""

    step: int
    steps: int
    lines: tuple[CodeLine, ...]
    sentences: tuple[Sentence, ...]
    storages: tuple[StorageCard, ...]


def step_figure(trace: Trace, step: int, language: Language) -> StepFigure:
    """Everything about one step.

    Args:
        trace: The trace, explained.
        step: 0 is before the first.
        language: Of the sentences.

    Raises:
        IndexError: There is no such step.
    """
    state = state_document(trace, step)
    said = trace.sentences[step - 1] if 0 < step <= len(trace.sentences) else ()
    return StepFigure(
        step=step,
        steps=len(trace.steps),
        lines=code_lines(trace, step),
        sentences=tuple(Sentence(s.layer, tuple(parts_of(language, s.id, s.args))) for s in said),
        storages=_storages(state),
    )


def code_lines(trace: Trace, step: int) -> tuple[CodeLine, ...]:
    """The program with the lamps lit so far."""
    _, lamps = changed_lines(trace, step)
    ran = {step_line(trace, each) for each in trace.steps[:step]}
    current = step_line(trace, trace.steps[step - 1]) if step else None
    return tuple(
        CodeLine(number, html, lamps.get(str(number), ()) if number in ran else None, number == current)
        for number, html in enumerate(highlighted(trace.source), 1)
    )


def _storages(state: StateDocument) -> tuple[StorageCard, ...]:
    cards = []
    for identifier, storage in state.storages.items():
        names = {
            name: state.tensors[str(tensor)]
            for name, tensor in state.bindings.items()
            if state.tensors[str(tensor)].storage == int(identifier)
        }
        if storage.freed or not names:
            continue
        first = next(iter(names.values()))
        values = _cells(names)
        size = element_size(first.dtype)
        count = storage.nbytes // size if size else 0
        cards.append(
            StorageCard(
                id=int(identifier),
                nbytes=storage.nbytes,
                device=storage.device,
                dtype=first.dtype.removeprefix("torch."),
                cells=tuple((i, values.get(i, "")) for i in range(min(count, _MOST_CELLS))),
                omitted=max(0, count - _MOST_CELLS),
                views=tuple(
                    ViewCard(name, _tuple(t.shape), _tuple(t.stride), t.storage_offset or 0)
                    for name, t in names.items()
                ),
            )
        )
    return tuple(cards)


def _cells(names: Mapping[str, StateTensor]) -> dict[int, str]:
    """Cell → value, as far as the named tensors show them. Tensors of another dtype are left out."""
    dtype = next(iter(names.values())).dtype
    found: dict[int, str] = {}
    for tensor in names.values():
        if tensor.dtype == dtype:
            found.update({cell: value for _, cell, value in _elements(tensor)})
    return found


def _elements(tensor: StateTensor) -> list[tuple[tuple[int, ...], int, str]]:
    """Index, cell and value of each element of a strided tensor with values."""
    if tensor.stride is None or tensor.values is None or tensor.storage_offset is None:
        return []
    found: list[tuple[tuple[int, ...], int, str]] = []

    def walk(values: Any, index: tuple[int, ...], cell: int) -> None:
        if len(index) == len(tensor.stride or ()):
            found.append((index, cell, number_text(values)))
            return
        for i, inner in enumerate(values):
            walk(inner, (*index, i), cell + i * (tensor.stride or ())[len(index)])

    walk(tensor.values, (), tensor.storage_offset)
    return found


def number_text(value: Any) -> str:
    """A value as a cell shows it.

    >>> number_text(30.0), number_text(0.123456), number_text("nan")
    ('30', '0.1235', 'nan')
    """
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value)


def _tuple(numbers: tuple[int, ...] | None) -> str:
    """As PyTorch prints it.

    >>> _tuple((3,)), _tuple((2, 3))
    ('(3,)', '(2, 3)')
    """
    return "–" if numbers is None else str(tuple(numbers))


# The home page: two tensors above the strip of their storage. Sizes are in the picture's own units.

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
    old = _cells({name: before.tensors[str(before.bindings[name])] for name in names})
    new = _cells(tensors)
    written = {cell for cell, value in new.items() if old.get(cell) != value}
    storage = next(card for card in _storages(after) if card.id == tensors[names[0]].storage)
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
        shape=_tuple(tensor.shape),
        stride=_tuple(tensor.stride),
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
            for index, cell, value in _elements(tensor)
        ),
    )
