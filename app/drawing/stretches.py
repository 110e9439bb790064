"""Stretches: a part of the graph that is still long once modules and chains are folded, cut along its lines.

A thousand operations of different kinds have no module and no row of one kind, and nobody reads a picture of
a thousand boxes. Here what is left is put in the order it was computed in, and cut where a loop begins again
or else between two lines. A piece of such an order never lies both before and behind another one, so that
every piece can stand behind one box. Nothing is placed here.
"""

from collections.abc import Mapping
from heapq import heapify, heappop, heappush
from math import isqrt

from .folding import Group, Item

_FEWEST = 12
"""Boxes that a stretch has at least, if there are so many."""

Units = list[list[int]]


def stretches(part: Mapping[int, Item], groups: list[Group], most: int) -> list[Group]:
    """The groups of a part, or stretches of them where more than `most` boxes would be left.

    Args:
        part: Nodes by id.
        groups: The modules and chains found in it.
        most: Boxes above which it is cut.
    """
    if len(part) - sum(len(group.members) - 1 for group in groups) <= most:
        return groups
    units = [group.members for group in groups]
    grouped = {node for unit in units for node in unit}
    leaves = [node for node, item in part.items() if item.leaf and node not in grouped]
    units += [[node] for node, item in part.items() if not item.leaf and node not in grouped]
    order = _in_order(units, part)
    if len(order) < len(units):  # a circle, only in a forged trace
        return groups
    size = max(_FEWEST, isqrt(len(units)))
    found: list[Group] = []
    home: dict[int, int] = {}
    for piece in _pieces(order, part, size):
        nodes = [node for unit in piece for node in unit]
        inside = set(nodes)
        home.update(dict.fromkeys(nodes, len(found)))
        below = [group for group in groups if group.members[0] in inside]
        found.append(Group("lines", _label(nodes, part), nodes, below))
    _take_in(leaves, found, home, part)
    return found


def _in_order(units: Units, part: Mapping[int, Item]) -> Units:
    """Units after all that their gradients flow to, the oldest first where there is a choice."""
    of = {node: i for i, unit in enumerate(units) for node in unit}
    behind: list[set[int]] = [set() for _ in units]
    users: list[set[int]] = [set() for _ in units]
    for node, i in of.items():
        for target in part[node].targets:
            j = of.get(target, i)
            if j != i:
                behind[i].add(j)
                users[j].add(i)
    left = [len(each) for each in behind]
    ready = [(min(unit), i) for i, unit in enumerate(units) if not left[i]]
    heapify(ready)
    order: Units = []
    while ready:
        _, i = heappop(ready)
        order.append(units[i])
        for user in users[i]:
            left[user] -= 1
            if not left[user]:
                heappush(ready, (min(units[user]), user))
    return order


def _pieces(order: Units, part: Mapping[int, Item], size: int) -> list[Units]:
    """Cut where a line is gone back to, once a piece is half as long as wanted; else between two lines."""
    pieces: list[Units] = [[]]
    before = 0
    for unit in order:
        line = part[unit[0]].line or before
        count = len(pieces[-1])
        again = line < before and 2 * count >= size
        if again or (count >= size and line != before) or 2 * count >= 3 * size:
            pieces.append([])
        pieces[-1].append(unit)
        before = line
    return pieces


def _take_in(
    leaves: list[int], found: list[Group], home: Mapping[int, int], part: Mapping[int, Item]
) -> None:
    """A leaf stands in the stretch that all its users are in."""
    users: dict[int, set[int]] = {}
    for node, item in part.items():
        for target in item.targets:
            users.setdefault(target, set()).add(home.get(node, -1))
    for leaf in leaves:
        homes = users.get(leaf, set())
        if len(homes) == 1 and (only := next(iter(homes))) >= 0:
            found[only].members.append(leaf)


def _label(nodes: list[int], part: Mapping[int, Item]) -> str:
    lines = [line for node in nodes if (line := part[node].line) is not None]
    if not lines:
        return ""
    first, last = min(lines), max(lines)
    return str(first) if first == last else f"{first}\u2013{last}"
