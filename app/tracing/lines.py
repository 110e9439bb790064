"""Which statement runs, in which frame: line events turned into steps that nest.

A step is one execution of one statement. The step of a line that calls one of the program's functions stays
open while the lines inside run and end. Python reports a statement of several lines several times: the same
statement in the same frame further on in its bytecode is the same execution, earlier in it is a new one.
Comprehensions belong to their statement. What happened in a step is looked at by `Observer`, not here.
"""

import dis
import os
import sys
from typing import Any, Protocol

from .blocks import leaves_block
from .changes import Effects
from .folding import Sink
from .loops import Loop
from .statements import COMPREHENSIONS, StatementMap
from .tracebacks import unlink_ours

_SUSPENDABLE = 0x20 | 0x80 | 0x200  # generator, coroutine, asynchronous generator
_FUNCTION = 0x1 | 0x2  # optimized, new locals
_YIELD = dis.opmap["YIELD_VALUE"]
_QUIET = (StopIteration, StopAsyncIteration, GeneratorExit)


class LimitReached(BaseException):
    """A limit of ours stops the program. Not an `Exception`, so that few programs catch it by chance."""

    def __init__(self, reason: str, limit: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.limit = limit


class OpenStep:
    """A statement that is running."""

    __slots__ = (
        "again",
        "began",
        "called",
        "calls",
        "effects",
        "first_event",
        "frame",
        "raised",
        "sink",
        "statement",
        "watch",
    )

    def __init__(self, watch: "FrameWatch", frame: Any, statement: int, effects: Effects) -> None:
        self.watch = watch
        self.frame = frame
        self.statement = statement
        self.effects = effects
        self.began = 0
        self.first_event = 0
        self.sink: Sink | None = None
        """Where it began; its positions count from there."""
        self.calls: Loop | None = None
        """The calls it makes, as iterations of a loop."""
        self.called: set[object] = set()
        """The functions called in this iteration."""
        self.raised = False
        self.again = False
        """It leaves a block or goes on after a suspension: not an execution to be counted."""


def _has_no_first_line(watch: "FrameWatch", frame: Any) -> bool:
    """A class body begins with the class statement, which is running already; compiled code with a graph."""
    if watch.compiled:
        return watch.line < 0
    return watch.frame_id != 0 and not frame.f_code.co_flags & _FUNCTION


def _let_go_of_cells(frame: Any) -> None:
    """Drop what Python's copy of a frame's variables, made for the trace function, keeps of shared ones.

    A function that the frame calls may bind them anew; the tensors they had would live until the frame's own
    next line. Never called from an event of the frame itself, after which Python reads the copy back.
    """
    code = frame.f_code
    if code.co_flags & _FUNCTION == _FUNCTION and (code.co_cellvars or code.co_freevars):
        copied = frame.f_locals
        for name in (*code.co_cellvars, *code.co_freevars):
            copied.pop(name, None)


class Observer(Protocol):
    """Looks at what happened."""

    def look(self, step: OpenStep) -> None:
        """What did the running statement do so far?"""

    def begin(self, step: OpenStep, depth: int) -> None:
        """A statement begins. May raise `LimitReached`."""

    def end(self, step: OpenStep, depth: int, caller: OpenStep | None) -> None:
        """It ended; `caller` runs again."""

    def called(self, step: OpenStep, frame: Any) -> None:
        """A statement calls a function of the program, or makes a generator go on."""

    def enter(self, frame_id: int, frame: Any) -> None:
        """A function of the program was called."""

    def suspend(self, watch: "FrameWatch") -> None:
        """A frame stops, for good or until it goes on."""

    def leave(self, frame_id: int) -> None:
        """It is left for good."""

    def forget(self, step: OpenStep, caller: OpenStep | None) -> None:
        """A step that had begun did nothing; `caller` runs again."""

    def tell(self, kind: str) -> None:
        """What is special about the step that began."""

    def lose_sight(self) -> None:
        """Statements are not heard from now on."""

    def see_again(self) -> None:
        """They are heard again."""

    def tell_exception(self, frame: Any, error: Any) -> None:
        """An exception was raised in a frame of the program."""

    def fault(self, error: BaseException) -> None:
        """Something in the tracer failed."""


class FrameWatch:
    """Hears the line events of one frame."""

    compiled = False
    """Its code was made by `torch.compile`."""

    __slots__ = (
        "frame_id",
        "lasti",
        "line",
        "lines",
        "loops",
        "raised",
        "resumed",
        "statement",
        "suspended",
    )

    def __init__(self, lines: "Lines", frame_id: int) -> None:
        self.lines = lines
        self.frame_id = frame_id
        self.statement = -1
        self.lasti = -1
        self.line = -1
        self.loops: list[Loop] = []
        """Those that run in it, outermost first."""
        self.raised = False
        self.suspended = -1
        """The statement that a yield or an await left off in."""
        self.resumed = False
        """It goes on in that statement."""

    def hear(self, frame: Any, event: str, arg: Any) -> Any:
        """The local trace function of the frame."""
        lines = self.lines
        if os.getpid() != lines.pid:
            return None
        try:
            if event == "line":
                lines.at_line(self, frame)
            elif event == "return":
                lines.at_return(self, frame)
            elif event == "exception":
                if not (isinstance(arg[0], type) and issubclass(arg[0], _QUIET)):
                    self.raised = True
                    unlink_ours(arg[2], frame.f_code.co_filename)
                    lines.at_exception(frame, arg[1], arg[2])
                elif self.resumed and issubclass(arg[0], GeneratorExit):
                    lines.at_closing(self)
        except LimitReached:
            raise
        except RecursionError:
            pass  # the program is at its limit; it will hear of it by itself
        except Exception as error:
            lines.observer.fault(error)
        return self.hear


class Lines:
    """The stack of open steps.

    Args:
        statements: Of the program.
        observer: Looks at what happened.
    """

    def __init__(self, statements: StatementMap, observer: Observer) -> None:
        self.statements = statements
        self.observer = observer
        self.stack: list[OpenStep] = []
        self.pid = os.getpid()
        self._frames = 0
        self._of_line = statements.of_line
        self._program = statements.filename
        self._trace: Any = None
        self._off = False
        """The program took the trace function away and has not put it back."""
        self._leaving: dict[tuple[int, int], bool] = {}
        self._untold = False
        """An exception is on its way up that could not be told where it was raised."""

    def start(self) -> tuple[Any, Any]:
        """Begin to hear frames that are entered from now on.

        Returns:
            The trace function to be put back where Python dropped it, None for a program that speaks of
            trace functions itself; and the trace function.
        """
        self._trace = self._at_call
        sys.settrace(self._trace)
        return (None if self.statements.sets_trace else self._trace, self._trace)

    def stop(self) -> bool:
        """Hear nothing more.

        Returns:
            The program had taken the trace function away itself.
        """
        set_by_program = sys.gettrace()
        sys.settrace(None)
        if set_by_program is None:
            return self.statements.sets_trace
        return set_by_program is not self._trace

    def turned_off(self) -> None:
        """The program took the trace function away: what runs from now on belongs to no statement."""
        if self.stack and not self._off:
            self._off = True
            self._look()
            self.observer.tell("tracing-off")
            self.close_all()
            self.observer.lose_sight()

    def _at_call(self, frame: Any, event: str, arg: Any) -> Any:
        code = frame.f_code
        if code.co_filename != self._program or os.getpid() != self.pid:
            return None
        if code.co_name in COMPREHENSIONS:
            return None
        known = frame.f_trace
        watch = getattr(known, "__self__", None)
        if isinstance(watch, FrameWatch):  # a generator goes on
            self._look()
            try:
                if self.stack:
                    self.observer.called(self.stack[-1], frame)
                self._resume(watch, frame)
            except RecursionError:
                pass
            except Exception as error:
                self.observer.fault(error)
            return watch.hear
        return self._enter(frame, FrameWatch(self, self._frames))

    def _enter(self, frame: Any, watch: FrameWatch) -> Any:
        """A function of the program, or the program, begins."""
        self._frames += 1
        try:
            if self.stack:
                self._look()
                self.observer.called(self.stack[-1], frame)
                self.observer.enter(watch.frame_id, frame)
        except RecursionError:
            pass
        except Exception as error:
            self.observer.fault(error)
        return watch.hear

    def _look(self) -> None:
        if self.stack:
            step = self.stack[-1]
            self.observer.look(step)
            if not self.statements.keeps_locals:
                _let_go_of_cells(step.frame)

    def at_line(self, watch: FrameWatch, frame: Any) -> None:
        """A line of a frame is about to run."""
        statement = self._of_line.get(frame.f_lineno, -1)
        lasti, line = frame.f_lasti, frame.f_lineno
        if watch.statement < 0 and line == frame.f_code.co_firstlineno and _has_no_first_line(watch, frame):
            return
        # The same line twice in a row: the bytecode jumped back, a loop on one line goes round.
        if statement == watch.statement and lasti > watch.lasti and line != watch.line:
            watch.lasti, watch.line = lasti, line
            return
        self._close(watch)
        watch.statement, watch.lasti, watch.line, watch.raised = statement, lasti, line, False
        watch.resumed = False
        if statement < 0:
            return
        left = statement in self.statements.blocks and self._leaves(frame, statement)
        self._begin(watch, frame, statement, "block-left" if left else None)

    def _begin(self, watch: FrameWatch, frame: Any, statement: int, again: str | None) -> None:
        if self._off:
            self._off = False
            self.observer.see_again()
        step = OpenStep(watch, frame, statement, Effects(0))
        step.again = again is not None
        self.stack.append(step)
        try:
            self.observer.begin(step, len(self.stack) - 1)
        except LimitReached:  # it does not run
            self.stack.pop()
            watch.statement = -1
            raise
        if again is not None:
            self.observer.tell(again)

    def _leaves(self, frame: Any, statement: int) -> bool:
        """This visit of a `with` header leaves its block."""
        code, lasti = frame.f_code, frame.f_lasti
        known = self._leaving.get((id(code), lasti))
        if known is None:
            _, first, _, last, _ = self.statements.rows[statement]
            known = self._leaving[id(code), lasti] = leaves_block(code, lasti, first, last)
        return known

    def _resume(self, watch: FrameWatch, frame: Any) -> None:
        """A generator or coroutine goes on: with the rest of its statement, if that can do anything."""
        statement, watch.statement = watch.suspended, -1
        watch.raised = False
        if statement < 0 or statement in self.statements.only_yields:
            return
        watch.statement, watch.lasti, watch.line = statement, frame.f_lasti, frame.f_lineno
        watch.resumed = True
        self._begin(watch, frame, statement, "resumed")

    def at_closing(self, watch: FrameWatch) -> None:
        """A suspended generator is closed, not resumed."""
        if self.stack and self.stack[-1].watch is watch:
            step = self.stack.pop()
            self.observer.forget(step, self.stack[-1] if self.stack else None)
            step.frame = None
        watch.statement = -1

    def at_exception(self, frame: Any, error: Any, trace: Any) -> None:
        """An exception passes through a frame; it is told once, where it was raised."""
        entry = None if trace is None else trace.tb_next
        while entry is not None:
            if entry.tb_frame.f_code.co_filename == self._program:
                break
            entry = entry.tb_next
        statement = self.stack[-1].statement if self.stack else -1
        again = statement >= 0 and self.statements.rows[statement][0] == "Raise"
        if entry is None or self._untold or again:
            self._untold = True
            self.observer.tell_exception(frame, error)
            self._untold = False

    def at_return(self, watch: FrameWatch, frame: Any) -> None:
        """A frame is left, for good or until it is resumed."""
        code = frame.f_code
        suspended = (
            code.co_flags & _SUSPENDABLE and not watch.raised and code.co_code[frame.f_lasti] == _YIELD
        )
        watch.suspended = watch.statement if suspended else -1
        self._close(watch)
        watch.statement = -1
        self.observer.suspend(watch)
        if watch.frame_id and not suspended:
            self.observer.leave(watch.frame_id)

    def _close(self, watch: FrameWatch) -> None:
        """End the open step of a frame, and of frames above it that were left unheard."""
        on_top = bool(self.stack) and self.stack[-1].watch is watch
        if not on_top and not any(step.watch is watch for step in self.stack):
            if self.stack:
                self._look()
            return
        while self.stack:
            step = self.stack[-1]
            step.raised = step.watch.raised
            self.observer.look(step)
            self.stack.pop()
            caller = self.stack[-1] if self.stack else None
            self.observer.end(step, len(self.stack), caller)
            step.frame = None
            if step.watch is watch:
                return

    def close_all(self) -> None:
        """The program is over: end what is still open."""
        while self.stack:
            self._close(self.stack[-1].watch)
