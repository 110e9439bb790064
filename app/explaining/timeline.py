"""Values that hold from one moment of a trace to the next. What the values are of is not known here."""

from bisect import bisect_left
from collections.abc import Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class Timeline(Generic[T]):
    """Values with the moment from which each holds."""

    def __init__(self) -> None:
        self.moments: list[int] = []
        self.values: list[T] = []

    def put(self, event: int, value: T) -> None:
        """Record what event number `event` said."""
        self.moments.append(event)
        self.values.append(value)

    def at(self, moment: int) -> T | None:
        """What the last event before `moment` said; None when none had."""
        index = bisect_left(self.moments, moment)
        return self.values[index - 1] if index else None

    def between(self, begin: int, end: int) -> Iterator[tuple[int, T]]:
        """Events from `begin` to before `end`, with their numbers."""
        for i in range(bisect_left(self.moments, begin), bisect_left(self.moments, end)):
            yield self.moments[i], self.values[i]
