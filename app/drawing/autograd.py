"""Coordinates of the autograd graph of a whole trace: every node that ever existed, placed once.

Leaves are left, the loss is right; gradients flow leftwards along the edges. The browser reveals
nodes step by step and moves none. What is painted inside a box is not decided here.

A training loop builds the same graph again and again. Its rounds hang together only at the leaves,
and a picture of fifty of them on one leaf is a tangle. So where a part of the graph is rebuilt,
every round is placed by itself, below the one before, and its leaves are drawn again with it: a
node may then have several boxes, as may a leaf that many nodes use (`spread`). Rounds in the middle
are left out when there are too many.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from ..schema import EdgeDrawing, GraphDrawing, GraphNode, NodeDrawing, TensorView, Trace
from .boxes import box_size
from .folded import Engine, draw_folded
from .layers import Placed, Rank, place
from .spread import effort, spread

_MOST_EFFORT = 1_500_000
"""For all parts of one picture; a part that is too much is left out."""

MOST_NODES = 300
"""More boxes than this are not drawn; `omitted` says how many nodes that leaves out."""

_MOST_EDGES_READ = 60_000
"""Edges that are looked at; of a graph of more, the newest nodes are left out."""

_BETWEEN_PARTS = 32.0
_LEAF = "AccumulateGrad"

Size = tuple[float, float]


def draw_graph(trace: Trace, *, most: int = MOST_NODES) -> GraphDrawing | None:
    """Place the graph of a trace.

    Args:
        trace: The trace.
        most: Boxes in one picture.

    Returns:
        Boxes and routed edges; None when the program built no graph.

    Raises:
        GraphlayError: The layout engine refused the graph. No graph of a valid trace is known to do it.
    """
    found, steps, sizes = _observe(trace)
    if not found:
        return None
    nodes = _with_few_edges(found)
    whole = _parts(trace, nodes)
    engine = Engine(place=_placed, sizes=sizes, steps=steps, between=_BETWEEN_PARTS, most=most)
    folded = draw_folded(trace, nodes, whole, engine)
    parts = _choose(whole, most)
    drawn_nodes: list[NodeDrawing] = []
    drawn_edges: list[EdgeDrawing] = []
    known: dict[object, Placed] = {}
    top = width = 0.0
    spare = most - sum(len(part) for part in parts)
    left = _MOST_EFFORT
    for part in parts:
        boxes, edges = spread(part, nodes, lambda i: trace.names[nodes[i].name] == _LEAF, len(part) + spare)
        spare = max(0, spare + len(part) - len(boxes))
        shape = (tuple(sizes[i] for i in boxes), tuple(edges))
        if shape not in known:
            left -= effort(len(boxes), edges)
            if left < 0 and drawn_nodes:
                break
        placed = known.get(shape) or _placed(*shape)
        known[shape] = placed
        for node_id, (x, y) in zip(boxes, placed.corners, strict=True):
            w, h = sizes[node_id]
            drawn_nodes.append(
                NodeDrawing(node=node_id, x=x, y=y + top, width=w, height=h, step=steps[node_id])
            )
        for (source, target), route in zip(edges, placed.routes, strict=True):
            points = tuple((x, y + top) for x, y in route)
            drawn_edges.append(EdgeDrawing(source=boxes[source], target=boxes[target], points=points))
        width = max(width, placed.width)
        top += placed.height + _BETWEEN_PARTS
    return GraphDrawing(
        width=width,
        height=top - _BETWEEN_PARTS,
        nodes=tuple(drawn_nodes),
        edges=tuple(drawn_edges),
        omitted=len(found) - len({n.node for n in drawn_nodes}),
        folded=folded,
    )


def _with_few_edges(nodes: dict[int, GraphNode]) -> dict[int, GraphNode]:
    """The oldest of the nodes, as many as have so many edges that they can be looked through in time."""
    left = _MOST_EDGES_READ
    for count, node in enumerate(nodes.values()):
        left -= len(node.next_functions)
        if left < 0 and count > 1:
            return dict(list(nodes.items())[:count])
    return nodes


def _observe(trace: Trace) -> tuple[dict[int, GraphNode], dict[int, int], dict[int, Size]]:
    """Nodes by id, the step after which each exists, and the size of its box."""
    nodes: dict[int, GraphNode] = {}
    steps: dict[int, int] = {}
    names: dict[int, str] = {}
    of_module: dict[int, str] = {}
    views: dict[int, TensorView] = {}
    storages: dict[int, int] = {}
    held: dict[int, str] = {}
    for number, step in enumerate(trace.steps, 1):
        for event in step.events:
            if event.kind == "node":
                nodes[event.id] = event
                steps.setdefault(event.id, number)
            elif event.kind == "tensor":
                views[event.id] = trace.views[event.view]
                if event.storage is not None:
                    storages[event.id] = event.storage
            elif event.kind == "held" and event.holders:
                held[event.storage] = event.holders[0]
            elif event.kind == "names":
                known = of_module if event.frame == 0 else names
                for path, tensor in event.paths.items():
                    known.setdefault(tensor, path)
    names |= of_module
    for leaf in (node.variable for node in nodes.values() if node.variable is not None):
        if leaf not in names and (holder := held.get(storages.get(leaf, -1))) is not None:
            names[leaf] = holder
    return nodes, steps, {i: box_size(trace, node, names, views) for i, node in nodes.items()}


def _parts(trace: Trace, nodes: Mapping[int, GraphNode]) -> list[list[int]]:
    """Parts to place by themselves: one, unless some part of the graph was built more than once."""
    inner = [i for i, node in nodes.items() if trace.names[node.name] != _LEAF]
    rounds = _connected(inner, nodes)
    looks = Counter(_looks(trace, nodes, part) for part in rounds)
    if all(count == 1 for count in looks.values()):
        return [sorted(nodes)]
    with_leaves = []
    for part in rounds:
        leaves = {t for i in part for t, _ in nodes[i].next_functions if t is not None and t in nodes}
        with_leaves.append(sorted(leaves.union(part)))
    seen = {i for part in with_leaves for i in part}
    return [*with_leaves, *([i] for i in nodes if i not in seen)]


def _looks(trace: Trace, nodes: Mapping[int, GraphNode], part: Iterable[int]) -> tuple[object, ...]:
    """What a part built twice by the same lines has in common."""
    return tuple(sorted((trace.names[nodes[i].name], nodes[i].line or 0) for i in part))


def _connected(ids: list[int], nodes: Mapping[int, GraphNode]) -> list[list[int]]:
    """Connected components of the nodes `ids`, in order of their first node."""
    root = {i: i for i in ids}

    def find(i: int) -> int:
        while root[i] != i:
            root[i] = root[root[i]]
            i = root[i]
        return i

    for i in ids:
        for target, _ in nodes[i].next_functions:
            if target is not None and target in root:
                a, b = sorted((find(i), find(target)))
                root[b] = a
    components: dict[int, list[int]] = {}
    for i in sorted(ids):
        components.setdefault(find(i), []).append(i)
    return list(components.values())


def _choose(parts: list[list[int]], most: int) -> list[list[int]]:
    """The parts that fit: from both ends inwards, in order. Of a first part too large, its oldest nodes."""
    left = most
    chosen: set[int] = set()
    for turn in range(len(parts)):
        at = turn // 2 if turn % 2 == 0 else len(parts) - 1 - turn // 2
        if len(parts[at]) > left:
            break
        left -= len(parts[at])
        chosen.add(at)
    return [parts[i] for i in sorted(chosen)] if chosen else [parts[0][:most]]


def _placed(
    sizes: tuple[Size, ...],
    edges: tuple[tuple[int, int], ...],
    ends: Mapping[int, Rank] = MappingProxyType({}),
) -> Placed:
    """Lay out one part. Edges come and go as source → target; the engine sees them from left to right."""
    placed = place(sizes, tuple((target, source) for source, target in edges), ends)
    routes = tuple(tuple(reversed(route)) for route in placed.routes)
    return Placed(width=placed.width, height=placed.height, corners=placed.corners, routes=routes)
