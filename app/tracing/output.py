"""What the program prints and warns, as events.

Stderr is merged into stdout. What C code writes past `sys.stdout` is the confinement's to catch.
"""

import io
import sys
import warnings
import zlib
from typing import Any

from ..schema import Limits
from .classes import class_name
from .lines import LimitReached
from .stream import Stream
from .warned import let_ours_through

_MOST_WARNINGS = 200


class ProgramOutput(io.TextIOBase):
    """Takes the place of stdout and stderr.

    Raises:
        LimitReached: More was printed than a run may print.
    """

    def __init__(self, stream: Stream, limits: Limits) -> None:
        self._stream = stream
        self._limits = limits
        self._written_bytes = 0
        self._kept_bytes = 0
        self.buffer = _Bytes(self)

    encoding = "utf-8"
    errors = "backslashreplace"

    def writable(self) -> bool:
        """Yes."""
        return True

    def isatty(self) -> bool:
        """No terminal here."""
        return False

    def write(self, text: str) -> int:
        """Note the text as printed by the running statement."""
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        clean = text.encode("utf-8", "backslashreplace")
        self._written_bytes += len(clean)
        self._stream.stdout_crc = zlib.crc32(clean, self._stream.stdout_crc)
        room = self._limits.stdout_kept_bytes - self._kept_bytes
        if room > 0 and clean:
            kept = clean[:room]
            self._kept_bytes += len(kept)
            self._note(kept.decode("utf-8", "ignore"))
        if self._written_bytes > self._limits.stdout_bytes:
            limit = f"{self._limits.stdout_bytes:,} bytes of output"
            raise LimitReached("output-limit", limit)
        return len(text)

    def _note(self, text: str) -> None:
        events = self._stream.events
        if events and events[-1]["kind"] == "stdout":
            events[-1]["text"] += text
        else:
            events.append({"kind": "stdout", "text": text})


class _Bytes(io.RawIOBase):
    """`sys.stdout.buffer`."""

    def __init__(self, text: ProgramOutput) -> None:
        self._text = text

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._text.write(bytes(data).decode("utf-8", "backslashreplace"))
        return len(data)


def use_default_filters() -> None:
    """The filters an interpreter starts with, whatever the one around us was told."""
    warnings.resetwarnings()
    for category in (ImportWarning, ResourceWarning, PendingDeprecationWarning, DeprecationWarning):
        warnings.simplefilter("ignore", category)
    warnings.filterwarnings("default", category=DeprecationWarning, module="__main__")
    let_ours_through()


class Redirected:
    """While entered: prints and warnings become events, stdin is empty, and all is put back after."""

    def __init__(self, stream: Stream, limits: Limits, program: str) -> None:
        self._stream = stream
        self._program = program
        self.output = ProgramOutput(stream, limits)
        self._warned = 0

    def __enter__(self) -> "Redirected":
        self._before = (sys.stdout, sys.stderr, sys.stdin)
        self._show = warnings.showwarning
        self._filters = warnings.filters[:]
        use_default_filters()
        sys.stdout = sys.stderr = self.output
        sys.stdin = io.StringIO("")
        warnings.showwarning = self._warning
        return self

    def __exit__(self, *error: object) -> None:
        sys.stdout, sys.stderr, sys.stdin = self._before
        warnings.showwarning = self._show
        warnings.filters[:] = self._filters  # type: ignore[index]  # it is a list

    def _pass_on(self, warning: warnings.WarningMessage) -> None:
        """Show it elsewhere too; of a program in the sandbox nobody sees more than its trace."""

    def _warning(
        self,
        message: Any,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: Any = None,
        line: str | None = None,
    ) -> None:
        self._pass_on(warnings.WarningMessage(message, category, filename, lineno, file, line))
        self._warned += 1
        if self._warned > _MOST_WARNINGS:
            return
        text = str(message).encode("utf-8", "backslashreplace").decode()
        self._stream.events.append(
            {
                "kind": "warning",
                "line": lineno if filename == self._program else None,
                "category": class_name(category),
                "message": text,
            }
        )
