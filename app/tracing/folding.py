"""Where ended steps go past the limit: iterations of a loop are folded, the first and last three kept.

A loop's iterations are collected one by one in buffers. The last three wait; the one before them is taken
into a summary: per statement one step with what all its executions did, and of the events the last word on
each thing that is left. When the loop is over, summary and waiting iterations go to where the loop stands:
into the iteration of the loop around it, or into the trace. So the state after every kept step stays exact,
and a loop costs no more place than a few iterations. Which iteration runs is not known here (`loops`).
"""

from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

from .changes import LAYERS
from .stream import Event, Stream

KEPT_ITERATIONS = 3
"""Iterations kept at the start and at the end of a loop that is folded."""

_PASSING = frozenset({"op", "api", "transfer", "block-left", "resumed", "ran", "gradient"})
"""Events that say nothing of what is left."""

_KEPT_STEPS = 12
"""Steps kept at the end of a program that repeats itself without a loop."""


class Sink(Protocol):
    """Takes steps in the order they end."""

    steps_ended: int
    event_count: int

    def put(self, step: Event) -> None:
        """A step ended; its events are in it."""


class Buffer:
    """Steps of one iteration. Their positions count from its start."""

    __slots__ = ("event_count", "steps", "steps_ended")

    def __init__(self) -> None:
        self.steps: list[Event] = []
        self.steps_ended = 0
        self.event_count = 0

    def put(self, step: Event) -> None:
        """See `Sink`."""
        self.steps.append(step)
        self.steps_ended += 1
        self.event_count += len(step["events"])

    def pour(self, into: Sink) -> None:
        """Give the steps away, positions moved to where they come to stand."""
        steps, events = into.steps_ended, into.event_count
        for step in self.steps:
            step["began"] += steps
            step["first_event"] += events
            into.put(step)


