"""Coordinates of the folded graph: a picture of the whole, and one of the inside of every fold.

A picture is placed once and by itself; where a reader opens a fold, its box grows to the size of the picture
inside, and what is right of it and below makes room (`static/src/layout/nesting.ts`). What a fold hangs
together with is a port in its picture: a small box at the left end for what gradients flow to, at the right
end for what they come from. Which nodes are folded is decided in `folding` and `stretches`. A fold's box has
minus its number for an id.
"""

from collections import ChainMap, Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..schema import EdgeDrawing, FoldDrawing, FoldedDrawing, GraphNode, NodeDrawing, Trace
from .boxes import fold_size
from .folding import Group, Item, Patience, groups_of
from .layers import Rank
from .spread import effort, spread
from .stretches import stretches

MOST_BOXES = 1_800
"""Boxes of all pictures together. What lies deeper stays behind the box of its fold."""

PORT = 8.0
"""Width and height of the box at the end of an edge that goes on outside."""

_MANY = 200
"""Boxes of the whole above which it is cut into stretches."""

_MANY_OF_A_ROUND = 40
"""The same for one of several rounds."""

_MOST_NODES = 12_000
"""A graph of more nodes is not folded."""

_MOST_MODULES = 12
"""Modules around a node that count, from the outermost."""

_MOST_EFFORT = 600_000
"""For the pictures of all folds. What is too much stays behind the box of its fold."""

_MOST_OF_ROUNDS = 240
"""The same where a loop builds a graph again and again: one round is like the other."""

Size = tuple[float, float]


@dataclass(frozen=True)
class Engine:
    """What placing needs to know."""

    place: Callable[[tuple[Size, ...], tuple[tuple[int, int], ...], Mapping[int, Rank]], Any]
    """Places boxes of such sizes with such edges, some of them at one end."""

    sizes: Mapping[int, Size]
    steps: Mapping[int, int]
    between: float
    """Room between parts."""

    most: int
    """Boxes in one picture."""


class _Box(NamedTuple):
    next_functions: tuple[tuple[int, int], ...]


class _Picture(NamedTuple):
    width: float
    height: float
    nodes: tuple[NodeDrawing, ...]
    edges: tuple[EdgeDrawing, ...]


_EMPTY = _Picture(0, 0, (), ())
_NOTHING = frozenset[int]()


def draw_folded(
    trace: Trace, nodes: Mapping[int, GraphNode], parts: Sequence[list[int]], engine: Engine
) -> FoldedDrawing | None:
    """Place the folded graph.

    Args:
        trace: The trace.
        nodes: Its graph nodes.
        parts: Ids of the nodes of each part that is placed by itself, in order.
        engine: Places a picture.

    Returns:
        The pictures; None when there is nothing to fold.
    """
    if len(nodes) > _MOST_NODES:
        return None
    items = _items(trace, nodes)
    patience = Patience()
    most = _MANY if len(parts) == 1 else _MANY_OF_A_ROUND
    grouped = []
    for part in parts:
        within = {node: items[node] for node in part}
        grouped.append((part, stretches(within, groups_of(within, patience), most)))
    if not any(groups for _, groups in grouped):
        return None
    return _Drawing(items, engine).whole(grouped)


def _items(trace: Trace, nodes: Mapping[int, GraphNode]) -> dict[int, Item]:
    names = trace.names
    return {
        i: Item(
            name=names[node.name],
            modules=tuple(names[m] for m in node.modules[:_MOST_MODULES]),
            targets=tuple(dict.fromkeys(t for t, _ in node.next_functions if t is not None and t in nodes)),
            leaf=names[node.name] == "AccumulateGrad",
            line=node.line,
        )
        for i, node in nodes.items()
    }


