"""What explaining works out once for a whole trace equals what the slow, plain way finds."""

import random

from tensor_anatomy.explaining.leaves import Leaves
from tensor_anatomy.explaining.overlaps import overlaps
from tensor_anatomy.schema import GraphNode


def node(number: int, following: list[int], variable: int | None = None) -> GraphNode:
    return GraphNode.model_construct(
        id=number, next_functions=tuple((n, 0) for n in following), variable=variable
    )


def nearest_first(nodes: dict[int, GraphNode], root: int) -> dict[int, int]:
    """Breadth first, level by level."""
    level, seen, found, far = [root], {root}, {}, 0
    while level:
        for n in level:
            if nodes[n].variable is not None:
                found.setdefault(nodes[n].variable, far)
        following = [m for n in level for m, _ in nodes[n].next_functions if m is not None]
        level = [m for m in dict.fromkeys(following) if m not in seen]
        seen.update(level)
        far += 1
    return found


def test_leaves_are_those_of_a_walk_level_by_level() -> None:
    drawn = random.Random(1)
    for _ in range(200):
        nodes: dict[int, GraphNode] = {}
        for number in range(drawn.randrange(1, 30)):
            following = drawn.sample(range(number), min(number, drawn.randrange(3)))
            nodes[number] = node(number, following, drawn.randrange(6) if not following else None)
        leaves = Leaves(nodes)
        for root in nodes:
            assert leaves.behind(root) == nearest_first(nodes, root)
            far = list(leaves.behind(root).values())
            assert far == sorted(far)


def test_a_chain_of_any_length_needs_no_recursion_and_a_cycle_ends() -> None:
    chain = {n: node(n, [n - 1] if n else [], 7 if n == 0 else None) for n in range(20_000)}
    assert Leaves(chain).behind(19_999) == {7: 19_999}
    assert Leaves({0: node(0, [1]), 1: node(1, [0])}).behind(0) == {}
    assert Leaves({0: node(0, [5])}).behind(0) == {}


def test_storages_overlap_where_lives_and_addresses_meet() -> None:
    drawn = random.Random(2)
    for _ in range(300):
        spans, born, freed = {}, {}, {}
        for storage in range(drawn.randrange(12)):
            first = drawn.choice([0, 16, 32, 48, 64, 80])
            spans[storage] = (first, first + drawn.choice([0, 4, 16, 40]))
            born[storage] = drawn.randrange(8)
            if drawn.random() < 0.7:
                freed[storage] = born[storage] + drawn.randrange(5)
        found = overlaps(spans, born, freed, 20)
        for a, (first, behind) in spans.items():
            plain = [
                b
                for b, (other_first, other_behind) in spans.items()
                if a != b
                and 0 < first < behind
                and 0 < other_first < other_behind
                and other_first < behind
                and first < other_behind
                and max(born[a], born[b]) < min(freed.get(a, 20), freed.get(b, 20))
            ]
            assert found.get(a, []) == plain
