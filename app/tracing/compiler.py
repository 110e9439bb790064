"""Hears what `torch.compile` does, and keeps it from compiling the tracer.

Dynamo takes every Python frame that is evaluated below a compiled function, callbacks of ours included;
compiling one costs a second and can fail. Each code object of this package is put on its list to skip.

What it does is heard where it logs and where it hands a graph on: functions of its own are wrapped while a
program runs, each calls the original with what it was given and copies facts. No graph, guard or tensor is
held. Code objects are: a code's address must not be used again while runs of it are told.

Source: torch 2.13, torch/_dynamo/convert_frame.py; torch/_functorch/_aot_autograd/graph_compile.py.
"""

import base64
import inspect
import re
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

from . import torch_private
from .classes import class_of, is_of_torch, name_of
from .exceptions import text_of
from .fx import graph_row
from .guards import failed_rows, guard_rows
from .statements import StatementMap

_MOST_BREAKS = 12
_MOST_TEXT = 400
RESUMED = re.compile(r"torch_dynamo_resume_in_(?P<function>.+)_at_(?P<line>\d+)$")
"""Name of the function that dynamo makes of what follows a graph break."""

_hidden = False


def hide_from_dynamo() -> None:
    """Put every function of the tracer on dynamo's list to skip. Imports torch._dynamo."""
    global _hidden
    if _hidden:
        return
    _hidden = True
    package = __name__.rpartition(".")[0]
    for name, module in list(sys.modules.items()):
        if name == package or name.startswith(package + "."):
            for code in _codes_of_module(module):
                torch_private.skip_code(code)
    # What the tracer calls of Python's library, and dynamo does not skip by itself.
    for code in _codes_of_module(base64):
        torch_private.skip_code(code)


def _codes_of_module(module: types.ModuleType) -> Iterator[types.CodeType]:
    for value in vars(module).values():
        if getattr(value, "__module__", None) != module.__name__:
            continue
        members = vars(value).values() if isinstance(value, type) else (value,)
        for member in members:
            function = getattr(member, "__func__", member)
            if isinstance(function, property):
                function = function.fget
            if isinstance(function, types.FunctionType):
                yield from _with_inner(function.__code__)


