"""Coordinates of the graphs that `torch.compile` made: inputs are left, results right.

The same engine as for the autograd graph. An edge goes from a node to the node that uses its result. A
graph that PyTorch made again with the same nodes, as a recompilation for another dtype does, looks the same
and is laid out once.
"""

from ..schema import EdgeDrawing, FxDrawing, FxGraph, FxNode, GraphDrawing, NodeDrawing, Trace
from .layers import place
from .spread import effort

MOST_GRAPHS = 40
MOST_NODES = 120
_MOST_EDGES = 400
_MOST_EFFORT = 600_000
"""For all graphs of a trace. A graph that is too much is not drawn."""

_TITLE_CHARACTER = 7.9
_SMALL_CHARACTER = 6.9
_MARGIN = 24
_ROUND_MARGIN = 38
_NARROWEST = 76
_WIDEST = 240
_HEIGHT = 52.0
_GRID = 4

Shape = tuple[tuple[tuple[float, float], ...], tuple[tuple[int, int], ...]]


def draw_fx_graphs(trace: Trace) -> tuple[FxDrawing, ...]:
    """Place every graph that was compiled, in the order of the steps.

    Args:
        trace: The trace.

    Returns:
        A drawing per graph, as many as are drawn.
    """
    drawn: list[FxDrawing] = []
    known: dict[Shape, GraphDrawing] = {}
    left = _MOST_EFFORT
    for number, step in enumerate(trace.steps, 1):
        for event in step.events:
            if event.kind != "compiled":
                continue
            for graph in event.graphs:
                if len(drawn) < MOST_GRAPHS and len(graph.nodes) <= MOST_NODES:
                    shape = _shape(graph)
                    if shape not in known:
                        needed = _effort(shape)
                        if needed > left:
                            continue
                        left -= needed
                    drawing = _draw(graph, number, shape, known)
                    drawn.append(
                        FxDrawing(compilation=event.id, step=number, stage=graph.stage, drawing=drawing)
                    )
    return tuple(drawn)


def _shape(graph: FxGraph) -> Shape:
    sizes = tuple(_size(node) for node in graph.nodes)
    return sizes, tuple((each, number) for number, node in enumerate(graph.nodes) for each in node.inputs)


def _effort(shape: Shape) -> int:
    sizes, edges = shape
    if len(edges) > _MOST_EDGES:
        return _MOST_EFFORT + 1
    return effort(len(sizes), [(user, used) for used, user in edges])


def _draw(graph: FxGraph, step: int, shape: Shape, known: dict[Shape, GraphDrawing]) -> GraphDrawing:
    sizes, edges = shape
    drawing = known.get((sizes, edges))
    if drawing is None:
        placed = place(sizes, edges)
        drawing = known[sizes, edges] = GraphDrawing(
            width=placed.width,
            height=placed.height,
            nodes=tuple(
                NodeDrawing(node=i, x=x, y=y, width=w, height=h, step=step)
                for i, ((x, y), (w, h)) in enumerate(zip(placed.corners, sizes, strict=True))
            ),
            edges=tuple(
                EdgeDrawing(source=source, target=target, points=route)
                for (source, target), route in zip(edges, placed.routes, strict=True)
            ),
            omitted=graph.omitted,
        )
    return drawing


def _size(node: FxNode) -> tuple[float, float]:
    """A title, what is called, and below it the shape and dtype of the result."""
    margin = _ROUND_MARGIN if node.op in ("placeholder", "get_attr") else _MARGIN
    width = max(
        len(title_of(node)) * _TITLE_CHARACTER + margin,
        len(_result(node)) * _SMALL_CHARACTER + margin,
        _NARROWEST,
    )
    return float(-(-min(width, _WIDEST) // _GRID) * _GRID), _HEIGHT


def title_of(node: FxNode) -> str:
    """The title of a box: what is called, without the module it is in."""
    if node.op == "output":
        return "output"
    if node.op in ("placeholder", "get_attr"):
        return node.target
    if node.target.startswith("aten."):
        return node.target.removeprefix("aten.").removesuffix(".default")
    return node.target.rpartition(".")[2]


def _result(node: FxNode) -> str:
    if node.shape is None:
        return node.dtype or ""
    return f"({', '.join(map(str, node.shape))}) {node.dtype}"
