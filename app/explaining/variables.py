"""What each variable of each frame led to at any moment, and which variables ever led to a tensor."""

from collections.abc import Iterator

from ..schema import NamesBound
from .timeline import Timeline


class Paths:
    """What a variable leads to, and the other way round."""

    __slots__ = ("by_name", "by_tensor")

    def __init__(self, paths: dict[str, int]) -> None:
        self.by_name = paths
        self.by_tensor: dict[int, list[str]] = {}
        for path, tensor in paths.items():
            self.by_tensor.setdefault(tensor, []).append(path)


class Variables:
    """The variables of all frames, each from when it was first bound."""

    def __init__(self) -> None:
        self._frames: dict[int, dict[str, Timeline[Paths]]] = {}
        self._order: dict[tuple[int, str], int] = {}
        self._leading: dict[tuple[int, int], dict[str, None]] = {}
        """Frame and tensor → variables that ever led to it."""

    def put(self, number: int, event: NamesBound) -> None:
        """Event number `number` said what a variable leads to."""
        frame = self._frames.setdefault(event.frame, {})
        timeline = frame.get(event.root)
        if timeline is None:
            timeline = frame[event.root] = Timeline()
            self._order[event.frame, event.root] = len(frame)
        timeline.put(number, Paths(event.paths))
        for tensor in event.paths.values():
            self._leading.setdefault((event.frame, tensor), {})[event.root] = None

    def of(self, frame: int, moment: int) -> Iterator[Paths]:
        """What the variables of a frame lead to, in the order they were first bound."""
        for timeline in self._frames.get(frame, {}).values():
            paths = timeline.at(moment)
            if paths is not None:
                yield paths

    def leading_to(self, tensor: int, frame: int, moment: int) -> Iterator[Paths]:
        """The same of the variables alone that ever led to a tensor."""
        found = self._leading.get((frame, tensor), ())
        variables = self._frames.get(frame, {})
        for name in sorted(found, key=lambda name: self._order[frame, name]) if len(found) > 1 else found:
            paths = variables[name].at(moment)
            if paths is not None:
                yield paths