def _with_inner(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _with_inner(constant)


class _Compiled:
    """A code object that dynamo made."""

    __slots__ = ("code", "compilation", "ran")

    def __init__(self, code: types.CodeType, compilation: str) -> None:
        self.code = code
        self.compilation = compilation
        self.ran = False


class _Attempt:
    """A function that is being compiled."""

    def __init__(self) -> None:
        self.graphs: list[dict[str, Any]] = []
        self.breaks: list[dict[str, Any]] = []
        self.guards: list[dict[str, Any]] = []
        self.guard_count = 0
        self.recompiled: list[dict[str, Any]] = []


class Compilations:
    """While entered, compilations are told.

    Args:
        statements: Of the program.
        tell: Takes each event.
        fault: Takes faults of ours.
    """

    def __init__(
        self,
        statements: StatementMap,
        tell: Callable[[dict[str, Any]], None],
        fault: Callable[[BaseException], None],
    ) -> None:
        self._program = statements.filename
        self._statements = statements
        self._tell = tell
        self._fault = fault
        self._attempts: list[_Attempt] = []
        self._put_back: list[tuple[Any, str, Any]] = []
        self.of_code: dict[int, _Compiled] = {}
        """Code that dynamo made, by its address."""
        self.before_resuming: Callable[[], None] = lambda: None
        """Called when the rest of a function is about to be compiled."""

    def __enter__(self) -> "Compilations":
        for where, heard in (
            ("compile", self._compiling),
            ("reasons", self._after(self._heard_reasons)),
            ("guards", self._after(self._heard_guards)),
            ("break", self._before(self._heard_break)),
            ("graph", self._before(self._heard_graph)),
            ("inference", self._before(self._heard_inference)),
            ("joint", self._before(self._heard_joint)),
            ("partitioned", self._before(self._heard_partitioned)),
        ):
            owner, name = torch_private.compiler_place(where)
            if owner is not None:
                original = getattr(owner, name)
                self._put_back.append((owner, name, original))
                setattr(owner, name, heard(original))
        return self

    def __exit__(self, *error: object) -> None:
        for owner, name, original in self._put_back:
            setattr(owner, name, original)
        self._put_back.clear()

    def ran(self, code: types.CodeType) -> None:
        """Code that dynamo made begins to run."""
        compiled = self.of_code[id(code)]
        self._tell({"kind": "compiled-run", "compilation": compiled.compilation, "again": compiled.ran})
        compiled.ran = True

    # -- wrappers

    def _before(self, hear: Callable[..., None]) -> Callable[[Any], Any]:
        def wrap(original: Any) -> Any:
            def heard(*args: Any, **keywords: Any) -> Any:
                self._carefully(hear, *args, **keywords)
                return original(*args, **keywords)

            return heard

        return wrap

    def _after(self, hear: Callable[..., None]) -> Callable[[Any], Any]:
        def wrap(original: Any) -> Any:
            def heard(*args: Any, **keywords: Any) -> Any:
                result = original(*args, **keywords)
                self._carefully(hear, result, *args, **keywords)
                return result

            return heard

        return wrap

    def _carefully(self, action: Callable[..., None], *args: Any, **keywords: Any) -> None:
        try:
            action(*args, **keywords)
        except Exception as fault:  # a fault of ours must never be the program's
            self._fault(fault)

    def _compiling(self, original: Any) -> Any:
        def compiling(code: Any, *args: Any, **keywords: Any) -> Any:
            if RESUMED.match(code.co_name):
                self._carefully(self.before_resuming)
            self._attempts.append(_Attempt())
            result = error = None
            try:
                result = original(code, *args, **keywords)
                return result
            except BaseException as raised:
                error = raised
                raise
            finally:
                attempt = self._attempts.pop()
                self._carefully(self._tell_attempt, attempt, code, args, keywords, result, error)
                error = None  # else this frame and its traceback are a cycle

        return compiling

    # -- what is heard

    def _heard_reasons(self, reasons: list[str], entries: Any, frame: Any, *rest: Any, **more: Any) -> None:
        if self._attempts:
            rows = failed_rows([str(reason) for reason in reasons], frame.f_locals, frame.f_globals)
            self._attempts[-1].recompiled = rows

    def _heard_guards(self, check: Any, output: Any, *args: Any, **keywords: Any) -> None:
        if self._attempts:
            attempt = self._attempts[-1]
            attempt.guard_count = len(output.tracer_output.output_graph.guards)
            attempt.guards = guard_rows([str(part) for part in check.guard_manager.code_parts])

    def _heard_break(self, translator: Any, options: Any, reason: str, exc: Any) -> None:
        if self._attempts and not exc.logged:
            self._note_break(self._attempts[-1], exc)

    def _note_break(self, attempt: _Attempt, error: BaseException) -> None:
        row = _break_row(error, self._program)
        if row not in attempt.breaks and len(attempt.breaks) < _MOST_BREAKS:
            attempt.breaks.append(row)

    def _heard_graph(self, output: Any, module: Any, *rest: Any, **more: Any) -> None:
        if self._attempts:
            self._attempts[-1].graphs = [graph_row("captured", module.graph, self._program)]

    def _heard_inference(self, module: Any, *rest: Any, **more: Any) -> None:
        self._add("inference", module)

    def _heard_joint(self, module: Any, *rest: Any, **more: Any) -> None:
        self._add("joint", module)

    def _heard_partitioned(self, forward: Any, backward: Any, *rest: Any, **more: Any) -> None:
        self._add("forward", forward)
        self._add("backward", backward)

    def _add(self, stage: str, module: Any) -> None:
        if self._attempts:
            self._attempts[-1].graphs.append(graph_row(stage, module.graph, self._program))

    # -- what is told

    def _tell_attempt(
        self,
        attempt: _Attempt,
        code: types.CodeType,
        args: tuple[Any, ...],
        keywords: dict[str, Any],
        result: Any,
        error: BaseException | None,
    ) -> None:
        _, variables, _, _, backend, one_graph = args[:6]
        outcome, reason = self._outcome(attempt, result, error, bool(one_graph), keywords)
        number = str(keywords["compile_id"])
        made = getattr(result, "guarded_code", None)
        if made is not None:
            self.of_code[id(made.code)] = _Compiled(made.code, number)
        function, line = self._named(code, variables)
        self._tell(
            {
                "kind": "compiled",
                "id": number,
                "function": function,
                "line": line,
                "resumes": RESUMED.match(code.co_name) is not None,
                "backend": _backend(backend),
                "outcome": outcome,
                "reason": reason,
                "graphs": attempt.graphs,
                "breaks": attempt.breaks,
                "guards": attempt.guards,
                "guard_count": attempt.guard_count,
                "recompiled": attempt.recompiled,
            }
        )

    def _outcome(
        self,
        attempt: _Attempt,
        result: Any,
        error: BaseException | None,
        one_graph: bool,
        keywords: dict[str, Any],
    ) -> tuple[str, str | None]:
        if error is not None:
            soft = torch_private.is_soft_failure(error)
            row = _break_row(error, self._program)
            if soft and row["line"] is not None:
                self._note_break(attempt, error)
            insisted = one_graph or getattr(keywords.get("convert_frame_box"), "error_on_graph_break", False)
            return ("eager" if soft and not insisted else "failed"), f"{class_of(error)}: {row['type']}"
        if result.guarded_code is None:
            return "skipped", _why_skipped(result.skip_reason)
        return ("graph" if attempt.graphs else "no-graph"), None

    def _named(self, code: types.CodeType, variables: dict[str, Any]) -> tuple[str, int | None]:
        """A function's name and line. Modules and library functions are compiled in a wrapper of dynamo's."""
        line = None
        if code.co_filename == self._program:
            statement = self._statements.of_line.get(code.co_firstlineno)
            line = code.co_firstlineno if statement is None else self._statements.rows[statement][1]
        elif (function := variables.get("fn")) is not None:
            return name_of(function) or class_of(function), None
        resumed = RESUMED.match(code.co_name)
        name = resumed["function"] if resumed else code.co_qualname.rpartition("<locals>.")[2]
        return name, line


def _why_skipped(reason: Any) -> str | None:
    """The first line; what follows says where in PyTorch."""
    if reason is None:
        return None
    return (
        str(reason)
        .split("\n", 1)[0]
        .removeprefix("Dynamo decided to skip the frame while tracing: ")[:_MOST_TEXT]
    )


def _backend(compiler: Any) -> str | None:
    for name in ("_compiler_name", "compiler_name"):
        found = inspect.getattr_static(compiler, name, None)
        if type(found) is str:
            return found
    return name_of(compiler)


def _break_row(error: BaseException, program: str) -> dict[str, Any]:
    """A break as a row of `schema.GraphBreak`: PyTorch's message has its parts on lines of their own."""
    theirs = is_of_torch(type(error))  # of an error of the program's own, no code is run for its text
    message = str(getattr(error, "msg", None) or error) if theirs else text_of(error) or class_of(error)
    stack = getattr(error, "real_stack", None) or () if theirs else ()
    lines = [frame.lineno for frame in stack if frame.filename == program]
    explanation = re.search(r"Explanation: (.*?)(?=\n  Hint: |\n\n|\Z)", message, re.DOTALL)
    hints = re.findall(r"\n  Hint: (.*?)(?=\n  Hint: |\n\n|\Z)", message, re.DOTALL)
    first = message.strip().split("\n", 1)[0]
    return {
        "line": lines[-1] if lines else None,
        "type": str((getattr(error, "gb_type", None) if theirs else None) or first)[:_MOST_TEXT],
        "reason": _one_line(explanation[1] if explanation else first),
        "hints": [_one_line(hint) for hint in hints],
    }


def _one_line(text: str) -> str:
    return " ".join(text.split())[:_MOST_TEXT]
