"""How large the box of a graph node is. It does not place boxes (`autograd`).

A box, from top to bottom: 9 px, the title (20 px), the subtitle (18 px), one chip of 24 px with 6 px
above it per saved tensor, 9 px: zoomed out to 80 %, chips still begin 24 px from one another. Text begins
12 px from the left, a chip 8 px. `views/node.ts` paints by the same numbers; a text wider than its box there
ends in an ellipsis.
"""

from collections.abc import Mapping

from ..schema import GraphNode, TensorView, Trace

PADDING = 9
TITLE_HEIGHT = 20
SUBTITLE_HEIGHT = 18
CHIP_HEIGHT = 24
CHIP_GAP = 6

_TITLE_CHARACTER = 7.9
_SMALL_CHARACTER = 6.9
_TEXT_INDENT = 12
_CHIP_TEXT_INDENT = 18
_NARROWEST = 112
_WIDEST = 260
_GRID = 4


def box_size(
    trace: Trace, node: GraphNode, names: Mapping[int, str], views: Mapping[int, TensorView]
) -> tuple[float, float]:
    """Width and height of a node's box.

    Args:
        trace: The trace.
        node: The node. An AccumulateGrad is drawn with its leaf: the leaf's name, shape and `.grad`.
        names: Tensor id → the reader's name for it.
        views: Tensor id → how it looks at its storage.

    Returns:
        Width and height in CSS pixels.
    """
    title, subtitle = trace.names[node.name], f"line {node.line} · name"
    if node.variable is not None:
        view = views.get(node.variable)
        title = names.get(node.variable, title)
        subtitle = f"leaf {_shape(view)} · .grad None"
    chips = [_chip(slot.field, names.get(slot.tensor or -1)) for slot in node.saved]
    width = max(
        len(title) * _TITLE_CHARACTER + 2 * _TEXT_INDENT,
        len(subtitle) * _SMALL_CHARACTER + 2 * _TEXT_INDENT,
        *(len(chip) * _SMALL_CHARACTER + 2 * _CHIP_TEXT_INDENT for chip in chips),
        _NARROWEST,
    )
    height = 2 * PADDING + TITLE_HEIGHT + SUBTITLE_HEIGHT + len(chips) * (CHIP_HEIGHT + CHIP_GAP)
    return _to_grid(min(width, _WIDEST)), float(height)


def fold_size(label: str) -> tuple[float, float]:
    """Width and height of the box of a fold: its label in the title, how many nodes below."""
    path, _, kind = label.rpartition(": ")
    subtitle = f"{kind} · 0000 nodes"
    width = max(
        len(path or kind) * _TITLE_CHARACTER + 3 * _TEXT_INDENT,
        len(subtitle) * _SMALL_CHARACTER + 2 * _TEXT_INDENT,
        _NARROWEST,
    )
    return _to_grid(min(width, _WIDEST)), _to_grid(2 * PADDING + TITLE_HEIGHT + SUBTITLE_HEIGHT)


def _chip(field: str, name: str | None) -> str:
    """The longest text of a chip: a stale one says two versions. Rounds of a loop are as wide as each other,
    so a storage's number does not count."""
    return f"{field} = {name or 'S000'} · v0 → v1 ⚠"


def _shape(view: TensorView | None) -> str:
    return "" if view is None or view.shape is None else str(view.shape)


def _to_grid(length: float) -> float:
    return float(-(-length // _GRID) * _GRID)
