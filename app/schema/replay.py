"""A trace and a step → the state after it: a pure fold, the reference for every view.

`World` is what events are folded into; `state_document` words it as the state document. The browser
folds the same events the same way (`model/history.ts`). Two things are derived here, not recorded:
which graph nodes are alive (those a live tensor leads to) and who holds a storage.
"""

import base64
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from .autograd import GraphNode
from .base import SCHEMA_VERSION, Layer, NameChange, Sentence
from .state import (
    StateBytes,
    StateDocument,
    StateNode,
    StateNote,
    StateOutcome,
    StateSaved,
    StateStorage,
    StateTensor,
    StateWarning,
)
from .storage import StorageHeld, TensorState, TensorSummary, TensorTrait, TensorView
from .trace import Event, Step, Trace, WarningIssued
from .traits import traits_of
from .values import MOST_ELEMENTS, values_of

UNNAMED_HOLDERS = {
    "cycle": "unreachable until garbage collection",
    "unknown": "something the program's names do not reach",
}
"""Who keeps a storage when no name reaches it."""

MOST_VALUES = 1 << 19
"""Values in one state document. Thousands of tensors can look at one small storage."""

LAYER_ORDER: tuple[Layer, ...] = ("data", "metadata", "autograd", "device")


@dataclass
class StorageNow:
    """A storage, as of a step."""

    nbytes: int
    address: str
    device: str
    data: bytes | None = None
    freed_line: int | None = None
    freed: bool = False


