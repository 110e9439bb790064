"""Where things are drawn: coordinates computed once, in Python, for the final graph.

The browser reveals nodes by step and never moves one.
"""

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
