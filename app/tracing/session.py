"""One run, in order: the only module here that knows the others.

`record_program` compiles a program, runs it under the watch of the others and sends chunks. Everything it
changes in the interpreter is put back, so that tests can call it again and again in one process; in the
sandbox the process ends with the run.
"""

import builtins
import linecache
import os
import platform
import random
import sys
import types
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch

from ..schema import RunRequest
from ..schema.mentions import mentions_cuda
from .accelerator import name_of, reached, there_is
from .autograd import Graph
from .backends import NoInductor
from .calls import Calls
from .classes import class_of
from .compiled import CompiledLines
from .compiler import Compilations, hide_from_dynamo
from .contents import Contents
from .disturbance import disturb_memory
from .elsewhere import Elsewhere
from .failures import message_of, program_frames, reason_of
from .fingerprint import fingerprint
from .hidden import HiddenWeakRefs
from .jit import QuietRecording
from .lines import LimitReached, Lines
from .modules import Modules
from .names import Names
from .observer import Allocators, StepObserver
from .ops import ApiMode, OpMode
from .output import Redirected
from .rows import Running
from .script import Overheard, OwnScript, interruptible
from .simulated_cuda import SimulatedCuda
from .statements import PROGRAM, Columns, StatementMap
from .storage import Ledger
from .stream import Stream
from .warned import TrueWarnings

MODULE = "__main__"
NAME = "program.py"
"""`__file__` and `sys.argv[0]` of a program that lies in no file."""


def record_program(
    request: RunRequest,
    send: Callable[[bytes], None],
    *,
    confined: bool = True,
    own: OwnScript | None = None,
    faults: list[str] | None = None,
) -> BaseException | None:
    """Run a program in this process, watched, and send its trace in chunks.

    Args:
        request: The program and its limits. Wall time and memory are for the caller to enforce.
        send: Takes the bytes of each chunk, JSON of a `schema.Chunk`. The last one is a `Closing`.
        confined: A refusal of the system is the sandbox's doing and is named as the reason.
        own: The program is a script of the one who runs it: nothing is kept from it.
        faults: Takes descriptions of faults of the tracer itself, for tests.

    Returns:
        What ended the program before its end, if something did.
    """
    source = request.source.removeprefix("\ufeff")
    stream = Stream(send, request.limits.trace_bytes)
    simulation = _simulation(request, source) if own is None else None
    real = there_is() if request.device == "cuda" or own is not None else None
    environment = {
        "torch": str(torch.__version__),
        "python": platform.python_version(),
        "device": name_of(real) if simulation is None else "simulated-cuda",
        "simulated": simulation is not None,
        "seed": request.seed,
    }
    try:
        filename = PROGRAM if own is None else own.file
        code = compile(source, filename, "exec", dont_inherit=True)
        statements = StatementMap(source, filename)
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError) as error:
        stream.open(environment, [])
        stream.close(_did_not_compile(error, source), None)
        return error
    stream.open(environment, [_statement(row) for row in statements.rows])
    if request.seed is not None:
        seed_generators(request.seed)
        if real is not None:
            real.seed(request.seed)
    run = _Run(code, source, statements, request, stream, own)
    run.allocators = real if simulation is None else simulation
    with reached(real), nullcontext() if simulation is None else simulation:
        if simulation is not None:
            simulation.seed(request.seed or 0)
        if request.observed:
            outcome = run.watched(confined, simulated=simulation is not None)
        else:
            outcome = run.plain(confined)
    stream.close(outcome, run.fingerprint)
    if faults is not None:
        faults.extend(run.faults)
    return run.error


def _simulation(request: RunRequest, source: str) -> SimulatedCuda | None:
    """The devices a program runs on, if they are simulated. One's own script has those that are there."""
    asked = request.device
    if asked == "simulated-cuda" or (asked == "auto" and mentions_cuda(source)):
        limits = request.limits
        return SimulatedCuda(limits.devices, limits.device_bytes, watched=request.observed)
    return None


def seed_generators(seed: int) -> None:
    """Seed Python's, NumPy's and PyTorch's generators."""
    random.seed(seed)
    torch.default_generator.manual_seed(seed)  # torch.manual_seed also queues calls for absent devices
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(seed % 2**32)


def _statement(row: tuple[str, int, int, int, int]) -> dict[str, Any]:
    kind, line, column, end_line, end_column = row
    return {"kind": kind, "range": _range(line, column, end_line, end_column)}


def _range(line: int, column: int, end_line: int, end_column: int) -> dict[str, int]:
    return {"line": line, "column": column, "end_line": end_line, "end_column": end_column}


