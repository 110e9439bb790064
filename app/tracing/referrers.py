"""Who refers to an object, and who to that, up to what the program can name.

The collector's own lists are read: each type's C code tells what it refers to, so no code of the program
runs. What is found is held while the search lasts and let go when it ends. Variables of running frames are
not in those lists; they are given as roots. This module does not know storages (`holders`), nor how a
chain is written (`chains`).

Source: CPython 3.11, Modules/gcmodule.c (`subtract_refs`, `gc_referrers_for`).
"""

import gc
import sys
from collections.abc import Iterable
from typing import Any

MOST_OBJECTS = 2_000
DEEPEST = 24


class Referrers:
    """The objects that lead to some targets. Throw it away before the program goes on: it holds them all.

    Args:
        targets: Where to begin. Emptied: from here on this alone holds them.
        roots: `id` of a namespace → what it is called. Who refers to a namespace is of no interest.
        hidden: Owner and owned of which the collector knows nothing, being C++.
    """

    def __init__(
        self, targets: list[Any], roots: dict[int, str], hidden: Iterable[tuple[Any, Any]] = ()
    ) -> None:
        self._objects: dict[int, Any] = {id(t): t for t in targets}
        targets.clear()
        self._above: dict[int, list[int]] = {}
        """`id` of an object → of those that refer to it."""
        self._roots = roots
        self._seen_roots: dict[int, Any] = {}
        self._hidden: dict[int, list[Any]] = {}
        for owner, owned in hidden:
            self._hidden.setdefault(id(owned), []).append(owner)
        self.looked_at = 0
        """Objects the collector looked at."""
        self.complete = self._search(list(self._objects.values()))
        self._hidden.clear()

    def _search(self, frontier: list[Any]) -> bool:
        """Find all; False when it was cut short."""
        ours = {id(x) for x in (self._objects, self._hidden, self._seen_roots, frontier)}
        ours.update(id(owners) for owners in self._hidden.values())
        tracked = sum(gc.get_count()) + len(gc.get_objects())
        for _ in range(DEEPEST):
            if not frontier:
                return True
            parents = gc.get_referrers(*frontier)
            self.looked_at += tracked
            above: list[Any] = []
            wanted = {id(x) for x in frontier}
            for parent in parents:
                if id(parent) not in ours:
                    found = [key for child in gc.get_referents(parent) if (key := id(child)) in wanted]
                    self._add(parent, dict.fromkeys(found), above)
            parents.clear()
            for child in wanted:
                for owner in self._hidden.get(child, ()):
                    self._add(owner, (child,), above)
            if len(self._objects) > MOST_OBJECTS:
                return False
            frontier[:] = above
            above.clear()
        return not frontier

    def _add(self, parent: Any, children: Iterable[int], above: list[Any]) -> None:
        for key in children:
            self._above.setdefault(key, []).append(id(parent))
        if id(parent) in self._roots:
            self._seen_roots[id(parent)] = parent
        elif id(parent) not in self._objects:
            self._objects[id(parent)] = parent
            above.append(parent)

    def chains(self, target: int, most: int) -> list[tuple[str, list[Any]]]:
        """Ways from a root down to the target of this `id`: what the root is called and the objects, the
        namespace first; shortest first, none through an object twice."""
        found: list[tuple[str, list[Any]]] = []
        below: dict[int, int] = {}
        seen, todo = {target}, [target]
        for key in todo:
            for parent in self._above.get(key, ()):
                if parent in self._seen_roots:
                    found.append((self._roots[parent], [self._seen_roots[parent], *self._down(key, below)]))
                    if len(found) == most:
                        return found
                elif parent not in seen:
                    seen.add(parent)
                    below[parent] = key
                    todo.append(parent)
        return found

    def ends(self, target: int) -> list[list[Any]]:
        """Ways down from objects that nothing found refers to."""
        below: dict[int, int] = {}
        seen, todo, found = {target}, [target], []
        for key in todo:
            parents = self._above.get(key, ())
            if not parents:
                found.append(self._down(key, below))
            for parent in parents:
                if parent not in seen and parent in self._objects:
                    seen.add(parent)
                    below[parent] = key
                    todo.append(parent)
        return found

    def _down(self, key: int, below: dict[int, int]) -> list[Any]:
        way = [self._objects[key]]
        while key in below:
            key = below[key]
            way.append(self._objects[key])
        return way

    def only_each_other(self, targets: list[int]) -> bool:
        """All references to the targets, and to whatever leads to them, come from among these objects.

        Then only the collector will free them: it is the sum that the collector does. C++ counts as a
        reference too: PyTorch gives a tensor that C++ keeps one more.
        """
        family: dict[int, None] = {}
        todo = list(targets)
        for key in todo:
            if key in family:
                continue
            family[key] = None
            parents = self._above.get(key, [])
            if any(parent in self._seen_roots for parent in parents):
                return False
            todo.extend(parents)
        inside = dict.fromkeys(family, 0)
        for key in family:
            for child in gc.get_referents(self._objects[key]):
                if id(child) in inside:
                    inside[id(child)] += 1
        child = None
        # One reference is ours, one the argument.
        return self.complete and all(sys.getrefcount(self._objects[key]) - 2 <= inside[key] for key in family)