@dataclass
class World:
    """Everything events have said so far. Ids are those of the trace."""

    tensors: dict[int, TensorState] = field(default_factory=dict)
    storages: dict[int, StorageNow] = field(default_factory=dict)
    values: dict[int, tuple[Any, TensorSummary | None]] = field(default_factory=dict)
    traits: dict[int, tuple[TensorTrait, ...]] = field(default_factory=dict)
    nodes: dict[int, GraphNode] = field(default_factory=dict)
    stale: set[tuple[int, int]] = field(default_factory=set)
    saved_freed: set[int] = field(default_factory=set)
    names: dict[int, dict[str, dict[str, int]]] = field(default_factory=lambda: {0: {}})
    functions: dict[int, str] = field(default_factory=dict)
    stdout: list[str] = field(default_factory=list)
    warnings: list[WarningIssued] = field(default_factory=list)
    peak: dict[str, int] = field(default_factory=dict)
    unobserved_storages: set[int] = field(default_factory=set)
    unobserved_tensors: set[int] = field(default_factory=set)
    searched: dict[int, StorageHeld] = field(default_factory=dict)
    first_on: dict[int, int] = field(default_factory=dict)
    """Storage id → the first tensor that looked at it, or that a node saved of it."""

    def show_unobserved(self, trace: Trace, step: int) -> None:
        """Put the contents that nobody watched in the place of those that watching changed."""
        for each in trace.comparison.contents:
            if step < each.since:
                continue
            storage = None if each.storage is None else self.storages.get(each.storage)
            if storage is not None and storage.data is not None and each.data is not None:
                storage.data = base64.b64decode(each.data)
                self.unobserved_storages.add(each.storage or 0)
            elif each.tensor is not None and each.tensor in self.values:
                self.values[each.tensor] = (each.values, None)
                self.unobserved_tensors.add(each.tensor)

    def apply(self, event: Event) -> None:
        """Fold one event."""
        match event.kind:
            case "tensor":
                self.tensors[event.id] = event
                if event.storage is not None:
                    self.first_on.setdefault(event.storage, event.id)
            case "storage":
                known = self.storages.get(event.id)
                if known is None:
                    self.storages[event.id] = StorageNow(event.nbytes, event.address, event.device)
                else:
                    known.nbytes, known.address = event.nbytes, event.address
                    known.device = event.device
            case "bytes":
                data = None if event.data is None else base64.b64decode(event.data)
                self.storages[event.storage].data = data
            case "values":
                self.values[event.tensor] = (event.values, event.summary)
            case "traits":
                self.traits[event.tensor] = event.traits
            case "freed":
                for storage_id in event.storages:
                    storage = self.storages[storage_id]
                    storage.freed, storage.freed_line, storage.data = True, event.line, None
                    self.searched.pop(storage_id, None)
            case "held":
                self.searched[event.storage] = event
            case "gone":
                for tensor_id in event.tensors:
                    self.tensors.pop(tensor_id, None)
                    self.values.pop(tensor_id, None)
                    self.traits.pop(tensor_id, None)
            case "node":
                self.nodes[event.id] = event
                for slot in event.saved:
                    if slot.storage is not None and slot.tensor is not None:
                        self.first_on.setdefault(slot.storage, slot.tensor)
            case "saved":
                (self.stale.add if event.stale else self.stale.discard)((event.node, event.slot))
            case "saved-freed":
                self.saved_freed.update(event.nodes)
            case "names":
                roots = self.names.setdefault(event.frame, {})
                if event.paths:
                    roots[event.root] = event.paths
                else:
                    roots.pop(event.root, None)
            case "call":
                self.names[event.frame] = {}
                self.functions[event.frame] = event.function
            case "return":
                self.names.pop(event.frame, None)
                self.functions.pop(event.frame, None)
            case "stdout":
                self.stdout.append(event.text)
            case "warning":
                self.warnings.append(event)

    def bindings(self, frame: int) -> dict[str, int]:
        """Names of a frame, each with the id of its live tensor."""
        return {
            path: tensor_id
            for paths in self.names.get(frame, {}).values()
            for path, tensor_id in paths.items()
            if tensor_id in self.tensors
        }

    def live_nodes(self) -> set[int]:
        """Ids of the nodes that a live tensor leads to."""
        alive: set[int] = set()
        todo = [t.grad_fn for t in self.tensors.values() if t.grad_fn is not None]
        while todo:
            node_id = todo.pop()
            node = self.nodes.get(node_id)
            if node is None or node_id in alive:
                continue
            alive.add(node_id)
            todo.extend(n for n, _ in node.next_functions if n is not None)
        return alive

    def scalar(self, tensor_id: int | None) -> str | None:
        """The number a saved tensor was made from, as in `w * 2`."""
        traits = () if tensor_id is None else self.traits.get(tensor_id, ())
        return next((str(trait.args.get("value")) for trait in traits if trait.id == "scalar"), None)

    def alive_bytes(self) -> dict[str, int]:
        """Bytes of storages not freed, per device; memory that several storages lie over counts once."""
        alive: dict[str, int] = {}
        reached: dict[str, int] = {}
        living = (s for s in self.storages.values() if not s.freed)
        for start, storage in sorted(((int(s.address, 16), s) for s in living), key=lambda pair: pair[0]):
            end = start + storage.nbytes
            known = reached.get(storage.device, 0) if start else 0
            alive[storage.device] = alive.get(storage.device, 0) + max(0, end - max(start, known))
            reached[storage.device] = max(end, known) if start else known
        return alive

    def peak_bytes(self) -> dict[str, int]:
        """Most bytes alive at once so far, per device; what was made unheard counts from now on."""
        return self.peak | {d: max(n, self.peak.get(d, 0)) for d, n in self.alive_bytes().items()}

    def held_by(self, trace: Trace, live_nodes: set[int]) -> dict[int, list[str]]:
        """Storage id → who keeps it: names, `.grad` of names, graph nodes; else what a search found."""
        holders: dict[int, list[str]] = {}

        def hold(tensor_id: int | None, holder: str) -> None:
            tensor = None if tensor_id is None else self.tensors.get(tensor_id)
            if tensor is not None and tensor.storage is not None:
                holders.setdefault(tensor.storage, []).append(holder)

        for frame in self.names:
            place = "" if frame == 0 else f"{own_name(self.functions.get(frame, '?'))}: "
            for path, tensor_id in self.bindings(frame).items():
                hold(tensor_id, place + path)
                hold(self.tensors[tensor_id].grad, f"{place}{path}.grad")
        for node_id in sorted(live_nodes):
            node = self.nodes[node_id]
            freed = node_id in self.saved_freed
            for slot in node.saved:
                if slot.storage is not None and not (freed and is_released(slot.field)):
                    holder = f"{trace.names[node.name]}#{node_id}.{slot.field}"
                    holders.setdefault(slot.storage, []).append(holder)
            hold(node.variable, f"{trace.names[node.name]}#{node_id}.variable")
        for storage_id, found in self.searched.items():
            if storage_id not in holders:
                holders[storage_id] = list(found.holders) or [UNNAMED_HOLDERS[found.by]]
        return holders

    def values_of(self, tensor_id: int, view: TensorView) -> Any:
        """Values of a tensor as a nested list; None when large, unreadable or not recorded."""
        if tensor_id in self.values:
            return self.values[tensor_id][0]
        storage_id = self.tensors[tensor_id].storage
        if storage_id is None or view.layout != "torch.strided":
            return None
        data = self.storages[storage_id].data
        return None if data is None else values_of(view, data)


