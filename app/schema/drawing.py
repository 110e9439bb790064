"""Where things are drawn: coordinates computed once, in Python, for the final graph.

The browser reveals nodes by step and never moves one.
"""

from typing import Literal

from .base import Record


class NodeDrawing(Record):
    """A box of the autograd graph. A leaf is drawn with its AccumulateGrad in one box."""

    node: int
    """Id of the graph node."""

    x: float
    """Left edge, in CSS pixels."""

    y: float
    """Top edge."""

    width: float
    """Width of the box."""

    height: float
    """Height of the box."""

    step: int
    """The step after which the node exists."""


class EdgeDrawing(Record):
    """A routed edge, from a node to the node its gradient flows to."""

    source: int
    """Id of the node the gradient comes from."""

    target: int
    """Id of the node it flows to."""

    points: tuple[tuple[float, float], ...]
    """The polyline, from source to target."""


class FoldDrawing(Record):
    """A box that stands for many nodes, and opens where it stands."""

    id: int
    """Its number, from 1; in a picture's boxes and edges it is told by minus its number."""

    kind: Literal["module", "chain", "lines"]
    """`module`: nodes made during one call of a module; `chain`: nodes of one kind in a row; `lines`: nodes
    that the program made one after the other."""

    label: str
    """How the program reaches the module; the nodes' name for a chain; the lines that made them, as `3` or
    `3–9`. Empty when nothing leads to it."""

    class_name: str
    """The module's class; empty for the others."""

    inside: int
    """The fold it stands in; 0 for the whole graph."""

    members: tuple[int, ...]
    """Ids of all nodes it stands for."""

    width: float
    """Width of the picture inside."""

    height: float
    """Height of the picture inside."""

    nodes: tuple[NodeDrawing, ...]
    """Boxes of the picture inside. Those of `outside` are neighbours: small ones at its left and right end,
    where edges leave and enter, or whole leaves drawn again beside their users."""

    edges: tuple[EdgeDrawing, ...]
    """Edges of the picture inside."""

    outside: tuple[int, ...]
    """Boxes that do not belong to it: what it gets gradients from and sends them to."""


class FoldedDrawing(Record):
    """The graph with modules and chains folded, each with a picture of what is inside."""

    width: float
    """Width of the whole, folded."""

    height: float
    """Height of the whole, folded."""

    nodes: tuple[NodeDrawing, ...]
    """Boxes of the whole."""

    edges: tuple[EdgeDrawing, ...]
    """Edges of the whole."""

    omitted: int
    """Nodes that no box stands for."""

    folds: tuple[FoldDrawing, ...]
    """What is folded."""


class GraphDrawing(Record):
    """The whole graph of a trace."""

    width: float
    """Width of the drawing."""

    height: float
    """Height of the drawing."""

    nodes: tuple[NodeDrawing, ...]
    """Boxes."""

    edges: tuple[EdgeDrawing, ...]
    """Edges."""

    omitted: int
    """Nodes not drawn because the graph is too large."""

    folded: FoldedDrawing | None = None
    """The same folded; null when there is nothing to fold."""
