"""A trace made searchable: what a tensor, a storage or a name was at any moment.

A moment is a position in the one stream of events: the world as it is before that event. `replay`
folds a trace up to a step; here any fact can be asked for at any moment without folding again,
which is what finding a cause takes. Says nothing; the modules that do are built on it.
"""

import base64
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from functools import cached_property

from ..schema import (
    Compilation,
    Event,
    ExceptionRaised,
    GraphNode,
    Op,
    Statement,
    Step,
    StorageBytes,
    TensorState,
    TensorTrait,
    TensorView,
    Trace,
    op_of,
)
from ..schema.origins import Origins
from ..schema.traits import traits_of
from .leaves import Leaves
from .overlaps import overlaps
from .timeline import Timeline
from .variables import Variables

_EXPORTS = frozenset(
    {
        "numpy",
        "__array__",
        "asarray",
        "as_tensor",
        "frombuffer",
        "from_dlpack",
        "__dlpack__",
        "share_memory_",
        "untyped_storage",
        "data_ptr",
    }
)
"""API calls that give memory of a tensor to something that is no tensor, or the other way round."""

_MOST_EVENTS_READ = 200_000
_EVENTS_ALWAYS_READ = 200
_LONGEST_CHAIN = 1000


class Chronicle:
    """A trace with indices into its events. Steps are numbered from 1."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.events: list[Event] = []
        self.ends = [0]
        """Moment at which each step ended; `ends[0]` is the beginning."""
        self.tensors: dict[int, Timeline[TensorState | None]] = {}
        self.bytes: dict[int, Timeline[StorageBytes]] = {}
        self.storage_born: dict[int, int] = {}
        self.storage_span: dict[int, tuple[int, int]] = {}
        """First address and the one after the last, as last told; two storages may lie over one memory."""
        self.storage_sizes: dict[int, Timeline[int]] = {}
        self._addresses: dict[int, Timeline[str]] = {}
        self.storage_device: dict[int, str] = {}
        self.storage_freed: dict[int, int] = {}
        self.on_storage: dict[int, dict[int, None]] = {}
        self.nodes: dict[int, GraphNode] = {}
        self.node_born: dict[int, int] = {}
        self.made_by: dict[int, list[int]] = {}
        """Tensor id → numbers of the ops that returned it without having been given it."""
        self._traits: dict[int, Timeline[tuple[TensorTrait, ...]]] = {}
        self.exports: dict[int, Timeline[str]] = {}
        """Tensor id → API calls that shared its memory."""
        self._op_views: dict[int, Timeline[int]] = {}
        self.grad_of: dict[int, dict[int, None]] = {}
        self.devices: Timeline[tuple[str, ...]] = Timeline()
        """Devices that hold storages."""
        self._on_device: dict[str, int] = {}
        self._variables = Variables()
        self._frames: dict[int, tuple[int, int | None]] = {0: (-1, None)}
        self._affordable = _MOST_EVENTS_READ
        self._special: list[int] = []
        self.compilations: dict[str, Compilation] = {}
        """By their ids."""
        self.lost_sight: dict[int, int] = {}
        """Number of a step → moment at which the program took the trace function away in it."""
        for step in trace.steps:
            for event in step.events:
                self._index(len(self.events), event)
                self.events.append(event)
            self.ends.append(len(self.events))

    def _index(self, number: int, event: Event) -> None:
        match event.kind:
            case "tensor":
                self.tensors.setdefault(event.id, Timeline()).put(number, event)
                if event.storage is not None:
                    self.on_storage.setdefault(event.storage, {})[event.id] = None
                if event.grad is not None:
                    self.grad_of.setdefault(event.grad, {})[event.id] = None
            case "traits":
                self._traits.setdefault(event.tensor, Timeline()).put(number, event.traits)
            case "gone":
                for tensor in event.tensors:
                    self.tensors.setdefault(tensor, Timeline()).put(number, None)
            case "storage":
                start = int(event.address, 16)
                self.storage_span[event.id] = (start, start + event.nbytes)
                if event.id not in self.storage_born:
                    self._count_device(number, event.device, 1)
                self.storage_born.setdefault(event.id, number)
                self.storage_sizes.setdefault(event.id, Timeline()).put(number, event.nbytes)
                self._addresses.setdefault(event.id, Timeline()).put(number, event.address)
                self.storage_device[event.id] = event.device
            case "bytes":
                self.bytes.setdefault(event.storage, Timeline()).put(number, event)
            case "freed":
                for storage in event.storages:
                    self.storage_freed[storage] = number
                    self._count_device(number, self.storage_device.get(storage, "cpu"), -1)
            case "node":
                self.nodes[event.id] = event
                self.node_born.setdefault(event.id, number)
            case "op":
                site = self.trace.sites[event.site]
                if site.api is not None:
                    self._index_export(number, site.api, (*event.inputs, *event.outputs))
                for output, verdict, view in zip(event.outputs, site.verdicts, site.views, strict=False):
                    self._op_views.setdefault(output, Timeline()).put(number, view)
                    if verdict in ("fresh", "view"):
                        self.made_by.setdefault(output, []).append(number)
            case "api":
                self._index_export(number, event.api, (*event.inputs, *event.outputs))
            case "names":
                self._variables.put(number, event)
            case "call":
                self._frames[event.frame] = (number, None)
            case (
                "block-left"
                | "resumed"
                | "exception"
                | "thread"
                | "process"
                | "ops-unheard"
                | "tracing-off"
                | "entries"
                | "compiled"
                | "compiled-run"
            ):
                if event.kind == "compiled":
                    self.compilations[event.id] = event
                self._special.append(number)
                if event.kind == "tracing-off":
                    self.lost_sight[len(self.ends)] = number
            case "return":
                self._frames[event.frame] = (self._frames.get(event.frame, (-1, None))[0], number)

    def _index_export(self, number: int, api: int, tensors: tuple[int, ...]) -> None:
        name = self.trace.names[api]
        if name in _EXPORTS:
            for tensor in tensors:
                self.exports.setdefault(tensor, Timeline()).put(number, name)

    def _count_device(self, number: int, device: str, change: int) -> None:
        before = self._on_device.get(device, 0)
        self._on_device[device] = before + change
        if (before == 0) != (before + change == 0):
            self.devices.put(number, tuple(sorted(d for d, n in self._on_device.items() if n)))

    def affordable(self, begin: int, end: int) -> int:
        """Where to begin reading a step's events, `begin` but in deep recursion: there each of a thousand
        steps holds the events of all inside it, and reading them all would take seconds."""
        begin = max(begin, end - max(self._affordable, _EVENTS_ALWAYS_READ))
        self._affordable -= end - begin
        return begin

    @property
    def end(self) -> int:
        """The moment after the last event."""
        return len(self.events)

    def step_at(self, event: int) -> int:
        """Number of the step during which event number `event` was observed: the innermost one."""
        return bisect_right(self.ends, event)

    def statement(self, step: int) -> Statement:
        """The statement that step number `step` executed."""
        return self.trace.statements[self.trace.steps[step - 1].statement]

    def line_of_step(self, step: int) -> int:
        """First line of the statement of a step."""
        return self.statement(step).range.line

    @cached_property
    def circumstances(self) -> dict[int, list[Event]]:
        """Number of a step → what is special about it. Few steps have anything."""
        found: dict[int, list[Event]] = {}
        for number in self._special:
            step = self.step_at(number)
            while step <= len(self.trace.steps) and self.step(step).first_event > number:
                step += 1  # it was observed within a call that this step did not make
            found.setdefault(min(step, len(self.trace.steps)), []).append(self.events[number])
        return found

    def ends_the_program(self, raised: ExceptionRaised) -> bool:
        """The exception is the one that ended the program."""
        return raised is self._fatal

    @cached_property
    def _fatal(self) -> ExceptionRaised | None:
        outcome = self.trace.outcome
        if outcome.kind != "raised":
            return None
        for number in reversed(self._special):
            event = self.events[number]
            if event.kind != "exception" or event.type != outcome.type:
                continue
            line = None if event.range is None else self.trace.ranges[event.range].line
            if line in (None, outcome.line):
                return event
        return None

    def expression(self, place: int | None) -> str | None:
        """The text of a sub-expression that stands on one line."""
        if place is None:
            return None
        at = self.trace.ranges[place]
        lines = self._lines
        if at.line != at.end_line or at.line > len(lines):
            return None
        return lines[at.line - 1][at.column : at.end_column] or None

    @cached_property
    def _lines(self) -> list[str]:
        return self.trace.source.replace("\r\n", "\n").replace("\r", "\n").split("\n")

    def line_at(self, event: int) -> int | None:
        """First line of the statement during which an event was observed."""
        step = self.step_at(event)
        return self.line_of_step(step) if 1 <= step <= len(self.trace.steps) else None

    def step(self, number: int) -> Step:
        """Step number `number`."""
        return self.trace.steps[number - 1]

    # ---- tensors

    def tensor(self, tensor: int | None, moment: int) -> TensorState | None:
        """State of a tensor; None before it was known and after it was gone."""
        timeline = None if tensor is None else self.tensors.get(tensor)
        return None if timeline is None else timeline.at(moment)

    def last_known(self, tensor: int | None, moment: int) -> TensorState | None:
        """Last state before `moment` of a tensor that may be gone by then."""
        timeline = None if tensor is None else self.tensors.get(tensor)
        if timeline is None:
            return None
        for index in range(bisect_left(timeline.moments, moment) - 1, -1, -1):
            if (state := timeline.values[index]) is not None:
                return state
        return None

    def view(self, tensor: int | None, moment: int) -> TensorView | None:
        """How a tensor looked at its storage; of one that is gone, how it last did."""
        state = self.last_known(tensor, moment)
        return None if state is None else self.trace.views[state.view]

    def traits(self, tensor: int, moment: int) -> tuple[TensorTrait, ...]:
        """What is worth saying of a live tensor beside its view."""
        state = self.tensor(tensor, moment)
        if state is None:
            return ()
        return traits_of(self.trace.views[state.view], state.quantizer, self.recorded_traits(tensor, moment))

    def recorded_traits(self, tensor: int, moment: int) -> tuple[TensorTrait, ...]:
        """Those of them that the trace tells of; of a saved number as well."""
        timeline = self._traits.get(tensor)
        return (timeline.at(moment) or ()) if timeline else ()

    def scalar(self, tensor: int | None) -> str | None:
        """The number a saved tensor was made from; None when it was a tensor all along."""
        if tensor is None:
            return None
        told = self.recorded_traits(tensor, self.end)
        return next((str(trait.args["value"]) for trait in told if trait.id == "scalar"), None)

    def exported(self, storage: int, moment: int) -> tuple[int, str] | None:
        """Number of the event, and the API call, that first gave a storage's memory away."""
        found = []
        for tensor in self.on_storage.get(storage, ()):
            timeline = self.exports.get(tensor)
            if timeline is not None and timeline.moments[0] < moment:
                found.append((timeline.moments[0], timeline.values[0]))
        return min(found, default=None)

    def shape(self, tensor: int | None, moment: int) -> TensorView | None:
        """How a tensor looked at its storage, of one without a name as the op that made it gave it: its
        shape, strides and dtype can be trusted, whether it requires grad cannot."""
        known = self.view(tensor, moment)
        timeline = None if tensor is None or known is not None else self._op_views.get(tensor)
        index = None if timeline is None else timeline.at(moment)
        return known if index is None else self.trace.views[index]

    def memory(self, tensor: int, moment: int) -> int | None:
        """The storage a tensor views. Of one without a name what its op says: the storage of the input it
        is a view of, or a negative number for a storage of its own; None when nothing is known."""
        for _ in range(_LONGEST_CHAIN):
            state = self.last_known(tensor, moment)
            if state is not None:
                return state.storage
            made = self.maker(tensor, moment)
            if made is None:
                return None
            op = self.op(made)
            if op.verdicts[op.outputs.index(tensor)] == "fresh":
                return -1 - made
            if not op.inputs:
                return None
            tensor = op.inputs[0]
        return None

    def born(self, tensor: int) -> int | None:
        """Number of the event by which a tensor came to be known."""
        timeline = self.tensors.get(tensor)
        return timeline.moments[0] if timeline else None

    def tensors_on(self, storage: int, moment: int) -> list[int]:
        """Live tensors that view a storage, in the order they came to be known."""
        found = []
        for tensor in self.on_storage.get(storage, ()):
            state = self.tensor(tensor, moment)
            if state is not None and state.storage == storage:
                found.append(tensor)
        return found

    def op(self, event: int) -> Op:
        """The op recorded by event number `event`."""
        found = self.events[event]
        assert found.kind == "op"
        return op_of(self.trace, found)

    def op_name(self, op: Op) -> str:
        """`aten::mul_.Tensor`."""
        return self.trace.names[op.op]

    def maker(self, tensor: int, moment: int) -> int | None:
        """Number of the last op before `moment` that made a tensor."""
        before = [n for n in self.made_by.get(tensor, ()) if n < moment]
        return before[-1] if before else None

    # ---- storages

    def storage_bytes(self, storage: int, moment: int) -> bytes | None:
        """Bytes of a storage, when they were recorded."""
        timeline = self.bytes.get(storage)
        event = None if timeline is None else timeline.at(moment)
        return None if event is None or event.data is None else base64.b64decode(event.data)

    def nbytes(self, storage: int, moment: int) -> int:
        """Size of a storage."""
        timeline = self.storage_sizes.get(storage)
        return (timeline.at(moment) or 0) if timeline else 0

    def address(self, storage: int, moment: int) -> str | None:
        """Address of a storage."""
        timeline = self._addresses.get(storage)
        return timeline.at(moment) if timeline else None

    def over(self, storage: int, moment: int) -> int | None:
        """An older storage that lies over the same memory: NumPy and DLPack make such."""
        born = self.storage_born
        older = (s for s in self.overlapping(storage, moment) if born[s] < born[storage])
        return next(older, None)

    def overlapping(self, storage: int, moment: int) -> list[int]:
        """Other storages that lie over the same memory."""
        return [other for other in self._overlaps.get(storage, ()) if self.alive(other, moment)]

    @cached_property
    def _overlaps(self) -> dict[int, list[int]]:
        return overlaps(self.storage_span, self.storage_born, self.storage_freed, self.end)

    def alive(self, storage: int, moment: int) -> bool:
        """A storage is known and its bytes are there."""
        return self.storage_born.get(storage, self.end) < moment <= self.storage_freed.get(storage, self.end)

    # ---- names

    def bindings(self, frame: int, moment: int) -> dict[str, int]:
        """Names of a frame, in the order their variables were first bound, each with its live tensor."""
        if not self._in_frame(frame, moment):
            return {}
        found: dict[str, int] = {}
        for paths in self._variables.of(frame, moment):
            found.update((p, t) for p, t in paths.by_name.items() if self.tensor(t, moment) is not None)
        return found

    def names(self, tensor: int, moment: int, frame: int = 0) -> list[str]:
        """The reader's expressions for a tensor: those of `frame`, then global ones; `w.grad` last."""
        found: dict[str, None] = {}
        for owner in dict.fromkeys((frame, 0)):
            if self._in_frame(owner, moment):
                for paths in self._variables.leading_to(tensor, owner, moment):
                    found.update(dict.fromkeys(paths.by_tensor.get(tensor, ())))
        for owner_tensor in self.grad_of.get(tensor, ()):
            state = self.tensor(owner_tensor, moment)
            if state is not None and state.grad == tensor:
                name = self.name(owner_tensor, moment, frame)
                if name is not None:
                    found[f"{name}.grad"] = None
        return list(found)

    def name(self, tensor: int, moment: int, frame: int = 0) -> str | None:
        """One expression for a tensor, a short one."""
        return min(self.names(tensor, moment, frame), key=_length, default=None)

    def names_on(self, storage: int, moment: int, frame: int = 0) -> list[str]:
        """A short name of each named tensor that views a storage."""
        found = (self.name(tensor, moment, frame) for tensor in self.tensors_on(storage, moment))
        return list(dict.fromkeys(name for name in found if name is not None))

    def _in_frame(self, frame: int, moment: int) -> bool:
        entered, left = self._frames.get(frame, (-1, None))
        return entered < moment and (left is None or moment <= left)

    # ---- autograd

    @cached_property
    def had_grads(self) -> dict[int, None]:
        """Tensors that had a gradient at some moment."""
        return {owner: None for owners in self.grad_of.values() for owner in owners}

    def node_name(self, node: int | None) -> str:
        """`MulBackward0`."""
        found = None if node is None else self.nodes.get(node)
        return "?" if found is None else self.trace.names[found.name]

    def reachable(self, roots: Iterable[int | None]) -> dict[int, None]:
        """Ids of the nodes that gradients flow to from `roots`, themselves included, nearest first."""
        seen: dict[int, None] = {}
        todo = [root for root in roots if root is not None]
        for node in todo:
            if node in seen or node not in self.nodes:
                continue
            seen[node] = None
            todo.extend(n for n, _ in self.nodes[node].next_functions if n is not None)
        return seen

    def leaves(self, roots: Iterable[int | None]) -> list[int]:
        """Ids of the leaf tensors that gradients flow to from `roots`, nearest first."""
        behind = (self._leaves.behind(root) for root in roots if root is not None)
        found = sorted(((leaf, far) for leaves in behind for leaf, far in leaves.items()), key=lambda f: f[1])
        return list(dict.fromkeys(leaf for leaf, _ in found))

    @cached_property
    def _leaves(self) -> Leaves:
        return Leaves(self.nodes)

    @cached_property
    def origins(self) -> Origins:
        """What made tensors without a name."""
        return Origins(self.trace)

    @cached_property
    def requires_grad_anywhere(self) -> int:
        """Moment from which some tensor requires grad; the end when none ever does."""
        moments = [
            moment
            for timeline in self.tensors.values()
            for moment, state in zip(timeline.moments, timeline.values, strict=True)
            if state is not None and self.trace.views[state.view].requires_grad
        ]
        return min(moments, default=self.end)


def _length(name: str) -> tuple[int, str]:
    return len(name), name