def own_name(qualified: str) -> str:
    """A function's name without the functions it is defined in: `add` of `make.<locals>.add`."""
    return qualified.rpartition("<locals>.")[2]


def is_released(field: str) -> bool:
    """Backward releases a saved tensor of this name; an attribute of a custom function's `ctx` stays."""
    return not field.startswith("ctx.")


def step_line(trace: Trace, step: Step) -> int:
    """First line of the statement a step executed."""
    return trace.statements[step.statement].range.line


def sentences_of(trace: Trace, step: int) -> tuple[Sentence, ...]:
    """What is said of a step; nothing before the first, or when nothing was derived."""
    if not 0 < step <= len(trace.said):
        return ()
    return tuple(trace.sentences[i] for i in trace.said[step - 1])


def fold(trace: Trace, step: int) -> World:
    """The world after `step` steps; 0 is before the first.

    Raises:
        IndexError: There is no such step.
    """
    if not 0 <= step <= len(trace.steps):
        raise IndexError(f"There is no step {step}: the trace has steps 0 to {len(trace.steps)}.")
    world = World()
    for each in trace.steps[:step]:
        for event in each.events:
            world.apply(event)
        for device, peak in each.peak_bytes.items():
            world.peak[device] = max(world.peak.get(device, 0), peak)
    world.show_unobserved(trace, step)
    return world


def own_events(trace: Trace) -> Iterator[tuple[Step, list[Event]]]:
    """Each step with its events: its own and those of the calls it made, in order."""
    stream: list[Event] = []
    for step in trace.steps:
        stream.extend(step.events)
        yield step, stream[step.first_event :]


def going_on(trace: Trace) -> set[int]:
    """Numbers of the steps that go on with an earlier execution: to leave a block, after a suspension."""
    found: set[int] = set()
    claimed: set[int] = set()
    for number, (step, own) in enumerate(own_events(trace), 1):
        if not own or step.first_event in claimed:
            continue
        # Of two steps that begin with one event it belongs to the inner one, which ends first.
        claimed.add(step.first_event)
        if own[0].kind in ("block-left", "resumed"):
            found.add(number)
    return found


def inside_libraries(trace: Trace) -> dict[int, str]:
    """Site → the library its ops run inside; sites that run inside none are left out."""
    return {e.site: e.module for step in trace.steps for e in step.events if e.kind == "inside"}


def changed_lines(
    trace: Trace, step: int
) -> tuple[dict[str, dict[str, tuple[NameChange, ...]]], dict[str, tuple[Layer, ...]]]:
    """Line → name → changes, and line → lamps, over all executions in the first `step` steps."""
    changed: dict[str, dict[str, list[NameChange]]] = {}
    lamps: dict[str, set[Layer]] = {}
    for each in trace.steps[:step]:
        line = str(step_line(trace, each))
        lamps.setdefault(line, set()).update(each.lamps)
        for name, changes in each.changed.items():
            seen = changed.setdefault(line, {}).setdefault(name, [])
            seen.extend(c for c in changes if c not in seen)
    return (
        {line: {n: tuple(c) for n, c in names.items()} for line, names in changed.items() if names},
        {line: tuple(x for x in LAYER_ORDER if x in layers) for line, layers in lamps.items() if layers},
    )


def ops_by_line(trace: Trace, step: int) -> dict[str, tuple[str, ...]]:
    """Line → aten ops by name, repeats kept, over all executions in the first `step` steps."""
    ops: dict[str, list[str]] = {}
    for index, (each, events) in enumerate(own_events(trace)):
        if index >= step:
            break
        names = [trace.names[trace.sites[e.site].op] for e in events if e.kind == "op"]
        if names:
            ops.setdefault(str(step_line(trace, each)), []).extend(names)
    return {line: tuple(names) for line, names in ops.items()}


