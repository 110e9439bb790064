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

from .changes import Effects
from .statements import PROGRAM, StatementMap

_SUSPENDABLE = 0x20 | 0x80 | 0x200  # generator, coroutine, asynchronous generator
_YIELD = dis.opmap["YIELD_VALUE"]
_COMPREHENSIONS = frozenset({"<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>"})
_QUIET = (StopIteration, StopAsyncIteration, GeneratorExit)


class LimitReached(BaseException):
    """A limit of ours stops the program. Not an `Exception`, so that few programs catch it by chance."""

    def __init__(self, reason: str, limit: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.limit = limit


class OpenStep:
    """A statement that is running."""

    __slots__ = ("began", "effects", "first_event", "frame", "raised", "statement", "watch")

    def __init__(self, watch: "FrameWatch", frame: Any, statement: int, effects: Effects) -> None:
        self.watch = watch
        self.frame = frame
        self.statement = statement
        self.effects = effects
        self.began = 0
        self.first_event = 0
        self.raised = False


class Observer(Protocol):
    """Looks at what happened."""

    def look(self, step: OpenStep) -> None:
        """What did the running statement do so far?"""

    def begin(self, step: OpenStep, depth: int) -> None:
        """A statement begins. May raise `LimitReached`."""

    def end(self, step: OpenStep, depth: int, caller: OpenStep | None) -> None:
        """It ended; `caller` runs again."""

    def enter(self, frame_id: int, frame: Any) -> None:
        """A function of the program was called."""

    def leave(self, frame_id: int) -> None:
        """It is left for good."""

    def fault(self, error: BaseException) -> None:
        """Something in the tracer failed."""


class FrameWatch:
    """Hears the line events of one frame."""

    __slots__ = ("frame_id", "lasti", "line", "lines", "raised", "statement")

    def __init__(self, lines: "Lines", frame_id: int) -> None:
        self.lines = lines
        self.frame_id = frame_id
        self.statement = -1
        self.lasti = -1
        self.line = -1
        self.raised = False

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
            elif event == "exception" and not (isinstance(arg[0], type) and issubclass(arg[0], _QUIET)):
                self.raised = True
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

    def start(self) -> Any:
        """Begin to hear frames that are entered from now on.

        Returns:
            The trace function; None for a program that speaks of trace functions itself.
        """
        sys.settrace(self._at_call)
        return None if self.statements.sets_trace else self._at_call

    @staticmethod
    def stop() -> None:
        """Hear nothing more."""
        sys.settrace(None)

    def _at_call(self, frame: Any, event: str, arg: Any) -> Any:
        code = frame.f_code
        if code.co_filename != PROGRAM or os.getpid() != self.pid:
            return None
        if code.co_name in _COMPREHENSIONS:
            return None
        known = frame.f_trace
        watch = getattr(known, "__self__", None)
        if isinstance(watch, FrameWatch):  # a generator goes on
            self._look()
            watch.statement = -1
            return watch.hear
        watch = FrameWatch(self, self._frames)
        self._frames += 1
        try:
            if self.stack:
                self._look()
                self.observer.enter(watch.frame_id, frame)
        except RecursionError:
            pass
        except Exception as error:
            self.observer.fault(error)
        return watch.hear

    def _look(self) -> None:
        if self.stack:
            self.observer.look(self.stack[-1])

    def at_line(self, watch: FrameWatch, frame: Any) -> None:
        """A line of a frame is about to run."""
        statement = self._of_line.get(frame.f_lineno, -1)
        lasti, line = frame.f_lasti, frame.f_lineno
        # The same line twice in a row: the bytecode jumped back, a loop on one line goes round.
        if statement == watch.statement and lasti > watch.lasti and line != watch.line:
            watch.lasti, watch.line = lasti, line
            return
        self._close(watch)
        watch.statement, watch.lasti, watch.line, watch.raised = statement, lasti, line, False
        if statement < 0:
            return
        step = OpenStep(watch, frame, statement, Effects(0))
        self.stack.append(step)
        self.observer.begin(step, len(self.stack) - 1)

    def at_return(self, watch: FrameWatch, frame: Any) -> None:
        """A frame is left, for good or until it is resumed."""
        code = frame.f_code
        suspended = (
            code.co_flags & _SUSPENDABLE and not watch.raised and code.co_code[frame.f_lasti] == _YIELD
        )
        self._close(watch)
        watch.statement = -1
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
