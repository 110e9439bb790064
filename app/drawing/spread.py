"""The boxes of one part of a graph and the edges between them, so that no edge spans the whole picture.

A leaf that many nodes use, as a recurrent network uses its weights, is drawn beside each of them: one box
would pull an edge across every step between. Edges that are long all the same (a stack of all states) cost
the layout engine time with the square of their length, so a part that has too many is cut: its oldest
nodes stay.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from graphlib import CycleError, TopologicalSorter

from ..schema import GraphNode

MOST_USERS = 6
"""A leaf with more users than this in one part has a box for each of them."""

MOST_CROSSED = 2_000
"""Columns that all edges of a part may cross in sum; 150 states in one stack cross 11,000, a second's."""

MOST_EDGES = 700
"""Edges in one picture: the engine takes half a minute for forty boxes that use forty others each."""

_MOST_PARALLEL = 8
"""Edges between the same two boxes, as of one tensor that is stacked with itself a thousand times."""

Edges = list[tuple[int, int]]
"""Source and target, as places in the list of boxes."""


def spread(
    part: list[int], nodes: Mapping[int, GraphNode], is_leaf: Callable[[int], bool], most: int
) -> tuple[list[int], Edges]:
    """Say which boxes to draw for a part.

    Args:
        part: Ids of its nodes, oldest first.
        nodes: All nodes.
        is_leaf: Whether a node is a leaf's.
        most: Boxes there may be.

    Returns:
        The node of each box, and the edges between boxes. Nodes that had to be left out have no box.
    """
    while True:
        boxes, edges = _spread(part, nodes, is_leaf)
        fits = len(boxes) <= most and len(edges) <= MOST_EDGES
        if len(part) < 2 or (fits and _crossed(len(boxes), edges) <= MOST_CROSSED):
            return boxes, edges
        part = part[: len(part) * 4 // 5]


def effort(count: int, edges: Edges) -> int:
    """How long the layout engine takes for so many boxes with such edges; 150,000 is about a second.

    Args:
        count: Boxes.
        edges: Between them, from users to what they use.
    """
    return len(edges) * (len(edges) + _crossed(count, edges))


def _spread(
    part: list[int], nodes: Mapping[int, GraphNode], is_leaf: Callable[[int], bool]
) -> tuple[list[int], Edges]:
    inside = set(part)
    pairs: list[tuple[int, int]] = []
    counts: Counter[tuple[int, int]] = Counter()
    for source in part:
        for target, _ in nodes[source].next_functions:
            counts[source, target or 0] += target is not None
            if target in inside and target != source and counts[source, target] <= _MOST_PARALLEL:
                pairs.append((source, target))
    users: dict[int, set[int]] = {}
    for source, target in pairs:
        users.setdefault(target, set()).add(source)
    shared = {t for t, sources in users.items() if len(sources) > MOST_USERS and is_leaf(t)}
    boxes = [node for node in part if node not in shared]
    place = {node: i for i, node in enumerate(boxes)}
    edges: Edges = []
    beside: dict[tuple[int, int], int] = {}
    for source, target in pairs:
        if target not in shared:
            edges.append((place[source], place[target]))
            continue
        if (source, target) not in beside:
            beside[source, target] = len(boxes)
            boxes.append(target)
        edges.append((place[source], beside[source, target]))
    return boxes, edges


def _crossed(count: int, edges: Edges) -> int:
    """Columns that edges pass on their way, beyond the one that each has to."""
    behind: dict[int, list[int]] = {box: [] for box in range(count)}
    for source, target in edges:
        behind[source].append(target)
    column: dict[int, int] = {}
    try:
        for box in TopologicalSorter(behind).static_order():
            column[box] = 1 + max((column[target] for target in behind[box]), default=-1)
    except CycleError:  # no graph of autograd has one; a forged trace may say so, and the engine copes
        return 0 if len(edges) <= 2 * count else MOST_CROSSED + 1
    nearest: dict[int, int] = {}
    for source, target in edges:
        nearest[target] = min(nearest.get(target, count), column[source])
    for box, targets in behind.items():
        if not targets and box in nearest:
            column[box] = nearest[box] - 1  # a leaf stands beside its first user
    return sum(column[source] - column[target] - 1 for source, target in edges)
