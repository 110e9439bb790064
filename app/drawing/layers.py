"""The layout engine: boxes in layers from left to right, with routed edges. It does not know what they mean.

Source: graphlay, pinned: the same graph gives the same coordinates.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import graphlay

_OPTIONS = {
    "direction": "leftright",
    "routing": {"port_sides": "facing_only"},
    "spacing": {"layer_gap": 44.0, "node_gap": 22.0, "dummy_gap": 18.0, "port_gap": 12.0},
}

Size = tuple[float, float]
Point = tuple[float, float]
Rank = Literal["first", "last"]


@dataclass(frozen=True)
class Placed:
    """A graph with coordinates from (0, 0)."""

    width: float
    height: float
    corners: tuple[Point, ...]
    routes: tuple[tuple[Point, ...], ...]


def place(
    sizes: tuple[Size, ...],
    edges: tuple[tuple[int, int], ...],
    ends: Mapping[int, Rank] = MappingProxyType({}),
) -> Placed:
    """Lay out one graph.

    Args:
        sizes: Width and height of each box.
        edges: Source and target, as places in `sizes`; an edge runs from left to right.
        ends: Boxes that are to stand in the first layer or in the last.

    Returns:
        Where each box and each edge is.

    Raises:
        GraphlayError: The engine refused the graph.
    """
    graph = graphlay.Graph()
    for number, (width, height) in enumerate(sizes):
        graph.node(width=width, height=height, rank=ends.get(number, "free"))
    for source, target in edges:
        graph.edge(source, target)
    layout = graphlay.layout(graph, options=_OPTIONS)
    left = layout.bounds["min"]["x"]
    top = layout.bounds["min"]["y"]
    corners = tuple(
        (
            round(n["center"]["x"] - left - n["size"]["width"] / 2, 2),
            round(n["center"]["y"] - top - n["size"]["height"] / 2, 2),
        )
        for n in layout.nodes
    )
    routes = tuple(
        tuple((round(p["x"] - left, 2), round(p["y"] - top, 2)) for p in e["points"]) for e in layout.edges
    )
    return Placed(
        width=round(layout.bounds["max"]["x"] - left, 2),
        height=round(layout.bounds["max"]["y"] - top, 2),
        corners=corners,
        routes=routes,
    )