class _Drawing:
    """Pictures as they are made."""

    def __init__(self, items: Mapping[int, Item], engine: Engine) -> None:
        self._items = items
        self._engine = engine
        self._left = MOST_BOXES
        self._effort = _MOST_EFFORT
        self._known: dict[object, Any] = {}
        """Pictures by what they were placed from: the calls of one module are often alike."""
        self._groups: list[tuple[Group, int, Mapping[int, int]]] = []
        """By number less one: a fold, the fold it is in, and which box stands for each node around it."""
        self._users: dict[int, list[int]] = {}
        for node, item in items.items():
            for target in item.targets:
                self._users.setdefault(target, []).append(node)

    def whole(self, parts: Sequence[tuple[list[int], list[Group]]]) -> FoldedDrawing:
        """The picture of all parts, one below the other, and those of the folds."""
        nodes: list[NodeDrawing] = []
        edges: list[EdgeDrawing] = []
        width = top = 0.0
        shown: set[int] = set()
        if len(parts) > 1:
            self._left = _MOST_OF_ROUNDS
        for i in _that_fit(parts, self._engine.most if len(parts) == 1 else _MOST_OF_ROUNDS // 4):
            members, groups = parts[i]
            box_of = self._boxes(members, groups, 0, {})
            picture = self._picture(dict.fromkeys(box_of.values()), box_of, members)
            kept = {node.node for node in picture.nodes}
            shown.update(node for node in members if box_of[node] in kept)
            nodes.extend(node.model_copy(update={"y": node.y + top}) for node in picture.nodes)
            for edge in picture.edges:
                points = tuple((x, y + top) for x, y in edge.points)
                edges.append(edge.model_copy(update={"points": points}))
            width = max(width, picture.width)
            top += picture.height + self._engine.between
        return FoldedDrawing(
            width=width,
            height=max(0.0, top - self._engine.between),
            nodes=tuple(nodes),
            edges=tuple(edges),
            omitted=len(self._items.keys() - shown),
            folds=tuple(self._folds()),
        )

    def _boxes(
        self, members: Iterable[int], groups: list[Group], inside: int, around: Mapping[int, int]
    ) -> Mapping[int, int]:
        """Node → the box that stands for it: itself or a fold."""
        box_of: dict[int, int] = {node: node for node in members}
        both: Mapping[int, int] = ChainMap(box_of, dict(around)) if around else box_of
        for group in groups:
            self._groups.append((group, inside, both))
            box_of.update(dict.fromkeys(group.members, -len(self._groups)))
        return both

    def _folds(self) -> Iterable[FoldDrawing]:
        """The folds, those inside them after them."""
        number = 0
        while number < len(self._groups):
            group, inside, around = self._groups[number]
            number += 1
            picture, outside = _EMPTY, set[int]()
            if self._left > 0:
                picture, outside = self._open(group, number, around)
            self._left -= len(picture.nodes)
            path, _, kind = group.label.rpartition(": ")
            module = group.kind == "module"
            yield FoldDrawing(
                id=number,
                kind=group.kind,
                label=path if module else kind,
                class_name=kind if module else "",
                inside=inside,
                members=tuple(group.members),
                outside=tuple(sorted(outside & {node.node for node in picture.nodes})),
                **picture._asdict(),
            )

    def _open(self, group: Group, number: int, around: Mapping[int, int]) -> tuple[_Picture, set[int]]:
        """The inside of a fold with its neighbours."""
        box_of = self._boxes(group.members, group.groups, number, around)
        own = {box_of[node] for node in group.members}
        near = {
            other
            for node in group.members
            for other in (*self._items[node].targets, *self._users.get(node, ()))
            if other in box_of
        }
        outside = {box_of[node] for node in near} - own
        order = [*dict.fromkeys(box_of[node] for node in group.members), *sorted(outside)]
        links = [*group.members, *(node for node in near if box_of[node] in outside)]
        return self._picture(order, box_of, links, outside), outside

    def _picture(
        self,
        boxes: Iterable[int],
        box_of: Mapping[int, int],
        members: Iterable[int],
        outside: set[int] | frozenset[int] = _NOTHING,
    ) -> _Picture:
        """Place boxes with the edges of what they stand for."""
        boxes, engine = list(boxes), self._engine
        targets: dict[int, dict[int, None]] = {box: {} for box in boxes}
        for node in members:
            source = box_of[node]
            for each in self._items[node].targets:
                target = box_of.get(each)
                if target in targets and target != source and not (source in outside and target in outside):
                    targets[source][target] = None
        around = {box: _Box(tuple((t, 0) for t in found)) for box, found in targets.items()}
        kept, links = spread(boxes, around, self._is_leaf, engine.most)  # type: ignore[arg-type]  # has edges
        if outside is not _NOTHING:
            self._effort -= effort(len(kept), links)
            if self._effort < 0:
                return _EMPTY
        ports = _ports(kept, links, outside)
        sizes = tuple((PORT, PORT) if i in ports else self._size(box) for i, box in enumerate(kept))
        shape = (sizes, tuple(links), tuple(ports.items()))
        placed = self._known.get(shape) or engine.place(sizes, tuple(links), ports)
        self._known[shape] = placed
        drawn = [
            NodeDrawing(node=box, x=x, y=y, width=w, height=h, step=self._step(box))
            for box, (x, y), (w, h) in zip(kept, placed.corners, sizes, strict=True)
        ]
        edges = [
            EdgeDrawing(source=kept[source], target=kept[target], points=route)
            for (source, target), route in zip(links, placed.routes, strict=True)
        ]
        return _Picture(placed.width, placed.height, tuple(drawn), tuple(edges))

    def _is_leaf(self, box: int) -> bool:
        return box > 0 and self._items[box].leaf

    def _size(self, box: int) -> Size:
        return self._engine.sizes[box] if box > 0 else fold_size(self._groups[-box - 1][0].label)

    def _step(self, box: int) -> int:
        steps = self._engine.steps
        return steps[box] if box > 0 else min(steps[node] for node in self._groups[-box - 1][0].members)


def _ports(
    kept: Sequence[int], links: Iterable[tuple[int, int]], outside: set[int] | frozenset[int]
) -> dict[int, Rank]:
    """Which boxes are ports and at which end: leaves drawn again beside every user are none."""
    drawn = Counter(kept)
    targets = {target for _, target in links}
    return {
        i: "first" if i in targets else "last"
        for i, box in enumerate(kept)
        if box in outside and drawn[box] == 1
    }


def _that_fit(parts: Sequence[tuple[list[int], list[Group]]], most: int) -> list[int]:
    """Indices of the parts whose boxes fit: from both ends inwards. Of a first that is too large, some."""
    chosen: list[int] = []
    left = most
    for turn in range(len(parts)):
        at = turn // 2 if turn % 2 == 0 else len(parts) - 1 - turn // 2
        members, groups = parts[at]
        boxes = len(members) - sum(len(group.members) - 1 for group in groups)
        if boxes > left and chosen:
            break
        left -= boxes
        chosen.append(at)
    return sorted(chosen)
