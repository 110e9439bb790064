"""Which nodes of a part of the graph stand behind one box: a module's, or a long row of one kind.

Nodes made during the calls of a module belong together as far as they hang together: a module that is called
twice with something between is two boxes. What would make a circle is not folded, nor what has two nodes.
Nothing is placed here.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from typing import Literal

FEWEST = 3
"""Nodes, leaves included, below which a module is not folded; two that are no leaves are enough."""

SHORTEST_CHAIN = 8
"""Nodes of one kind in a row below which they are not folded."""

_ALL = 0.6
"""A module with more than this share of a part is the program itself: its parts are folded, not it."""


@dataclass(frozen=True)
class Item:
    """A node as folding sees it."""

    name: str
    modules: tuple[str, ...]
    """Labels of the modules during whose calls it was made, outermost first."""
    targets: tuple[int, ...]
    """Nodes of the part that its gradient flows to, each once."""
    leaf: bool
    line: int | None = None
    """First line of the statement that made it."""


@dataclass
class Group:
    """Nodes behind one box, and the groups among them."""

    kind: Literal["module", "chain", "lines"]
    label: str
    members: list[int]
    groups: list["Group"] = field(default_factory=list)


class Patience:
    """How much may be tried to find groups that fold without a circle; nodes that are looked at."""

    def __init__(self, nodes: int = 200_000) -> None:
        self.left = nodes


def groups_of(part: Mapping[int, Item], patience: Patience | None = None) -> list[Group]:
    """The outermost groups of a part, with those inside them.

    Args:
        part: Nodes by id; `targets` outside of it are not looked at.
        patience: Shared by the parts of a graph.
    """
    patience = patience or Patience()
    users: dict[int, list[int]] = {}
    for node, item in part.items():
        for target in item.targets:
            users.setdefault(target, []).append(node)
    homes = {node: _home(node, part, users) for node in part}
    inner = sum(not item.leaf for item in part.values())
    groups = _modules(list(part), 0, homes, part, patience)
    while (
        len(groups) == 1
        and sum(not part[n].leaf for n in groups[0].members) > _ALL * inner
        and groups[0].groups
    ):
        groups = groups[0].groups
    return _with_chains(list(part), groups, part, users, patience)


def contents(members: Iterable[int], groups: list[Group]) -> dict[int, int]:
    """Node → index of the group it stands behind, else -1."""
    home = dict.fromkeys(members, -1)
    for i, group in enumerate(groups):
        home.update(dict.fromkeys(group.members, i))
    return home


def _home(node: int, part: Mapping[int, Item], users: Mapping[int, list[int]]) -> tuple[str, ...]:
    """The modules a node belongs to: for a leaf those that all its users belong to."""
    if not part[node].leaf or not users.get(node):
        return part[node].modules
    common = part[users[node][0]].modules
    for user in users[node][1:]:
        other = part[user].modules
        same = 0
        while same < min(len(common), len(other)) and common[same] == other[same]:
            same += 1
        common = common[:same]
    return common


def _modules(
    members: list[int],
    depth: int,
    homes: Mapping[int, tuple[str, ...]],
    part: Mapping[int, Item],
    patience: Patience,
) -> list[Group]:
    """Groups of the modules called at a depth."""
    by_module: dict[str, list[int]] = {}
    for node in members:
        if len(homes[node]) > depth:
            by_module.setdefault(homes[node][depth], []).append(node)
    groups: list[Group] = []
    for label, inside in by_module.items():
        for together in _connected(inside, part):
            if len(together) < FEWEST and sum(not part[node].leaf for node in together) < FEWEST - 1:
                continue
            below = _modules(together, depth + 1, homes, part, patience)
            if len(below) == 1 and len(below[0].members) == len(together):
                below = below[0].groups
            groups.append(Group("module", label, together, below))
    return _acyclic(members, groups, part, patience)


def _connected(ids: list[int], part: Mapping[int, Item]) -> list[list[int]]:
    """What hangs together. A leaf goes with its users when they do; one of several calls is in none."""
    inside = {i for i in ids if not part[i].leaf}
    root = {i: i for i in inside}

    def find(i: int) -> int:
        while root[i] != i:
            root[i] = root[root[i]]
            i = root[i]
        return i

    users: dict[int, set[int]] = {}
    for i in inside:
        for target in part[i].targets:
            if target in inside:
                a, b = sorted((find(i), find(target)))
                root[b] = a
    for i in inside:
        for target in part[i].targets:
            users.setdefault(target, set()).add(find(i))
    found: dict[int, list[int]] = {}
    for i in ids:
        homes = {find(i)} if i in inside else users.get(i, set())
        if len(homes) == 1:
            found.setdefault(min(homes), []).append(i)
    return list(found.values())


def _acyclic(
    members: list[int], groups: list[Group], part: Mapping[int, Item], patience: Patience
) -> list[Group]:
    """The groups that can be folded together: none of them lies both before and behind another box."""
    groups = list(groups)
    while groups:
        home = contents(members, groups)
        behind: dict[int, set[int]] = {}
        for node in members:
            source = node if home[node] < 0 else -1 - home[node]
            targets = behind.setdefault(source, set())
            for target in part[node].targets:
                if target not in home:
                    continue
                box = target if home[target] < 0 else -1 - home[target]
                if box != source:
                    targets.add(box)
        try:
            TopologicalSorter(behind).prepare()
        except CycleError as error:
            folded = [box for box in error.args[1] if box < 0]
            patience.left -= len(members)
            if not folded or patience.left < 0:  # the first, only in a forged trace
                return []
            groups.pop(-1 - min(folded))
            continue
        return groups
    return groups


def _with_chains(
    members: list[int],
    groups: list[Group],
    part: Mapping[int, Item],
    users: Mapping[int, list[int]],
    patience: Patience,
) -> list[Group]:
    """The groups, here and inside, and the chains among what is in none."""
    for group in groups:
        group.groups = _with_chains(group.members, group.groups, part, users, patience)
    grouped = {node for group in groups for node in group.members}
    free = [node for node in members if node not in grouped]
    here = set(free)
    after: dict[int, int] = {}
    for node in free:
        onward = [t for t in part[node].targets if t not in part or not part[t].leaf]
        if len(onward) == 1 and onward[0] in here:
            target = onward[0]
            if part[target].name == part[node].name and len(users[target]) == 1:
                after[node] = target
    starts = after.keys() - set(after.values())
    chains = []
    for start in sorted(starts):
        chain = [start]
        while chain[-1] in after:
            chain.append(after[chain[-1]])
        if len(chain) >= SHORTEST_CHAIN:
            chains.append(Group("chain", part[start].name, _with_own_leaves(chain, part, users)))
    return _acyclic(members, [*groups, *chains], part, patience)


def _with_own_leaves(chain: list[int], part: Mapping[int, Item], users: Mapping[int, list[int]]) -> list[int]:
    inside = set(chain)
    used = Counter(t for node in chain for t in part[node].targets if t in part and part[t].leaf)
    own = [leaf for leaf in used if all(user in inside for user in users[leaf])]
    return [*chain, *own]
