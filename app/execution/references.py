"""Checks that what a chunk refers to exists.

A chunk that parses can still point past a table or at a storage never mentioned.
The tracer does not write such chunks, but a program may forge one; all later code
(replay, explanations, drawings) may then rely on every reference.
"""

from collections.abc import Sequence

from ..errors import ReplyInvalid
from ..schema import Closing, Event, OpSite, Step, Steps, TensorView
from ..schema.replay import World

_MOST_DIMENSIONS = 128
"""Most PyTorch ops end at 64, but larger tensors can be made; nested lists of many more exhaust the stack."""


class References:
    """The tables of one trace so far, and the world its events describe."""

    def __init__(self, statements: int) -> None:
        self._statements = statements
        self._names = self._views = self._ranges = 0
        self._sites: list[OpSite] = []
        self._steps = self._events = 0
        self._world = World()

    def check(self, chunk: Steps) -> None:
        """Take the next steps into account.

        Raises:
            ReplyInvalid: A reference leads nowhere. The chunk must then be dropped whole.
        """
        self._names += len(chunk.names)
        self._ranges += len(chunk.ranges)
        for view in chunk.views:
            _require(_is_plausible(view), "a view")
        self._views += len(chunk.views)
        for site in chunk.sites:
            self._check_site(site)
        self._sites += chunk.sites
        for step in chunk.steps:
            self._check_step(step)
        _require(chunk.running is None or 0 <= chunk.running < self._statements, "a statement")

    def check_last(self, chunk: Closing) -> None:
        """Take the events of the last chunk into account. Raises as `check` does."""
        self._check_events(chunk.events)

    def _check_step(self, step: Step) -> None:
        _require(0 <= step.statement < self._statements, "a statement")
        _require(0 <= step.began <= self._steps, "a step")
        self._check_events(step.events)
        _require(0 <= step.first_event <= self._events, "an event")
        self._steps += 1

    def _check_events(self, events: Sequence[Event]) -> None:
        for event in events:
            self._check_event(event)
        self._events += len(events)
        # Now, not event by event: a tensor may be told before its storage in the same step.
        for event in events:
            if event.kind == "tensor" and event.storage is not None:
                _require(event.storage in self._world.storages, "a storage")

    def _check_site(self, site: OpSite) -> None:
        self._name(site.op, site.api, site.node)
        self._range(site.range)
        _require(all(0 <= view < self._views for view in site.views), "a view")
        _require(len(site.views) == len(site.verdicts), "an output")
        _require(all(i >= 0 for i in site.writes), "an input")

    def _check_event(self, event: Event) -> None:
        match event.kind:
            case "op":
                _require(0 <= event.site < len(self._sites), "a site")
                site = self._sites[event.site]
                _require(len(event.outputs) == len(site.views), "an output")
                _require(all(i < len(event.inputs) for i in site.writes), "an input")
            case "api":
                self._name(event.api)
                self._range(event.range)
            case "node":
                self._name(event.name)
            case "exception":
                self._range(event.range)
            case "inside":
                _require(0 <= event.site < len(self._sites), "a site")
            case "tensor":
                _require(0 <= event.view < self._views, "a view")
            case _:
                pass
        try:
            self._world.apply(event)
        except (LookupError, ValueError) as e:
            raise ReplyInvalid(f"an event of kind {event.kind!r} cannot be replayed") from e

    def _name(self, *indices: int | None) -> None:
        for index in indices:
            _require(index is None or 0 <= index < self._names, "a name")

    def _range(self, index: int | None) -> None:
        _require(index is None or 0 <= index < self._ranges, "a range")


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise ReplyInvalid(f"it refers to {what} that is not there")


def _is_plausible(view: TensorView) -> bool:
    shape, stride = view.shape, view.stride
    if shape is not None and (len(shape) > _MOST_DIMENSIONS or any(size < 0 for size in shape)):
        return False
    if stride is not None and (shape is None or len(stride) != len(shape) or any(s < 0 for s in stride)):
        return False
    return view.storage_offset is None or view.storage_offset >= 0
