"""Holds a watched run's trace against what PyTorch said in it, and a watched run against a plain one.

Differences are pairs of a kind (`values`, `op verdict`) and a sentence. `lies_in` compares the trace as its
readers see it: decoded, checked, folded step by step. `changes_by_watching` compares two runs' notes.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tensor_anatomy.execution.assembly import Assembly
from tensor_anatomy.execution.framing import decode_chunk
from tensor_anatomy.schema import Environment, Step, Trace
from tensor_anatomy.schema.replay import World

from .facts import Facts
from .running import LINES_PER_CALL, Noted, Run
from .witness import ApiSeen, OpSeen

Difference = tuple[str, str]
"""Its kind, and what differs."""

_STATE_FIELDS = (
    "shape",
    "stride",
    "storage_offset",
    "dtype",
    "layout",
    "device",
    "is_contiguous",
    "is_conj",
    "is_neg",
    "requires_grad",
    "is_leaf",
)
METADATA = ("shape", "stride", "storage_offset", "dtype", "layout", "is_conj", "is_neg")
_RUN_FIELDS = (*_STATE_FIELDS, "kind", "grad_fn", "version", "nbytes", "bits")
LAYERS = ("data", "metadata", "autograd", "device")


@dataclass
class Count:
    """How much was compared."""

    calls: int = 0
    ops: int = 0
    verdicts: int = 0
    """Verdicts on outputs of ops."""
    apis: int = 0
    """API calls without an op, told as such."""
    tensors: int = 0
    facts: int = 0
    values: int = 0
    changes: int = 0
    """Names held against the rule of what a line changed."""
    kinds: dict[str, int] = field(default_factory=dict)
    """Verdicts by kind."""

    def add(self, other: "Count") -> None:
        """Count what another one counted."""
        for name, value in vars(other).items():
            if name != "kinds":
                setattr(self, name, getattr(self, name) + value)
        for kind, number in other.kinds.items():
            self.kinds[kind] = self.kinds.get(kind, 0) + number


def trace_of(run: Run) -> Trace:
    """The trace a run sent, decoded and checked as the server does."""
    environment = Environment(torch="", python="", device="cpu", simulated=False, seed=0)
    assembly = Assembly(run.source, environment)
    for payload in run.payloads:
        assembly.add(decode_chunk(payload))
    assert assembly.closing is not None, "the run sent no end"
    return assembly.trace(assembly.closing.outcome, "")


def lies_in(run: Run, profile: str, count: Count) -> list[list[Difference]]:
    """Per call, what the trace says otherwise than PyTorch did in the same run."""
    trace = trace_of(run)
    world = World()
    per_call: list[list[Difference]] = [[] for _ in run.notes]
    each = LINES_PER_CALL[profile]
    ended: dict[int, list[Step]] = {}
    for step in trace.steps:
        line = trace.statements[step.statement].range.line
        ended.setdefault((line - 2) // each, []).append(step)
    for number in range(-1, len(run.notes)):
        steps = ended.get(number, [])
        for step in steps:
            for event in step.events:
                world.apply(event)
        if number < 0:
            continue
        count.calls += 1
        reader = _CallReader(trace, world, run.notes[number], count)
        per_call[number].extend(reader.differences(steps))
    return per_call


_PAST_THE_WITNESS = "torch_nn::"
"""Ops whose kernels are Python: they are run past the modes around ours, which hear what is inside."""


class _CallReader:
    """Compares one call."""

    def __init__(self, trace: Trace, world: World, noted: Noted, count: Count) -> None:
        self._trace = trace
        self._world = world
        self._noted = noted
        self._count = count

    def differences(self, steps: list[Step]) -> Iterator[Difference]:
        """All differences of the call whose lines were `steps`."""
        events = [event for step in steps for event in step.events]
        yield from self._ops([e for e in events if e.kind == "op"])
        yield from self._apis([e for e in events if e.kind == "api"])
        yield from self._state()
        if len(steps) >= 2:
            yield from self._changed(steps[1:])

    # -- ops

    def _ops(self, told: list[Any]) -> Iterator[Difference]:
        seen = self._noted.ops
        told = [e for e in told if not self._name(e).startswith(_PAST_THE_WITNESS)]
        names = [self._name(e) for e in told]
        if names != [s.name for s in seen]:
            yield "ops heard", f"{names[:9]}, not {[s.name for s in seen][:9]}"
            return
        for event, true in zip(told, seen, strict=True):
            self._count.ops += 1
            for kind, text in self._op(event, true):
                yield kind, f"{true.name}: {text}"

    def _name(self, event: Any) -> str:
        return self._trace.names[self._trace.sites[event.site].op]

    def _op(self, event: Any, true: OpSeen) -> Iterator[Difference]:
        site = self._trace.sites[event.site]
        if site.failed != true.failed:
            yield "op failure", f"{site.failed}, not {true.failed}"
        if site.failed:
            return
        if len(event.inputs) != true.inputs:
            yield "op inputs", f"{len(event.inputs)}, not {true.inputs}"
        if len(event.outputs) != true.outputs or len(site.verdicts) != true.outputs:
            yield "op outputs", f"{len(event.outputs)}, not {true.outputs}"
            return
        for i, verdict in enumerate(site.verdicts):
            self._count.verdicts += 1
            self._count.kinds[verdict] = self._count.kinds.get(verdict, 0) + 1
            relation, written = true.relations[i], true.written[i]
            if verdict in ("same", "in-place"):
                if relation != "same":
                    yield "op verdict", f"{verdict} of a {relation} output"
                elif written and verdict == "same":
                    yield "op verdict", "same, but it was written"
            elif verdict != relation:
                yield "op verdict", f"{verdict}, not {relation}"
            view = self._trace.views[site.views[i]]
            look = (view.shape, view.stride, view.storage_offset, view.dtype)
            if look != true.looks[i]:
                yield "op look", f"{look}, not {true.looks[i]}"

    def _apis(self, told: list[Any]) -> Iterator[Difference]:
        seen = [a for a in self._noted.apis if _is_told(a)]
        names = [(self._trace.names[e.api], e.returned_input, len(e.inputs), len(e.outputs)) for e in told]
        true = [(a.name, a.returned_input, a.inputs, a.outputs) for a in seen]
        self._count.apis += len(true)
        if names != true:
            yield "api verdict", f"{names[:5]}, not {true[:5]}"

    # -- state

    def _state(self) -> Iterator[Difference]:
        bindings = self._world.bindings(0)
        tensors: dict[int, int] = {}
        storages: dict[int, int] = {}
        for path, facts in self._noted.after.items():
            self._count.tensors += 1
            tensor_id = bindings.get(path)
            if tensor_id is None:
                yield "names", f"{path} leads to no tensor"
                continue
            if tensors.setdefault(facts["tensor"], tensor_id) != tensor_id:
                yield "identity", f"{path} is told as another tensor than it is"
            if len(set(tensors.values())) != len(tensors):
                yield "identity", f"{path} is told as a tensor that is another one"
            yield from ((kind, f"{path} {text}") for kind, text in self._tensor(path, tensor_id, facts))
            told = self._world.tensors[tensor_id].storage
            if (told is None) != (facts["storage"] is None):
                yield "sharing", f"{path} on storage {told}"
            elif told is not None and (
                storages.setdefault(facts["storage"], told) != told
                or len(set(storages.values())) != len(storages)
            ):
                yield "sharing", f"{path}: others share its storage in truth than are told"

    def _tensor(self, path: str, tensor_id: int, facts: Facts) -> Iterator[Difference]:
        now = self._world.tensors[tensor_id]
        view = self._trace.views[now.view]
        for name in _STATE_FIELDS:
            self._count.facts += 1
            if getattr(view, name) != facts[name]:
                yield f"told {name}", f"{getattr(view, name)}, not {facts[name]}"
        node = None if now.grad_fn is None else self._trace.names[self._world.nodes[now.grad_fn].name]
        self._count.facts += 3
        if node != facts["grad_fn"]:
            yield "told grad_fn", f"{node}, not {facts['grad_fn']}"
        if now.version != facts["version"]:
            yield "told version", f"{now.version}, not {facts['version']}"
        if now.storage is not None and self._world.storages[now.storage].nbytes != facts["nbytes"]:
            yield "told nbytes", f"{self._world.storages[now.storage].nbytes}, not {facts['nbytes']}"
        if (now.grad is None) != (facts["grad"] is None):
            yield "told grad", f"{now.grad}, not {facts['grad']}"
        elif now.grad is not None:
            yield from ((k, f".grad {text}") for k, text in self._tensor("", now.grad, facts["grad"]))
        true = self._noted.values.get(path)
        if true is None:
            return
        told = self._world.values_of(tensor_id, view)
        self._count.values += 1
        if told is None:
            yield "values missing", f"of {facts['dtype']} {facts['shape']}"
        elif repr(told) != repr(true):
            yield "told values", f"{str(told)[:90]}, not {str(true)[:90]}"

    # -- what the line changed

    def _changed(self, steps: list[Step]) -> Iterator[Difference]:
        told: dict[str, set[str]] = {}
        for step in steps:
            for name, layers in step.changed.items():
                told.setdefault(name, set()).update(layers)
        for path, before in self._noted.before.items():
            after = self._noted.after.get(path)
            if after is None or after["tensor"] != before["tensor"]:
                continue
            self._count.changes += 1
            true = layers_changed(before, after)
            if told.get(path, set()) != true:
                yield "changed", f"{path} {sorted(told.get(path, set()))}, not {sorted(true)}"


def _is_told(api: ApiSeen) -> bool:
    """An API call without ops is told when it returned or by its name changed a tensor."""
    if api.name in ("__get__", "__set__", "__delete__"):
        return False
    return not api.ops and bool(api.inputs) and (bool(api.outputs) or api.name.endswith("_"))


def layers_changed(before: Facts, after: Facts) -> set[str]:
    """The rule of what a line changed, for one tensor object."""
    layers: set[str] = set()
    if any(before[f] != after[f] for f in METADATA):
        layers.add("metadata")
    elif before["bits"] != after["bits"]:
        layers.add("data")  # another window on the same bytes shows other values, but wrote none
    if any(before[f] != after[f] for f in ("version", "storage", "nbytes")):
        layers.add("data")
    if any(before[f] != after[f] for f in ("requires_grad", "is_leaf", "node")):
        layers.add("autograd")
    if _grad(before) != _grad(after):
        layers.add("autograd")
    if before["device"] != after["device"]:
        layers.add("device")
    return layers


def _grad(facts: Facts) -> tuple[Any, Any] | None:
    """Which tensor `.grad` is, and its values."""
    grad = facts["grad"]
    return None if grad is None else (grad["tensor"], grad["bits"])


def changes_by_watching(plain: Run, watched: Run) -> list[list[Difference]]:
    """Per call, what differs between a plain and a watched run."""
    per_call: list[list[Difference]] = []
    for a, b in zip(plain.notes, watched.notes, strict=False):
        per_call.append(list(_between(a, b)))
    if len(plain.notes) != len(watched.notes):
        per_call.append([("calls made", f"{len(watched.notes)}, not {len(plain.notes)}")])
    return per_call


def said_otherwise(plain: Run, watched: Run) -> list[Difference]:
    """What differs in how two runs ended and warned."""
    found: list[Difference] = []
    for name in ("kind", "type", "message", "line"):
        if plain.outcome[name] != watched.outcome[name]:
            found.append(("outcome", f"{watched.outcome[name]}, not {plain.outcome[name]}"))
    if plain.warned != watched.warned:
        found.append(
            ("warnings", f"more {watched.warned - plain.warned}, less {plain.warned - watched.warned}")
        )
    return found


def _between(a: Noted, b: Noted) -> Iterator[Difference]:
    if a.before != b.before and _anonymous(a.before) != _anonymous(b.before):
        yield "before", "the calls are not the same"
    if list(a.after) != list(b.after):
        yield "structure", f"{list(b.after)[:6]}, not {list(a.after)[:6]}"
    if a.other != b.other:
        yield "answer", f"{b.other[:200]}, not {a.other[:200]}"
    if a.generator != b.generator:
        yield "generator", "its state differs"
    for label, of in (("tensor", "identity"), ("storage", "sharing")):
        if _pattern(a.after, label) != _pattern(b.after, label):
            yield of, f"{_pattern(b.after, label)}, not {_pattern(a.after, label)}"
    for path in a.after:
        if path in b.after:
            yield from ((kind, f"{path} {text}") for kind, text in _facts(a.after[path], b.after[path]))


def _facts(a: Facts, b: Facts) -> Iterator[Difference]:
    for name in _RUN_FIELDS:
        if a[name] != b[name]:
            yield name, f"{b[name]}, not {a[name]}"
    if (a["grad"] is None) != (b["grad"] is None):
        yield "grad", f"{'none' if b['grad'] is None else 'there'}"
    elif a["grad"] is not None:
        yield from ((f"grad {kind}", text) for kind, text in _facts(a["grad"], b["grad"]))


def _pattern(facts: dict[str, Facts], label: str) -> list[int]:
    """Which of the tensors are one, as numbers in order of appearance."""
    order: dict[Any, int] = {}
    return [-1 if f[label] is None else order.setdefault(f[label], len(order)) for f in facts.values()]


def _anonymous(facts: dict[str, Facts]) -> list[Any]:
    return [{k: v for k, v in f.items() if k not in ("tensor", "storage", "grad")} for f in facts.values()]
