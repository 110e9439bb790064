"""An entry's calls as one program, run plain or watched, each in a forked child.

The program takes a call and makes it, a line each:

    args, kwargs = take()
    answer = op(*args, **kwargs)

`take` belongs to the rig: unheard, it notes what PyTorch says of the call before and of the one to come. The
watched run's trace is held against those notes where it was made (`comparing`); the notes themselves travel,
to be held against those of the plain run.
"""

import json
import os
import pickle
import signal
import sys
import types
import zlib
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import torch
from tensor_anatomy.schema import Limits, RunRequest
from tensor_anatomy.tracing.ops import keep_foreach_versions
from tensor_anatomy.tracing.session import record_program
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from .facts import Facts, facts_of, tensors_in, unheard, values_of
from .samples import Call, Entry
from .witness import ApiSeen, OpSeen, Witness

MODULE = "oracle_samples"
LINES_PER_CALL = {"forward": 2, "backward": 6, "in-place": 5, "out": 5, "dtypes": 5, "errors": 5}
"""Lines of the program per call, by profile."""

_LIMITS = Limits(
    wall_s=600,
    cpu_s=600,
    memory_bytes=4 << 30,
    steps_kept=1_000_000,
    statements=1_000_000,
    stdout_kept_bytes=64 << 10,
    stdout_bytes=8 << 20,
    trace_bytes=1 << 30,
    value_elements=1024,
)


@dataclass
class Noted:
    """What PyTorch says of one call."""

    before: dict[str, Facts] = field(default_factory=dict)
    """Expression → facts of the tensors among the arguments, before the call."""
    after: dict[str, Facts] = field(default_factory=dict)
    """The same after it, and of the answer's tensors."""
    values: dict[str, Any] = field(default_factory=dict)
    """Values of the small ones after it, as the state document words them; of a watched run only."""
    other: str = ""
    """The answer without its tensors, in words."""
    generator: int = 0
    """Checksum of the generator's state after it."""
    ops: list[OpSeen] = field(default_factory=list)
    apis: list[ApiSeen] = field(default_factory=list)


class Rig:
    """The module the program imports from."""

    def __init__(self, entry: Entry, witness: Witness | None) -> None:
        self._calls = iter(entry.calls)
        self._call: Call | None = None
        self._witness = witness
        self.notes: list[Noted] = []

    def module(self) -> types.ModuleType:
        """`oracle_samples`, with what the program imports."""
        module = types.ModuleType(MODULE)
        module.__dict__.update(take=self.take, op=self.op, say=say, backward=backward)
        return module

    def op(self, *args: Any, **kwargs: Any) -> Any:
        """The operator of the call."""
        assert self._call is not None
        return self._call.op(*args, **kwargs)

    def take(self) -> tuple[list[Any], dict[str, Any]]:
        """Note how the call before ended, and hand out the next."""
        names = sys._getframe(1).f_globals
        with unheard():
            if self._call is not None:
                self._note_end(names)
            self._call = call = next(self._calls, None)
            noted = Noted()
            self.notes.append(noted)
            if call is None:
                self.notes.pop()
                return [], {}
            noted.before = {path: facts_of(t) for path, t in _arguments(call.args, call.kwargs)}
            torch.default_generator.manual_seed(0)
            if self._witness is not None:
                self._witness.take()
        return call.args, call.kwargs

    def _note_end(self, names: dict[str, Any]) -> None:
        noted, answer = self.notes[-1], names.get("answer")
        if self._witness is not None:
            noted.ops, noted.apis = self._witness.take()
        noted.generator = zlib.crc32(torch.default_generator.get_state().numpy().tobytes())
        found = [*_arguments(names["args"], names["kwargs"]), *tensors_in(answer, "answer")]
        for path, t in found:
            noted.after[path] = facts_of(t)
            if self._witness is not None:
                noted.values[path] = values_of(t)
        noted.other = _without_tensors(answer)


def _arguments(args: list[Any], kwargs: dict[str, Any]) -> list[tuple[str, torch.Tensor]]:
    return [*tensors_in(args, "args"), *tensors_in(kwargs, "kwargs")]


