"""Which storages ever lay over the same memory at the same time: found once, in the order of time."""

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Mapping

Span = tuple[int, int]
"""First address and the one behind the last; (0, 0) where there is none."""


def overlaps(
    spans: Mapping[int, Span], born: Mapping[int, int], freed: Mapping[int, int], end: int
) -> dict[int, list[int]]:
    """Pair the storages whose lives and addresses meet.

    Args:
        spans: Addresses of each storage.
        born: When it appeared.
        freed: When its bytes went; a storage that is not here lives to the end.
        end: The last moment.

    Returns:
        Storage → the others over its memory, in the order of `spans`.

    >>> overlaps({1: (16, 32), 2: (24, 40), 3: (16, 32)}, {1: 0, 2: 1, 3: 5}, {1: 3}, 9)
    {1: [2], 2: [1, 3], 3: [2]}
    """
    events = []
    for storage, (first, behind) in spans.items():
        begin, gone = born.get(storage, end), freed.get(storage, end)
        if 0 < first < behind and begin < gone:
            events.append((begin, 1, storage))
            events.append((gone, 0, storage))  # what ends at a moment ends before what begins at it
    alive: list[tuple[int, int, int]] = []
    longest = 0
    found: dict[int, list[int]] = defaultdict(list)
    for _, begins, storage in sorted(events):
        first, behind = spans[storage]
        if not begins:
            del alive[bisect_left(alive, (first, behind, storage))]
            continue
        longest = max(longest, behind - first)
        for place in range(bisect_left(alive, (behind,)) - 1, -1, -1):
            other_first, other_behind, other = alive[place]
            if other_first <= first - longest:
                break
            if other_behind > first:
                found[storage].append(other)
                found[other].append(storage)
        insort(alive, (first, behind, storage))
    order = {storage: place for place, storage in enumerate(spans)}
    return {s: sorted(others, key=order.__getitem__) for s, others in sorted(found.items())}
