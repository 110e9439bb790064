"""What a reader sees of a step without JavaScript: code, lamps, sentences, cells of memory.

Everything is read from a recorded trace and laid out as plain HTML by templates. The home page's picture
is in `picture`; the interactive player is drawn by the browser.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..lessons.markdown import highlighted
from ..messages import Language, parts_of
from ..messages.format import Part
from ..schema import Layer, Trace
from ..schema.replay import changed_lines, sentences_of, state_document, step_line
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
    said = sentences_of(trace, step)
    return StepFigure(
        step=step,
        steps=len(trace.steps),
        lines=code_lines(trace, step),
        sentences=tuple(Sentence(s.layer, tuple(parts_of(language, s.id, s.args))) for s in said),
        storages=storages_of(state),
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


def storages_of(state: StateDocument) -> tuple[StorageCard, ...]:
    """The storages that a name of the program leads to, freed ones aside."""
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
        values = cells_of(names)
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
                    ViewCard(name, tuple_text(t.shape), tuple_text(t.stride), t.storage_offset or 0)
                    for name, t in names.items()
                ),
            )
        )
    return tuple(cards)


def cells_of(names: Mapping[str, StateTensor]) -> dict[int, str]:
    """Cell → value, as far as the named tensors show them. Tensors of another dtype are left out."""
    dtype = next(iter(names.values())).dtype
    found: dict[int, str] = {}
    for tensor in names.values():
        if tensor.dtype == dtype:
            found.update({cell: value for _, cell, value in elements(tensor)})
    return found


def elements(tensor: StateTensor) -> list[tuple[tuple[int, ...], int, str]]:
    """Index, cell and value of each element of a strided tensor with values."""
    if tensor.stride is None or tensor.values is None or tensor.storage_offset is None:
        return []
    found: list[tuple[tuple[int, ...], int, str]] = []

    def walk(values: Any, index: tuple[int, ...], cell: int) -> None:
        if len(index) == len(tensor.stride or ()):
            found.append((index, cell, number_text(values)))
            return
        for i, inner in enumerate(values if isinstance(values, list) else ()):
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


def tuple_text(numbers: tuple[int, ...] | None) -> str:
    """As PyTorch prints it.

    >>> tuple_text((3,)), tuple_text((2, 3))
    ('(3,)', '(2, 3)')
    """
    return "–" if numbers is None else str(tuple(numbers))
