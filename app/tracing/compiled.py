"""Steps of a program that compiles: compiled code runs as part of the step that called it.

Code that dynamo makes runs in frames named as the program's own. It begins with the graph, on the line of
the `def`, which is no execution of that statement. Lines that follow are what dynamo left to Python, at a
graph break; the function it then calls for the rest belongs to the caller of the whole again.
"""

import os
from typing import Any

from .compiler import RESUMED, Compilations
from .lines import FrameWatch, Lines
from .observer import StepObserver
from .statements import StatementMap


class CompiledWatch(FrameWatch):
    """Hears the line events of a frame of compiled code."""

    __slots__ = ()
    compiled = True


class CompiledLines(Lines):
    """The stack of open steps of a program that compiles.

    Args:
        statements: Of the program.
        observer: Looks at what happened.
        compilations: Knows which code dynamo made.
    """

    def __init__(self, statements: StatementMap, observer: StepObserver, compilations: Compilations) -> None:
        super().__init__(statements, observer)
        self._compilations = compilations
        self._made = compilations.of_code
        self._names = {name for mentioned in statements.mentions for name in mentioned}
        compilations.before_resuming = self._end_what_broke
        observer.variables_of = self._variables_of
        observer.name_of = _name_of

    def _at_call(self, frame: Any, event: str, arg: Any) -> Any:
        code = frame.f_code
        if id(code) not in self._made:
            # First of all, because it is asked at every call that the compiler makes.
            return None if code.co_filename != self._program else super()._at_call(frame, event, arg)
        if os.getpid() != self.pid:
            return None
        try:
            if RESUMED.match(code.co_name):
                self._end_what_broke()
            self._compilations.ran(code)
        except Exception as error:
            self.observer.fault(error)
        if code.co_filename != self._program:
            return None
        return self._enter(frame, CompiledWatch(self, self._frames))

    def _end_what_broke(self) -> None:
        """What Python ran at a graph break is over: the rest of the function is compiled code again."""
        if self.stack and self.stack[-1].watch.compiled:
            watch = self.stack[-1].watch
            self._close(watch)
            watch.statement = -1

    def _variables_of(self, frame: Any) -> dict[str, Any]:
        """A frame's variables; of compiled code, without those that dynamo made."""
        variables: dict[str, Any] = frame.f_locals
        if id(frame.f_code) not in self._made:
            return variables
        return {name: value for name, value in variables.items() if name in self._names}


def _name_of(code: Any) -> str:
    resumed = RESUMED.match(code.co_name)
    return resumed["function"] if resumed else str(code.co_qualname)