class Summary:
    """What folded iterations did, all of them together.

    Args:
        first_tensor: Tensors from this id on were made in folded iterations: once gone, they leave no trace.
        first_storage: The same of storages.
    """

    def __init__(self, first_tensor: int, first_storage: int) -> None:
        self._first_tensor = first_tensor
        self._first_storage = first_storage
        self._rows: dict[int, Event] = {}
        self._events: dict[Any, Event] = {}
        self._names: dict[int, list[Any]] = {}
        self._nodes = 0
        self._prune_at = 1000
        self._others = 0

    def take(self, iteration: Buffer) -> None:
        """Union an iteration with those before it."""
        for step in iteration.steps:
            for event in step.pop("events"):
                self._take_event(event)
            self._take_row(step)
        if self._nodes > self._prune_at:
            self._forget_dead_nodes()
            self._prune_at = max(1000, 2 * self._nodes)

    def pour(self, into: Sink, fold: Event) -> None:
        """One step per statement, in the order of their last executions; the last one carries the events."""
        rows = list(self._rows.values())
        if not rows:
            return
        self._forget_dead_nodes()
        last = Buffer()
        for i, row in enumerate(rows):
            row.update(began=i, first_event=0, fold=fold, events=[], again=False)
            if i == len(rows) - 1:
                row["events"] = list(self._events.values())
            last.put(row)
        last.pour(into)

    def _take_row(self, step: Event) -> None:
        statement, again = step["statement"], step.pop("again")
        known = self._rows.pop(statement, None)
        if known is not None:
            step["executions"] = known["executions"] + (0 if again else step["executions"])
            changed = known["changed"]
            for name, changes in step["changed"].items():
                before = changed.get(name)
                if before is None:
                    changed[name] = changes
                elif before != changes:
                    changed[name] = before + [c for c in changes if c not in before]
            step["changed"] = changed
            if step["lamps"] != known["lamps"]:
                lit = {*known["lamps"], *step["lamps"]}
                step["lamps"] = [layer for layer in LAYERS if layer in lit]
            peak = known["peak_bytes"]
            for device, n in step["peak_bytes"].items():
                peak[device] = max(peak.get(device, 0), n)
            step["peak_bytes"] = peak
        self._rows[statement] = step

    def _take_event(self, event: Event) -> None:
        """Keep an event if it is the last word on something that is left.

        An event that replaces another takes its place, so that a storage stays told before its bytes.
        """
        kept, kind = self._events, event["kind"]
        if kind in _PASSING:
            return
        if kind == "tensor" or kind == "storage":
            kept[kind, event["id"]] = event
        elif kind == "bytes" or kind == "held" or kind == "tiles":
            kept[kind, event["storage"]] = event
        elif kind == "values" or kind == "traits":
            kept[kind, event["tensor"]] = event
        elif kind == "gone":
            self._forget(event, "tensors", ("tensor", "values", "traits"), self._first_tensor)
        elif kind == "freed":
            self._forget(event, "storages", ("storage", "bytes", "tiles", "held"), self._first_storage)
        elif kind == "names" or kind == "entries":
            key = (kind, event["frame"], event["path" if kind == "entries" else "root"])
            if key not in kept:
                self._names.setdefault(event["frame"], []).append(key)
            kept[key] = event
        elif kind == "call":
            kept[kind, event["frame"]] = event
        elif kind == "return":
            frame = event["frame"]
            for key in self._names.pop(frame, ()):
                kept.pop(key, None)
            if kept.pop(("call", frame), None) is None:
                kept[kind, frame] = event
        elif kind == "node":
            self._nodes += 1
            kept[kind, event["id"]] = event
        elif kind == "exception":
            kept[kind, event["type"], event["range"]] = event
        elif kind == "thread":
            kept[kind, event["function"]] = event
        elif kind in ("process", "ops-unheard"):
            kept[kind, 0] = event
        elif kind == "saved":
            kept[kind, event["node"], event["slot"]] = event
        else:
            self._others += 1
            kept[kind, self._others] = event

    def _forget(self, event: Event, field: str, kinds: tuple[str, ...], first: int) -> None:
        """Tensors or storages are no more; those that were there before have to be told of."""
        kept = self._events
        for each in event[field]:
            known = kept.pop((kinds[0], each), None)
            for kind in kinds[1:]:
                kept.pop((kind, each), None)
            if each >= first:
                continue
            if field == "storages" and known is not None:
                kept[kinds[0], each] = known  # its last size
            key = (event["kind"], event.get("line"))
            if key in kept:
                kept[key][field].append(each)
            else:
                kept[key] = {**event, field: [each]}

    def _forget_dead_nodes(self) -> None:
        """Leave out the graph nodes that no tensor told of here leads to any more."""
        events = self._events
        nodes = {key[1]: e for key, e in events.items() if key[0] == "node"}
        alive: set[int] = set()
        todo = [e["grad_fn"] for key, e in events.items() if key[0] == "tensor" and e["grad_fn"] is not None]
        while todo:
            node_id = todo.pop()
            if node_id in alive or node_id not in nodes:
                continue
            alive.add(node_id)
            todo.extend(n for n, _ in nodes[node_id]["next_functions"] if n is not None)
        dead = nodes.keys() - alive
        self._nodes = len(alive)
        if not dead:
            return
        saved = {slot["tensor"] for node_id in alive for slot in nodes[node_id]["saved"]}
        kept: dict[Any, Event] = {}
        for key, event in events.items():
            if key[0] in ("node", "saved") and key[1] in dead:
                continue
            if key[0] == "traits" and self._only_saved(key[1]) and key[1] not in saved:
                continue
            if key[0] == "saved-freed":
                left = [n for n in event["nodes"] if n not in dead]
                if not left:
                    continue
                event = {**event, "nodes": left}
            kept[key] = event
        self._events = kept

    def _only_saved(self, tensor: int) -> bool:
        """A tensor made here that no name led to: nobody tells when it goes."""
        return tensor >= self._first_tensor and ("tensor", tensor) not in self._events


