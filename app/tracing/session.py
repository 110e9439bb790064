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
from collections.abc import Callable
from typing import Any

import torch

from ..schema import RunRequest
from .autograd import Graph
from .calls import Calls
from .compiler import hide_from_dynamo
from .contents import Contents
from .disturbance import disturb_memory
from .elsewhere import Elsewhere
from .failures import message_of, program_frames, reason_of
from .fingerprint import fingerprint
from .hidden import HiddenWeakRefs
from .lines import LimitReached, Lines
from .names import Names
from .observer import StepObserver
from .ops import ApiMode, OpMode
from .output import Redirected
from .rows import Running
from .statements import PROGRAM, Columns, StatementMap
from .storage import Ledger
from .stream import Stream

MODULE = "__main__"


def record_program(
    request: RunRequest,
    send: Callable[[bytes], None],
    *,
    confined: bool = True,
    argv: list[str] | None = None,
    faults: list[str] | None = None,
) -> None:
    """Run a program in this process, watched, and send its trace in chunks.

    Args:
        request: The program and its limits. Wall time and memory are for the caller to enforce.
        send: Takes the bytes of each chunk, JSON of a `schema.Chunk`. The last one is a `Closing`.
        confined: A refusal of the system is the sandbox's doing and is named as the reason.
        argv: `sys.argv` of the program.
        faults: Takes descriptions of faults of the tracer itself, for tests.
    """
    source = request.source.removeprefix("\ufeff")
    stream = Stream(send, request.limits.trace_bytes)
    environment = {
        "torch": str(torch.__version__),
        "python": platform.python_version(),
        "device": "cpu",
        "simulated": False,
        "seed": request.seed,
    }
    try:
        statements = StatementMap(source)
        code = compile(source, PROGRAM, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError) as error:
        stream.open(environment, [])
        stream.close(_did_not_compile(error, source), None)
        return
    stream.open(environment, [_statement(row) for row in statements.rows])
    seed_generators(request.seed)
    run = _Run(code, source, statements, request, stream, argv or ["program.py"])
    outcome = run.watched(confined) if request.observed else run.plain(confined)
    stream.close(outcome, run.fingerprint)
    if faults is not None:
        faults.extend(run.faults)


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
        argv: list[str],
    ) -> None:
        self._code = code
        self._source = source
        self._statements = statements
        self._limits = request.limits
        self._reports = request.reports
        self._stream = stream
        self._argv = argv
        self._pid = os.getpid()
        self._module = types.ModuleType(MODULE)
        self._variables = self._module.__dict__
        self._variables["__builtins__"] = builtins
        self._variables["__file__"] = argv[0]
        self.fingerprint: dict[str, Any] = {}
        self.faults: list[str] = []

    def watched(self, confined: bool) -> dict[str, Any]:
        """Run it, tell its steps, and return the outcome."""
        stream, limits = self._stream, self._limits
        if self._statements.uses_compiler:
            hide_from_dynamo()
        now = Running()
        contents = Contents(stream, now, limits.value_elements)
        ledger = Ledger(stream, now, contents)
        graph = Graph(stream, now, ledger)
        ledger.node_of = graph.node_of
        calls = Calls(stream, ledger, graph, self._statements.columns)
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
            elsewhere := Elsewhere(lambda: _only_run(calls, stream)),
        )
        observer.use_globals(self._variables)
        lines = Lines(self._statements, observer)
        calls.hears_api = not (self._statements.uses_compiler or self._statements.uses_fast_path)
        api_mode: Any = ApiMode(calls) if calls.hears_api else None
        error = None
        with _InPlaceOfMain(self._module, self._source, self._argv), Redirected(stream, limits):
            with OpMode(calls), HiddenWeakRefs(), elsewhere:
                try:
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
                    _leave_if_forked(self._pid, error)
                    if lines.stop():
                        lines.turned_off()
                    if api_mode is not None:
                        api_mode.__exit__(None, None, None)
                    lines.close_all()
            observer.look_for_the_last_time(error)
        observer.close()
        self.faults = calls.failures.faults
        outcome = _outcome(error, confined, self._statements.columns)
        if error is not None and outcome["kind"] == "raised":
            outcome["failure"] = _failure(calls, error, stream)
        self._take_fingerprint(error)
        return outcome

    def plain(self, confined: bool) -> dict[str, Any]:
        """Run it unobserved: no modes, no line events. Only the outcome and the fingerprint are told."""
        error = None
        ballast = None if self._reports is None else disturb_memory()
        with (
            _InPlaceOfMain(self._module, self._source, self._argv),
            Redirected(self._stream, self._limits),
        ):
            try:
                exec(self._code, self._variables)
            except BaseException as raised:
                error = raised
            _leave_if_forked(self._pid, error)
        outcome = _outcome(error, confined, self._statements.columns)
        self._take_fingerprint(error)
        del ballast
        return outcome

    def _take_fingerprint(self, error: BaseException | None) -> None:
        said = None if error is None else f"{type(error).__name__}: {message_of(error)}"
        printed = self._stream.stdout_crc
        self.fingerprint = fingerprint(self._variables, MODULE, printed, said, self._reports)


def _only_run(calls: Calls, stream: Stream) -> None:
    """In a process that the program forked: it runs on, unwatched."""
    calls.busy = True
    stream.mute()


def _leave_if_forked(pid: int, error: BaseException | None) -> None:
    """A process that the program forked came to the program's end; the trace is not its own to close."""
    if os.getpid() != pid:
        os._exit(0 if error is None else 1)


def _failure(calls: Calls, error: BaseException, stream: Stream) -> dict[str, Any] | None:
    failure = calls.failures.of(error)
    if failure is None:
        return None
    node = failure["node"]
    return {**failure, "node": None if node is None else stream.name_row(node)}


class _InPlaceOfMain:
    """While entered, the program is `__main__`, with its source to be had and its own `sys.argv`."""

    def __init__(self, module: types.ModuleType, source: str, argv: list[str]) -> None:
        self._module = module
        self._lines = source.splitlines(keepends=True)
        self._size = len(source)
        self._argv = argv

    def __enter__(self) -> None:
        self._before = (sys.modules.get(MODULE), sys.argv)
        sys.modules[MODULE] = self._module
        sys.argv = self._argv
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
    outcome["type"], outcome["message"] = type(error).__name__, message_of(error)
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


def _outcome(error: BaseException | None, confined: bool, columns: Columns) -> dict[str, Any]:
    """How a run that came to an end by itself ended."""
    if error is None or isinstance(error, SystemExit):
        return _blank_outcome("finished")
    entries = program_frames(error)
    lines = [entry.tb_lineno for entry in entries]
    line = lines[-1] if lines else None
    if isinstance(error, LimitReached):
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
        type=type(error).__name__,
        message=message_of(error),
        reason=reason_of(error) if confined else None,
        traceback=lines,
    )
    if entries:
        outcome["range"] = _failing_range(entries[-1], columns)
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
