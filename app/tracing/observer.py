"""Looks at what a statement did: names, tensors, storages, graph; and ends its step.

The order matters. Names first, so that tensors found by name are known; then everything touched, written or
exported; then what was written is held against what autograd saved; last, with every reference of ours
dropped, what died. Versions are read here, at the end of the line: an op's bump comes after the op.
"""

import time
from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import Any, Protocol

from ..schema import Limits
from . import torch_private
from .autograd import Graph
from .calls import Calls
from .changes import Effects, layers_between
from .classes import texts
from .contents import FULL_RECORDS, Contents
from .elsewhere import Elsewhere
from .exceptions import exception_event
from .folding import Folding
from .holders import Holders
from .lines import FrameWatch, LimitReached, OpenStep
from .loops import Loops
from .names import Names
from .ops import forget_warnings
from .quiet import leave_recording
from .rows import Running, StorageRow, TensorRow
from .statements import StatementMap
from .storage import Ledger
from .stream import Stream

_CREDIT_PER_STEP = 250
_MOST_CREDIT = 5000


def _time_to_close(wall_s: float) -> float:
    """Seconds kept back for the last look and the last chunk, on a machine that is busy as well."""
    return min(0.2 * wall_s, max(0.03 * wall_s, 0.25))


class Allocators(Protocol):
    """Know what the allocator of each device says of itself."""

    @property
    def simulated(self) -> bool:
        """They are models."""

    def figures(self) -> Iterator[tuple[str, dict[str, int]]]:
        """Each device in use, with the fields of `schema.AllocatorFigures` that are always known."""

    def layout(self, device: str) -> dict[str, Any]:
        """Its other fields, where they are known."""