class Region:
    """A loop whose iterations are folded, from one of them on.

    Args:
        loop: The statement that heads it; None for calls that one statement makes again and again, and for
            what repeats without either.
        first: Number of the first iteration in it.
        summary: What is folded.
        waiting: How many iterations wait.
    """

    def __init__(
        self, loop: int | None, first: int, summary: Summary, waiting: int = KEPT_ITERATIONS
    ) -> None:
        self.current = Buffer()
        self._loop = loop
        self._first = first
        self._folded = 0
        self._summary = summary
        self._waiting: deque[Buffer] = deque()
        self._most = waiting

    def next(self) -> None:
        """An iteration begins."""
        if not self.current.steps:
            return
        self._waiting.append(self.current)
        self.current = Buffer()
        if len(self._waiting) > self._most:
            self._summary.take(self._waiting.popleft())
            self._folded += 1

    def kept_steps(self) -> list[Event]:
        """The steps of the last iterations."""
        return [step for iteration in (*self._waiting, self.current) for step in iteration.steps]

    def pour(self, into: Sink, *, last_kept: bool) -> None:
        """The loop is over."""
        if not last_kept:
            while self._waiting:
                self._summary.take(self._waiting.popleft())
                self._folded += 1
            if self.current.steps:
                self._summary.take(self.current)
                self._folded += 1
        if self._folded:
            fold = {"loop": self._loop, "first": self._first, "last": self._first + self._folded - 1}
            self._summary.pour(into, fold)
        if last_kept:
            for iteration in (*self._waiting, self.current):
                iteration.pour(into)


class Folding:
    """The loops being folded, each inside the one before it, and where a step that ends goes.

    Args:
        stream: The trace.
        steps_kept: Steps after which iterations are folded.
    """

    def __init__(self, stream: Stream, steps_kept: int) -> None:
        self._stream = stream
        self._steps_kept = steps_kept
        self._most_steps = steps_kept + max(steps_kept // 4, 50)
        self._regions: list[Region] = []
        self._rest: Region | None = None
        self.sink: Sink = stream
        """Where steps that begin or end now stand."""
        self.first_ids: Callable[[], tuple[int, int]] = lambda: (0, 0)
        """Ids the next tensor and the next storage will get."""

    @property
    def wanted(self) -> bool:
        """The limit is reached: what repeats itself is to be folded."""
        return self._stream.steps_ended >= self._steps_kept or self._stream.full()

    @property
    def active(self) -> bool:
        """Something is being folded."""
        return bool(self._regions)

    def open(self, loop: int | None, iteration: int, waiting: int = KEPT_ITERATIONS) -> Region:
        """From this iteration on a loop is folded."""
        region = Region(loop, iteration, Summary(*self.first_ids()), waiting)
        self._regions.append(region)
        self.sink = region.current
        return region

    def next(self, region: Region) -> None:
        """The next iteration of a loop begins; loops inside it are over."""
        if region not in self._regions:
            return  # all was told when the program was stopped, and it goes on
        while self._regions and self._regions[-1] is not region:
            self.close(self._regions[-1])
        region.next()
        self.sink = region.current

    def close(self, region: Region) -> None:
        """A loop is over, and those inside it."""
        while region in self._regions:
            inner = self._regions.pop()
            self.sink = self._regions[-1].current if self._regions else self._stream
            room = self.sink is not self._stream or self._stream.has_room_for(inner.kept_steps())
            inner.pour(self.sink, last_kept=room)

    def end_step(self, step: Event, began_in: Sink | None) -> None:
        """A step ended.

        Args:
            step: The step, its events aside.
            began_in: The sink when it began; None when a limit kept it from beginning.
        """
        stream, sink = self._stream, self.sink
        if began_in is not sink:  # it began in an iteration that is over: what it did before is told there
            step["began"], step["first_event"] = sink.steps_ended, sink.event_count
        step["events"], stream.events = stream.events, []
        sink.put(step)
        if self._rest is not None:
            if self._regions[-1] is self._rest:
                self.next(self._rest)
        elif not self._regions and (stream.steps_ended >= self._most_steps or stream.full()):
            self._rest = self.open(None, 1, _KEPT_STEPS)

    def close_all(self) -> None:
        """The program is over."""
        if self._regions:
            self.close(self._regions[0])
        self._rest = None
