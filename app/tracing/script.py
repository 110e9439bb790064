"""A script of one's own: it keeps its file, its output, its signals and its children, watched or not.

A program in the sandbox is shut off from the world; a script is not. What it prints goes where it would go
and is overheard on the way; warnings and tracebacks read as without us; Ctrl-C and a time limit meet the
script, never the tracer half-way through a fact. This module runs nothing and reads no tensor (`session`).
"""

import _thread
import io
import os
import signal
import sys
import threading
import time
import types
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.machinery import SourceFileLoader
from typing import Any

from .lines import LimitReached
from .output import Redirected, use_default_filters

_OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_OVERRIDES = os.path.join("torch", "overrides.py")
_OPS = os.path.join("torch", "_ops.py")
_FOREVER = 1e9
_A_MOMENT_S = 0.002


@dataclass(frozen=True, kw_only=True)
class OwnScript:
    """A script as Python would start it."""

    file: str
    """`__file__`, the name in tracebacks: an absolute path, or `<stdin>`."""

    argv: list[str]
    """`sys.argv`: its path as it was typed, and its arguments."""

    def name_module(self, module: types.ModuleType) -> None:
        """Give the module `__main__` the attributes it has when Python runs a file."""
        module.__file__ = self.file
        more: dict[str, Any] = {"__annotations__": {}, "__cached__": None}
        if os.path.exists(self.file):
            more["__loader__"] = SourceFileLoader("__main__", self.file)
        module.__dict__.update(more)

    def take_main(self, module: types.ModuleType) -> None:
        """The module is `__main__` from now on: exit handlers and threads outlive the watching."""
        sys.modules["__main__"] = module
        sys.argv = self.argv


# ---- output


class _Overheard(io.TextIOWrapper):
    """Writes to the same file as `real`, with the same buffer, and tells what was written."""

    def __init__(self, real: io.TextIOWrapper, hear: Callable[[str], None]) -> None:
        super().__init__(
            real.buffer,
            encoding=real.encoding,
            errors=real.errors,
            newline="\n",
            line_buffering=real.line_buffering,
            write_through=real.write_through,
        )
        self.__dict__["mode"] = real.mode
        self._real = real  # were it to go, it would close the buffer
        self._hear = hear

    def write(self, text: str, /) -> int:
        """Write as ever; what could not be written is not told."""
        count = super().write(text)
        self._hear(text)
        return count

    @property
    def buffer(self) -> Any:
        """The binary buffer, overheard too."""
        return _OverheardBytes(io.TextIOWrapper.buffer.__get__(self), self._hear)


class _OverheardBytes:
    """A binary buffer that tells what was written."""

    def __init__(self, real: Any, hear: Callable[[str], None]) -> None:
        self._real = real
        self._hear = hear

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def write(self, data: Any) -> int:
        count: int = self._real.write(data)
        self._hear(bytes(data).decode("utf-8", "backslashreplace"))
        return count


class Overheard(Redirected):
    """While entered, what the script prints and warns is told; all of it goes where it always went."""

    def __enter__(self) -> "Overheard":
        self._stderr, self._pid, self._listens = sys.stderr, os.getpid(), True
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
        sys.stdout, sys.stderr = self._overhear(sys.stdout), self._overhear(sys.stderr)
        _use_the_interpreters_filters()
        warnings.showwarning = self._warning
        return self

    def __exit__(self, *error: object) -> None:
        # Exit handlers and threads of the script may still print, so its streams stay.
        self._listens = False

    def _overhear(self, real: Any) -> Any:
        return _Overheard(real, self._hear) if type(real) is io.TextIOWrapper else real

    def _hear(self, text: str) -> None:
        if self._listens and os.getpid() == self._pid:
            self.output.write(text)

    def _pass_on(self, warning: warnings.WarningMessage) -> None:
        if self._stderr is None:
            return
        sys.stderr.flush()
        place = (warning.filename, warning.lineno, warning.line)
        self._stderr.write(warnings.formatwarning(warning.message, warning.category, *place))
        self._stderr.flush()


def _use_the_interpreters_filters() -> None:
    """Those of `python -W` and PYTHONWARNINGS; what our own imports added is taken away."""
    use_default_filters()
    process = getattr(warnings, "_processoptions", None)  # what Python itself calls at its start
    if process is not None:
        process(sys.warnoptions)


# ---- signals


@contextmanager
def interruptible(wall_s: float) -> Iterator[None]:
    """While entered, Ctrl-C raises in the script as ever, and the time limit stops it where it is.

    Both wait while a frame of the tracer runs: an exception there would end the watching.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before: dict[int, Any] = {}
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        before[signal.SIGINT] = signal.signal(signal.SIGINT, _outside_the_tracer(_interrupt))
    if wall_s < _FOREVER:
        stop = _outside_the_tracer(lambda: _stop(wall_s))
        before[signal.SIGALRM] = signal.signal(signal.SIGALRM, stop)
        signal.setitimer(signal.ITIMER_REAL, wall_s)
    try:
        yield
    finally:
        if wall_s < _FOREVER:
            signal.setitimer(signal.ITIMER_REAL, 0)
        for number in before:
            signal.signal(number, signal.SIG_IGN)  # what is left is our own work, and short


def _outside_the_tracer(act: Callable[[], None]) -> Callable[[int, Any], None]:
    def handle(number: int, frame: Any) -> None:
        if frame is not None and frame.f_code.co_filename.startswith(_OURS):
            # From a thread: raised from here, the signal would come again before this function ends.
            _thread.start_new_thread(_again, (number,))
        else:
            act()

    return handle


def _again(number: int) -> None:
    time.sleep(_A_MOMENT_S)
    _thread.interrupt_main(signal.Signals(number))


def _interrupt() -> None:
    raise KeyboardInterrupt


def _stop(wall_s: float) -> None:
    raise LimitReached("time-limit", f"{wall_s:g} s")


# ---- errors


def without_us(error: BaseException) -> BaseException:
    """The error with the tracebacks it has without us, its causes' too."""
    todo, seen = [error], set()
    while todo:
        one = todo.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        one.__traceback__ = _their_frames(one.__traceback__)
        todo.extend(e for e in (one.__cause__, one.__context__) if e is not None)
    return error


def _their_frames(entry: types.TracebackType | None) -> types.TracebackType | None:
    kept: list[types.TracebackType] = []
    detour = False
    while entry is not None:
        code = entry.tb_frame.f_code
        if code.co_filename.startswith(_OURS) or code.co_filename.endswith(_OVERRIDES):
            detour = True
        elif not (detour and code.co_filename.endswith(_OPS)):
            # A function of torch that asked the mode first is entered twice: once is plain.
            if detour and kept and kept[-1].tb_frame.f_code is code:
                kept.pop()
            kept.append(entry)
            detour = False
        entry = entry.tb_next
    following: types.TracebackType | None = None
    for each in reversed(kept):
        following = types.TracebackType(following, each.tb_frame, each.tb_lasti, each.tb_lineno)
    return following