class _Run:
    """A compiled program, about to run."""

    def __init__(
        self,
        code: types.CodeType,
        source: str,
        statements: StatementMap,
        request: RunRequest,
        stream: Stream,
        own: OwnScript | None,
    ) -> None:
        self._code = code
        self._source = source
        self._statements = statements
        self._limits = request.limits
        self._reports = request.reports
        self._stream = stream
        self._own = own
        self._pid = os.getpid()
        self._module = types.ModuleType(MODULE)
        self._variables = self._module.__dict__
        self._variables["__builtins__"] = builtins
        self._variables["__file__"] = NAME
        if own is not None:
            own.name_module(self._module)
        self.allocators: Allocators | None = None
        """Of the devices it may use."""
        self.error: BaseException | None = None
        self.fingerprint: dict[str, Any] = {}
        self.faults: list[str] = []

    def _recording(self, observer: StepObserver) -> AbstractContextManager[object]:
        if not self._statements.uses_compiler:
            return nullcontext()
        return QuietRecording(lambda: observer.tell("ops-unheard"))

    def _backends(self, confined: bool) -> AbstractContextManager[object]:
        needless = not confined or self._own is not None or not self._statements.uses_compiler
        return nullcontext() if needless else NoInductor()

    def watched(self, confined: bool, *, simulated: bool) -> dict[str, Any]:
        """Run it, tell its steps, and return the outcome. With simulated devices nothing is compiled."""
        stream, limits = self._stream, self._limits
        now = Running()
        contents = Contents(stream, now, limits.value_elements)
        ledger = Ledger(stream, now, contents)
        graph = Graph(stream, now, ledger, Modules(self._statements.filename))
        ledger.node_of = graph.node_of
        calls = Calls(stream, now, ledger, graph, self._statements)
        observer = StepObserver(
            self._statements,
            limits,
            stream,
            now,
            ledger,
            contents,
            graph,
            calls,
            Names(MODULE),
            elsewhere := Elsewhere(self._statements.filename, lambda: _only_run(calls, stream)),
        )
        observer.use_globals(self._variables)
        observer.allocators = self.allocators
        compilations: Compilations | None = None
        if self._statements.uses_compiler and not simulated:
            hide_from_dynamo()
            compilations = Compilations(self._statements, stream.tell, observer.fault)
            lines: Lines = CompiledLines(self._statements, observer, compilations)
        else:
            lines = Lines(self._statements, observer)
        calls.minds_jit = self._statements.uses_compiler
        calls.may_be_still = not (self._statements.uses_compiler or self._statements.hooks_in)
        calls.minds_inference = self._statements.makes_inference_tensors
        calls.hears_api = not (self._statements.uses_compiler or self._statements.uses_fast_path)
        api_mode: Any = ApiMode(calls) if calls.hears_api else None
        op_mode = OpMode(calls)
        calls.modes = (op_mode,) if api_mode is None else (api_mode, op_mode)
        error = None
        with self._surroundings(), self._backends(confined):
            quiet = self._recording(observer)
            with TrueWarnings(), op_mode, HiddenWeakRefs(), elsewhere, self._signals(), quiet:
                try:
                    if compilations is not None:
                        compilations.__enter__()
                    if api_mode is not None:
                        api_mode.__enter__()
                    calls.when_lost = lines.turned_off
                    calls.trace_lines, calls.trace_function = lines.start()
                    calls.lines_heard = calls.trace_function
                    exec(self._code, self._variables)
                except BaseException as raised:
                    error = raised
                finally:
                    calls.trace_lines = calls.lines_heard = None
                    self._leave_if_forked(error)
                    if lines.stop():
                        lines.turned_off()
                    if api_mode is not None:
                        api_mode.__exit__(None, None, None)
                    if compilations is not None:
                        compilations.__exit__(None, None, None)
                    lines.close_all()
            observer.look_for_the_last_time(error)
        observer.close()
        self.faults = calls.failures.faults
        self.error = error
        outcome = _outcome(error, confined, self._statements)
        if error is not None and outcome["kind"] == "raised":
            outcome["failure"] = _failure(calls, error, stream)
        self._take_fingerprint(error)
        return outcome

    def plain(self, confined: bool) -> dict[str, Any]:
        """Run it unobserved: no modes, no line events. Only the outcome and the fingerprint are told."""
        error = None
        if self._statements.uses_compiler:
            hide_from_dynamo()  # what it prints goes through functions of ours
        ballast = None if self._reports is None else disturb_memory()
        with self._surroundings(), self._backends(confined):
            try:
                exec(self._code, self._variables)
            except BaseException as raised:
                error = raised
            self._leave_if_forked(error)
        self.error = error
        outcome = _outcome(error, confined, self._statements)
        self._take_fingerprint(error)
        del ballast
        return outcome

    @contextmanager
    def _surroundings(self) -> Iterator[None]:
        """What the program finds around it: the module `__main__`, `sys.argv`, streams."""
        if self._own is not None:
            self._own.take_main(self._module)
            with Overheard(self._stream, self._limits, self._own.file):
                yield
            return
        streams = Redirected(self._stream, self._limits, PROGRAM)
        with _InPlaceOfMain(self._module, self._source), streams:
            yield

    def _leave_if_forked(self, error: BaseException | None) -> None:
        """A process that the program forked came to the program's end; the trace is not its own to close."""
        if os.getpid() != self._pid and self._own is None:
            os._exit(0 if error is None else 1)

    def _signals(self) -> AbstractContextManager[None]:
        return nullcontext() if self._own is None else interruptible(self._limits.wall_s)

    def _take_fingerprint(self, error: BaseException | None) -> None:
        said = None if error is None else f"{class_of(error)}: {message_of(error)}"
        printed = self._stream.stdout_crc
        self.fingerprint = fingerprint(self._variables, MODULE, printed, said, self._reports)


