"""The leaves that a gradient flows to from a node, nearest first; known once for each node. Of
very many, the nearest.

A long chain asks for them at every step: what a node leads to is made from what its next functions lead to.
"""

from collections.abc import Mapping
from itertools import islice

from ..schema import GraphNode

_MOST = 400
"""Leaves that are told of a node: the nearest."""

_MOST_IN_ALL = 500_000
"""Entries that are kept; then a node has the nearest `_FEW`."""

_FEW = 20


class Leaves:
    """Leaf tensors behind each node of a graph."""

    def __init__(self, nodes: Mapping[int, GraphNode]) -> None:
        self._nodes = nodes
        self._known: dict[int, dict[int, int]] = {}
        """Node → leaf tensor → how many edges away, nearest first."""
        self._kept = 0

    def behind(self, node: int) -> dict[int, int]:
        """Leaf tensors behind a node, itself included, each with its distance in edges, nearest first."""
        known, nodes = self._known, self._nodes
        todo = [node]
        begun: set[int] = set()
        while todo:
            now = todo[-1]
            if now in known or now not in nodes:
                todo.pop()
                continue
            begun.add(now)
            following = [n for n, _ in nodes[now].next_functions if n is not None and n in nodes]
            # A graph has no cycle; a reply that was forged may say it has.
            waiting = [n for n in following if n not in known and n not in begun]
            if waiting:
                todo.extend(waiting)
                continue
            todo.pop()
            most = _MOST if self._kept < _MOST_IN_ALL else _FEW
            known[now] = self._joined(now, following, most)
            self._kept += len(known[now])
        return known.get(node, {})

    def _joined(self, node: int, following: list[int], most: int) -> dict[int, int]:
        variable = self._nodes[node].variable
        own = [] if variable is None else [(variable, 0)]
        if not own and len(following) == 1:
            only = self._known.get(following[0], {})
            return {leaf: distance + 1 for leaf, distance in islice(only.items(), most)}
        behind = (self._known.get(n, {}) for n in dict.fromkeys(following))
        found = own + [(leaf, distance + 1) for leaves in behind for leaf, distance in leaves.items()]
        nearest: dict[int, int] = {}
        for leaf, distance in sorted(found, key=lambda each: each[1]):
            nearest.setdefault(leaf, distance)
            if len(nearest) == most:
                break
        return nearest