def state_document(trace: Trace, step: int | None = None) -> StateDocument:
    """The state document after `step`, the last one if None.

    Raises:
        IndexError: There is no such step.
    """
    step = len(trace.steps) if step is None else step
    world = fold(trace, step)
    here = trace.steps[step - 1] if step else None
    changed, lamps = changed_lines(trace, step)
    live = world.live_nodes()
    reached = {e for e in changed} | {str(step_line(trace, s)) for s in trace.steps[:step]}
    return StateDocument(
        schema_version=SCHEMA_VERSION,
        environment=trace.environment,
        step=step,
        steps=len(trace.steps),
        line=None if here is None else step_line(trace, here),
        outcome=_outcome(trace),
        stdout="".join(world.stdout),
        warnings=tuple(
            StateWarning(line=w.line, category=w.category, message=w.message) for w in world.warnings
        ),
        notes=tuple(StateNote(line=n.line, class_=n.class_) for n in trace.notes if str(n.line) in reached),
        observer_effects=trace.observer_effects,
        bindings=world.bindings(0),
        locals=world.bindings(here.frame) if here is not None and here.frame else {},
        tensors=_tensors(trace, world),
        storages=_storages(trace, world, live),
        nodes={str(i): _node(trace, world, i) for i in sorted(live)},
        changed=changed,
        lamps=lamps,
        ops=ops_by_line(trace, step),
        bytes=StateBytes(alive=world.alive_bytes(), peak=world.peak_bytes()),
    )


def _outcome(trace: Trace) -> StateOutcome:
    o, why = trace.outcome, trace.explanation
    explanation = None
    if why is not None:
        explanation = {
            "class": why.class_,
            "line": why.line,
            "caused_by": why.caused_by,
            "operands": list(why.operands),
            "sentences": [s.model_dump() for s in why.sentences],
        }
    return StateOutcome(
        kind=o.kind,
        line=o.line,
        type=o.type,
        message=o.message,
        reason=o.reason,
        explanation=explanation,
    )


def _tensors(trace: Trace, world: World) -> dict[str, StateTensor]:
    """All tensors; past `MOST_VALUES` in all the values are left out, of those with a name last."""
    named = [i for frame in world.names for i in world.bindings(frame).values()]
    room = MOST_VALUES
    with_values: set[int] = set()
    for tensor_id in dict.fromkeys([*named, *world.tensors]):
        elements = math.prod(trace.views[world.tensors[tensor_id].view].shape or ())
        room -= elements if elements <= MOST_ELEMENTS else 0
        if room >= 0:
            with_values.add(tensor_id)
    return {str(i): _tensor(trace, world, i, with_values=i in with_values) for i in world.tensors}


def _tensor(trace: Trace, world: World, tensor_id: int, *, with_values: bool) -> StateTensor:
    now = world.tensors[tensor_id]
    view = trace.views[now.view]
    return StateTensor(
        storage=now.storage,
        shape=view.shape,
        stride=view.stride,
        storage_offset=view.storage_offset,
        dtype=view.dtype,
        layout=view.layout,
        device=view.device,
        is_contiguous=view.is_contiguous,
        is_conj=view.is_conj,
        is_neg=view.is_neg,
        requires_grad=view.requires_grad,
        is_leaf=view.is_leaf,
        grad_fn=now.grad_fn,
        grad=now.grad,
        version=now.version,
        values=world.values_of(tensor_id, view) if with_values else None,
        traits=traits_of(view, now.quantizer, world.traits.get(tensor_id, ())),
        unobserved=tensor_id in world.unobserved_tensors
        or (tensor_id not in world.values and now.storage in world.unobserved_storages),
    )


def _storages(trace: Trace, world: World, live: set[int]) -> dict[str, StateStorage]:
    holders = world.held_by(trace, live)
    return {
        str(i): StateStorage(
            nbytes=s.nbytes,
            address=s.address,
            device=s.device,
            freed=s.freed,
            freed_line=s.freed_line,
            held_by=tuple(holders.get(i, ())),
        )
        for i, s in world.storages.items()
    }


def _node(trace: Trace, world: World, node_id: int) -> StateNode:
    node = world.nodes[node_id]
    freed = node_id in world.saved_freed
    return StateNode(
        name=trace.names[node.name],
        line=node.line,
        next_functions=node.next_functions,
        variable=node.variable,
        saved=tuple(
            StateSaved(
                field=s.field,
                storage=s.storage,
                version=s.version,
                stale=(node_id, slot) in world.stale and not (freed and is_released(s.field)),
                freed=freed and is_released(s.field),
                scalar=world.scalar(s.tensor),
            )
            for slot, s in enumerate(node.saved)
        ),
    )