def _only_run(calls: Calls, stream: Stream) -> None:
    """In a process that the program forked: it runs on, unwatched."""
    calls.busy = True
    stream.mute()


def _failure(calls: Calls, error: BaseException, stream: Stream) -> dict[str, Any] | None:
    failure = calls.failures.of(error)
    if failure is None:
        return None
    node = failure["node"]
    return {**failure, "node": None if node is None else stream.name_row(node)}


class _InPlaceOfMain:
    """While entered, the program is `__main__`, with its source to be had and its own `sys.argv`."""

    def __init__(self, module: types.ModuleType, source: str) -> None:
        self._module = module
        self._lines = source.splitlines(keepends=True)
        self._size = len(source)

    def __enter__(self) -> None:
        self._before = (sys.modules.get(MODULE), sys.argv)
        sys.modules[MODULE] = self._module
        sys.argv = [NAME]
        linecache.cache[PROGRAM] = (self._size, None, self._lines, PROGRAM)

    def __exit__(self, *error: object) -> None:
        main, sys.argv = self._before
        if main is not None:
            sys.modules[MODULE] = main
        linecache.cache.pop(PROGRAM, None)


def _blank_outcome(kind: str) -> dict[str, Any]:
    return {
        "kind": kind,
        "line": None,
        "type": None,
        "message": None,
        "reason": None,
        "limit": None,
        "range": None,
        "traceback": [],
        "failure": None,
    }


def _did_not_compile(error: BaseException, source: str) -> dict[str, Any]:
    outcome = _blank_outcome("raised")
    outcome["type"], outcome["message"] = class_of(error), message_of(error)
    if isinstance(error, SyntaxError):
        outcome["message"] = error.msg
        if error.lineno is not None:
            outcome["line"] = line = max(error.lineno, 1)
            column = max((error.offset or 1) - 1, 0)
            end_line = error.end_lineno or line
            end = (error.end_offset or 0) - 1
            if (end_line, end) <= (line, column):
                end_line, end = line, column + 1
            outcome["range"] = _range(line, column, end_line, end)
    if outcome["line"] is None and "\0" in source:
        before = source.split("\0", 1)[0]
        outcome["line"] = before.count("\n") + 1
    return outcome


def _outcome(error: BaseException | None, confined: bool, statements: StatementMap) -> dict[str, Any]:
    """How a run that came to an end by itself ended."""
    if error is None or issubclass(type(error), SystemExit):
        return _blank_outcome("finished")
    entries = program_frames(error, statements.filename)
    lines = [entry.tb_lineno for entry in entries]
    line = lines[-1] if lines else None
    if type(error) is LimitReached:
        outcome = _blank_outcome("stopped")
        outcome.update(
            line=line,
            reason=error.reason,
            limit=error.limit,
            message=f"The program was stopped at its limit of {error.limit}.",
            traceback=lines,
        )
        return outcome
    outcome = _blank_outcome("raised")
    outcome.update(
        line=line,
        type=class_of(error),
        message=message_of(error),
        reason=reason_of(error) if confined else None,
        traceback=lines,
    )
    if entries:
        outcome["range"] = _failing_range(entries[-1], statements.columns)
    return outcome


def _failing_range(entry: Any, columns: Columns) -> dict[str, int] | None:
    """The sub-expression that raised, in the innermost frame of the program."""
    positions = list(entry.tb_frame.f_code.co_positions())
    line, end_line, column, end_column = positions[entry.tb_lasti // 2]
    if line is None or end_line is None or column is None or end_column is None:
        return None
    return _range(
        line,
        columns.character(line, column),
        end_line,
        columns.character(end_line, end_column),
    )