def _without_tensors(answer: Any) -> str:
    if isinstance(answer, torch.Tensor):
        return ""
    if isinstance(answer, (list, tuple)):
        return f"{type(answer).__name__}[{', '.join(map(_without_tensors, answer))}]"
    return repr(answer)


def say(error: Exception) -> str:
    """An exception in words."""
    return f"{type(error).__name__}: {error}"


def backward(answer: Any) -> None:
    """Differentiate what can be differentiated."""
    roots = [t for _, t in tensors_in(answer, "") if t.requires_grad and t.grad_fn is not None]
    if roots:
        torch.autograd.backward(roots, [torch.ones_like(t) for t in roots])


def program_of(entry: Entry, profile: str) -> str:
    """The program that makes an entry's calls."""
    call = "args, kwargs = take()\nanswer = op(*args, **kwargs)\n"
    if profile != "forward":  # whose samples never raise
        more = "    backward(answer)\n" if profile == "backward" else ""
        call = (
            "args, kwargs = take()\ntry:\n    answer = op(*args, **kwargs)\n"
            f"{more}except Exception as error:\n    answer = say(error)\n"
        )
    assert call.count("\n") == LINES_PER_CALL[profile]
    return f"from {MODULE} import take, op, say, backward\n" + call * len(entry.calls) + "take()\n"


@dataclass
class Run:
    """What a run left behind."""

    notes: list[Noted]
    payloads: list[bytes]
    faults: list[str]
    source: str
    outcome: dict[str, Any]
    warned: set[tuple[str, str]]
    """Category and text of the warnings shown."""


class _Nothing:
    """Modes that do nothing: what PyTorch does under any mode."""

    def __enter__(self) -> None:
        self._modes = (_QuietOps(), _QuietApis())
        for mode in self._modes:
            mode.__enter__()

    def __exit__(self, *error: object) -> None:
        for mode in reversed(self._modes):
            mode.__exit__(None, None, None)


class _QuietOps(TorchDispatchMode):
    supports_higher_order_operators = True

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        keep_foreach_versions(func, args, kwargs or {})
        return out


class _QuietApis(TorchFunctionMode):
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def run(entry: Entry, profile: str, *, how: str) -> Run:
    """Run an entry's program in this process, which it may spoil.

    Args:
        entry: The calls.
        profile: What the program does with them.
        how: `plain`, `watched` (and seen by a witness) or under `modes` that do nothing.
    """
    source = program_of(entry, profile)
    payloads: list[bytes] = []
    faults: list[str] = []
    witness = Witness() if how == "watched" else None
    rig = Rig(entry, witness)
    sys.modules[MODULE] = rig.module()
    request = RunRequest(source=source, device="cpu", seed=0, limits=_LIMITS, observed=how == "watched")
    around: Any = {"plain": nullcontext(), "watched": witness, "modes": _Nothing()}[how]
    with around:
        record_program(request, payloads.append, confined=False, faults=faults)
    chunks = [json.loads(payload) for payload in payloads]
    events = [e for c in chunks for step in c.get("steps", ()) for e in step["events"]]
    events += chunks[-1]["events"]
    warned = {(e["category"], e["message"]) for e in events if e["kind"] == "warning"}
    return Run(rig.notes, payloads, faults, source, chunks[-1]["outcome"], warned)


def in_a_child(work: Callable[[], Any], seconds: int = 300) -> Any:
    """The result of `work` from a forked child, or the exception that it ended with, in words."""
    read_end, write_end = os.pipe()
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        os.close(read_end)
        signal.alarm(seconds)
        try:
            answer = (True, work())
        except BaseException as error:
            import traceback

            answer = (False, "".join(traceback.format_exception(error)[-6:]))
        with os.fdopen(write_end, "wb") as pipe:
            pickle.dump(answer, pipe, protocol=5)
            pipe.flush()
        os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end, "rb") as pipe:
        payload = pipe.read()
    _, status = os.waitpid(child, 0)
    if not payload:
        return (False, f"the child died: {os.waitstatus_to_exitcode(status)}")
    return pickle.loads(payload)