class StepObserver:
    """Puts the parts together, statement by statement."""

    def __init__(
        self,
        statements: StatementMap,
        limits: Limits,
        stream: Stream,
        now: Running,
        ledger: Ledger,
        contents: Contents,
        graph: Graph,
        calls: Calls,
        names: Names,
        elsewhere: Elsewhere,
    ) -> None:
        self._elsewhere = elsewhere
        self._statements = statements
        self._limits = limits
        self._stream = stream
        self._now = now
        self._ledger = ledger
        self._contents = contents
        self._graph = graph
        self._calls = calls
        self._names = names
        self._holders = Holders(stream, ledger, graph, names)
        self._globals: dict[str, Any] = {}
        self._runs_elsewhere = False
        """Code of the program ran unwatched: it may have run a backward pass, and may still."""
        self.allocators: Allocators | None = None
        """Of the devices the program may use besides the CPU."""
        self._figures: dict[str, dict[str, int]] = {}
        self.variables_of: Callable[[Any], dict[str, Any]] = attrgetter("f_locals")
        """The program's variables of a frame."""
        self.name_of: Callable[[Any], str] = attrgetter("co_qualname")
        """The name of a code object."""
        self._executed = 0
        self._executions = [0] * len(statements.rows)
        self._credit = _MOST_CREDIT
        self._full_cost = 0
        self._deadline = time.monotonic() + limits.wall_s - _time_to_close(limits.wall_s)
        self._cpu_deadline = time.process_time() + 0.95 * limits.cpu_s
        self._folding = Folding(stream, limits.steps_kept)
        self._folding.first_ids = self._next_ids
        self._loops = Loops(statements.loops, self._folding)
        calls.failures.names = names.frames

    def use_globals(self, variables: dict[str, Any]) -> None:
        """The program's global variables."""
        self._globals = variables

    # -- the life of a step

    def begin(self, step: OpenStep, depth: int) -> None:
        """A statement begins: everything observed from now on is its."""
        self._executed += 1
        self._check_limits(step.statement)
        self._executions[step.statement] += 1
        stream, watch = self._stream, step.watch
        if watch.loops or self._statements.loops[step.statement]:
            self._loops.arrive(watch.loops, step.statement, watch.lasti)
        step.effects.first_storage = self._ledger.next_storage_id()
        step.effects.first_tensor = self._ledger.next_tensor_id()
        step.effects.peak = dict(self._ledger.alive)
        step.sink = sink = self._folding.sink
        step.began = sink.steps_ended
        step.first_event = sink.event_count + len(stream.events)
        self._credit = min(_MOST_CREDIT, self._credit + _CREDIT_PER_STEP)
        self._calls.serial += 1
        self._make_current(step)
        forget_warnings()
        stream.breathe(step.statement)

    def _check_limits(self, statement: int) -> None:
        """Stop the program at its limits; the parent kills what does not stop."""
        limits = self._limits
        if self._executed > limits.statements:
            self._stop("step-limit", f"{limits.statements:,} executed statements", statement)
        if self._executed % 16 == 0:
            if time.monotonic() > self._deadline:
                self._stop("time-limit", f"{limits.wall_s:g} s", statement)
            if time.process_time() > self._cpu_deadline:
                self._stop("time-limit", f"{limits.cpu_s:g} s of processor time", statement)

    def _stop(self, reason: str, limit: str, statement: int) -> None:
        """Stop the program. It may catch this, and is then killed: what was seen is sent before."""
        self._folding.close_all()
        self._stream.flush(statement)
        raise LimitReached(reason, limit)

    def _make_current(self, step: OpenStep) -> None:
        now = self._now
        now.effects = step.effects
        now.line = self._statements.rows[step.statement][1]
        now.early = self._executions[step.statement] <= FULL_RECORDS
        now.full_records = now.early or self._folding.active
        self._calls.failures.frame = step.watch.frame_id

    def end(self, step: OpenStep, depth: int, caller: OpenStep | None) -> None:
        """Write the step down and hand its effects to its caller."""
        effects, frame = step.effects, step.watch.frame_id
        names = self._names.frames.get(frame, {})
        ever = self._names.ever.setdefault(frame, set())
        changed = effects.changed(frame, names, ever)
        ever.update(path for where, path in effects.names if where == frame)
        lamps = effects.lit(changed)
        peak = {device: n for device, n in effects.peak.items() if n}
        row = {
            "statement": step.statement,
            "frame": frame,
            "depth": depth,
            "began": step.began,
            "first_event": step.first_event,
            "executions": 1,
            "fold": None,
            "again": step.again,
            "raised": step.raised,
            "changed": changed,
            "lamps": lamps,
            "peak_bytes": peak,
        }
        if self._ledger.suspects or self._names.lost or self._holders.waits:
            self._guarded(self._holders.settle, self._globals)
        self._loops.ended(step)
        self._folding.end_step(row, step.sink)
        if caller is not None:
            effects.hand_to(caller.effects, frame)
            self._calls.serial += 1
            self._make_current(caller)

    def close(self) -> None:
        """The program is over: what was folded is told."""
        self._folding.close_all()

    def _next_ids(self) -> tuple[int, int]:
        return self._ledger.next_tensor_id(), self._ledger.next_storage_id()

    def called(self, step: OpenStep, frame: Any) -> None:
        """A statement calls a function, or makes a generator go on: many calls are iterations, too."""
        self._loops.called(step, frame.f_code)

    def suspend(self, watch: FrameWatch) -> None:
        """A frame stops: its loops cannot stay open while others run."""
        if watch.loops:
            self._loops.leave(watch.loops)

    def enter(self, frame_id: int, frame: Any) -> None:
        """A function is called: its arguments are names before its first line."""
        self._stream.events.append(
            {"kind": "call", "frame": frame_id, "function": self.name_of(frame.f_code)}
        )
        self._names.frames[frame_id] = {}
        self._names.ever[frame_id] = set()
        self._observe(frame_id, self.variables_of(frame), None)
        self._names.ever[frame_id].update(
            path for paths in self._names.frames[frame_id].values() for path in paths
        )

    def leave(self, frame_id: int) -> None:
        """A function is left."""
        self._stream.events.append({"kind": "return", "frame": frame_id})
        self._names.leave(frame_id)

    def forget(self, step: OpenStep, caller: OpenStep | None) -> None:
        """A step had begun and did nothing."""
        self._executions[step.statement] -= 1
        events = self._stream.events
        if events and events[-1]["kind"] == "resumed":
            events.pop()
        if caller is not None:
            step.effects.hand_to(caller.effects, step.watch.frame_id)
            self._calls.serial += 1
            self._make_current(caller)

    def tell(self, kind: str) -> None:
        """What is special about the step that began."""
        self._stream.events.append({"kind": kind})

    def lose_sight(self) -> None:
        """Statements are not heard from now on: nothing that happens is any statement's."""
        self._now.effects = Effects(0)
        self._calls.telling = False

    def see_again(self) -> None:
        """They are heard again: what happened meanwhile is no statement's doing."""
        self._calls.telling = True
        self._observe(0, self._globals, None)

    def tell_exception(self, frame: Any, error: Any) -> None:
        """An exception was raised in a frame of the program."""
        self._stream.events.append(exception_event(self._calls, frame, error))

    def fault(self, error: BaseException) -> None:
        """A fault of ours."""
        self._calls.failures.internal(error)

    # -- looking

    def look(self, step: OpenStep) -> None:
        """Tell what the running statement did since the last look."""
        frame = step.frame
        variables = self._globals if step.watch.frame_id == 0 else self.variables_of(frame)
        self._observe(step.watch.frame_id, variables, step.statement)

    def look_for_the_last_time(self, error: BaseException | None) -> None:
        """The program is over, with an error or without: look at everything once more."""
        self._credit, self._full_cost = 1 << 60, 0
        if self._calls.busy:
            return
        self._observe(0, self._globals, None)
        self._guarded(self._ledger.record_what_is_left)
        self._guarded(self._contents.tiling.tell_the_last, self._ledger.storages(), self._names.tensors(0))
        self._guarded(self._ledger.sweep_storages)
        self._guarded(self._holders.settle_for_good, self._globals, error)

    def _observe(self, frame: int, variables: dict[str, Any], statement: int | None) -> None:
        calls = self._calls
        if calls.busy:
            return
        calls.busy = True
        recording = leave_recording() if calls.minds_jit else None
        try:
            with torch_private.without_functions(), torch_private.without_dispatch():
                self._look_at_tensors(frame, variables, statement)
                self._ledger.sweep()
                if self.allocators is not None:
                    self._tell_allocators(self.allocators)
        except Exception as error:
            calls.failures.internal(error)
        finally:
            if recording is not None:
                torch_private.set_recording_state(recording)
            calls.busy = False

    def _guarded(self, action: Any, *args: Any) -> None:
        self._calls.busy = True
        recording = leave_recording() if self._calls.minds_jit else None
        try:
            with torch_private.without_functions(), torch_private.without_dispatch():
                action(*args)
        except Exception as error:
            self._calls.failures.internal(error)
        finally:
            if recording is not None:
                torch_private.set_recording_state(recording)
            self._calls.busy = False

    def _look_at_tensors(self, frame: int, variables: dict[str, Any], statement: int | None) -> None:
        """Everything that may have changed. Holds tensors; holds none when it returns."""
        calls, ledger, contents = self._calls, self._ledger, self._contents
        self._now.looks += 1
        while self._elsewhere.heard:
            self._stream.events.append(self._elsewhere.heard.popleft())
            calls.hears_api = False  # what runs elsewhere may write unheard
            self._runs_elsewhere = True
        written, calls.written = calls.written, {}
        for storage in written.values():
            storage.writes += 1
        glance = ledger.glance if calls.hears_api else ledger.look_closely
        for t in self._scan(frame, variables, statement):
            glance(t)
        if self._runs_elsewhere or not calls.backward_roots_seen:
            calls.after_backward(ledger.with_grad_fn())
        while calls.touched or calls.changed or written or contents.written:
            touched, calls.touched = calls.touched, {}
            changed, calls.changed = calls.changed, {}
            storages = {**written, **contents.written}
            written, contents.written = {}, {}
            for storage in storages.values():
                changed.update(storage.tensors)
                for other in ledger.overlapping(storage):
                    changed.update(other.tensors)
            for row in list(changed.values()):
                t = row.ref()
                if t is not None:
                    ledger.update(t)
            for row_id, row in touched.items():
                if row_id not in changed and (t := row.ref()) is not None:
                    ledger.look_closely(t)
            self._check_versions(storages)
        if overtaken := self._graph.take_overtaken():
            self._check_versions(overtaken)
        for row_id in list(calls.exported):
            t = calls.exported[row_id].ref()
            if t is None:
                del calls.exported[row_id]
            else:
                ledger.look_closely(t)
        if contents.written:
            self._look_at_written_again()
        if contents.tiling.waiting:
            contents.tiling.tell(self._names.tensors(frame))
        self._tell_births(frame)

    def _look_at_written_again(self) -> None:
        """An exported storage was found written: look at who else is on it."""
        storages, self._contents.written = self._contents.written, {}
        for storage in storages.values():
            for t in self._ledger.siblings(storage):
                self._ledger.update(t)
        self._check_versions(storages)
        self._contents.written = {}

    def _check_versions(self, storages: dict[int, StorageRow]) -> None:
        for storage in storages.values():
            self._graph.check_versions(storage)

    def _tell_births(self, frame: int) -> None:
        """New tensors and the layers in which they differ from what they were made from.

        Of a tensor that no name and no `.grad` leads to, only its bytes count.
        """
        births, self._calls.births = self._calls.births, {}
        rows = self._ledger.take_new_rows()
        if not rows:
            return
        named = self._names.tensors(frame)
        for row in rows:
            if row.state is None:
                continue
            origin = births.get(row.id)
            if row.id not in births:
                origin = self._ledger.origin_of(row)
            layers = _differs(origin, row)
            if row.id not in named and not row.grad_of:
                layers &= {"data", "device"}
            self._now.effects.bear(row.id, layers)

    def _tell_allocators(self, allocators: Allocators) -> None:
        """What the allocators say of themselves, where that is something else than before."""
        for device, figures in allocators.figures():
            if figures != self._figures.get(device) and (any(figures.values()) or device in self._figures):
                self._figures[device] = figures
                event = {"kind": "allocator", "device": device, "simulated": allocators.simulated}
                self._stream.events.append({**event, **figures, **allocators.layout(device)})

    # -- names

    def _scan(self, frame: int, variables: dict[str, Any], statement: int | None) -> list[Any]:
        """Walk from the names of a frame and the globals; returns the tensors found."""
        mentioned = () if statement is None else self._statements.mentions[statement]
        full = statement is None or self._full_cost <= self._credit
        found: list[Any] = []
        if type(variables) is not dict:  # what a metaclass prepared for the body of its class, for one
            variables = dict(texts(variables))
        cost = self._scan_frame(frame, variables, None if full else mentioned, found)
        if frame != 0:
            outer = [n for n in mentioned if n not in variables]
            cost += self._scan_frame(0, self._globals, None if full else tuple(outer), found)
        if full:
            self._full_cost = cost
        self._credit -= cost
        return found

    def _scan_frame(
        self,
        frame: int,
        variables: dict[str, Any],
        only: tuple[str, ...] | None,
        found: list[Any],
    ) -> int:
        known = self._names.frames.setdefault(frame, {})
        candidates = [name for name in variables if type(name) is str] if only is None else list(only)
        cost = len(candidates) // 8

        def name_of(t: Any) -> str | None:
            return self._names.path_to(self._ledger.tensor(t).id, frame)

        for variable in candidates:
            if variable[:2] == "__" and variable[-2:] == "__":
                continue
            left_out = self._names.left_out.get((frame, variable))
            walked = self._names.walk(variable, variables.get(variable), frame, name_of)
            cost += 1 + len(walked)
            paths: dict[str, int] = {}
            for path, t in walked:
                row = self._ledger.tensor(t)
                paths[path] = row.id
                found.append(t)
                if row.parts is not None:
                    parts = self._ledger.parts(t, row)
                    paths.update((path + suffix, part.id) for suffix, part in parts.items())
            before = known.get(variable)
            if paths != (before or {}):
                self._bind(frame, variable, before or {}, paths)
                if only is not None:
                    candidates += [v for v in self._names.aliases(frame, variable) if v not in candidates]
            self._tell_left_out(frame, variable, left_out)
        if only is None:
            for variable in [v for v in known if v not in variables]:
                self._bind(frame, variable, known[variable], {})
        return cost

    def _tell_left_out(self, frame: int, variable: str, before: dict[str, tuple[int, int]] | None) -> None:
        """Containers that have more entries than are named, whenever their size changed."""
        now = self._names.left_out.get((frame, variable))
        if now == before or not now:
            return
        for path, (named, count) in now.items():
            if before is None or before.get(path) != (named, count):
                self._stream.events.append(
                    {
                        "kind": "entries",
                        "frame": frame,
                        "root": variable,
                        "path": path,
                        "named": named,
                        "count": count,
                    }
                )

    def _bind(self, frame: int, variable: str, before: dict[str, int], paths: dict[str, int]) -> None:
        self._stream.events.append({"kind": "names", "frame": frame, "root": variable, "paths": paths})
        self._names.bind(frame, variable, paths)
        effects = self._now.effects
        for path in {**before, **paths}:
            old, new = before.get(path), paths.get(path)
            if old != new:
                effects.bind(frame, path, old, new)


def _differs(origin: Any, row: TensorRow) -> set[str]:
    """Layers in which a new tensor differs from its origin; from nothing: all that it has."""
    state = row.state
    assert state is not None
    key = state[0]
    if origin is None:
        made = {"data", "metadata"}
        if key[9]:
            made.add("autograd")
        if key[5] not in ("cpu",):
            made.add("device")
        return made
    before = (origin[0], origin[1], None, None, None, state[5])
    layers = layers_between(before, (key, state[1], None, None, None, state[5]))
    if origin[0][9] == key[9]:
        layers.discard("autograd")
    return layers
