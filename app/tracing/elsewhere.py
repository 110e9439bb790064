"""Code of the program that runs where nobody watches: in other threads, in forked processes, untraced.

Modes and trace functions belong to one thread, and a forked child inherits both. What runs elsewhere is not
told as if it had been seen, only that it ran. Nothing here looks at tensors.
"""

import os
import sys
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

_thread_name: Callable[[threading.Thread], str] = threading.Thread.name.fget  # type: ignore[attr-defined]  # a property


class Elsewhere:
    """While entered, hears of threads that run code of the program and of processes that it forks.

    Args:
        program: File name of the program in code objects.
        in_child: Called in a forked child, where nothing is to be watched or sent.
    """

    def __init__(self, program: str, in_child: Callable[[], None]) -> None:
        self._program = program
        self.heard: deque[dict[str, Any]] = deque()
        """Events to be told by the thread that is watched."""
        self._in_child = in_child
        self._before: Any = None

    def __enter__(self) -> "Elsewhere":
        global _watching
        _watching = self
        self._before = threading.gettrace()
        threading.settrace(self._at_call)
        return self

    def __exit__(self, *error: object) -> None:
        global _watching
        _watching = None
        if threading.gettrace() == self._at_call:
            threading.settrace(self._before)

    def _at_call(self, frame: Any, event: str, arg: Any) -> None:
        """The trace function of a thread until the first function of the program is entered in it."""
        if frame.f_code.co_filename != self._program:
            return
        sys.settrace(None)
        if _watching is self:
            name = _thread_name(threading.current_thread())
            self.heard.append({"kind": "thread", "name": name, "function": frame.f_code.co_qualname})

    def forked(self) -> None:
        """A child was forked by the process that is watched."""
        self.heard.append({"kind": "process"})

    def be_the_child(self) -> None:
        """This is the child: watch nothing."""
        global _watching
        _watching = None
        sys.settrace(None)
        threading.settrace(None)
        self._in_child()


_watching: Elsewhere | None = None


def _forked_in_parent() -> None:
    if _watching is not None:
        _watching.forked()


def _forked_in_child() -> None:
    if _watching is not None:
        _watching.be_the_child()


os.register_at_fork(after_in_parent=_forked_in_parent, after_in_child=_forked_in_child)
