"""An exception as it is raised: its class, its text, where. It is never held.

No code of the program runs for it: a text that the program's own `__str__` would have to make stays empty.
"""

import types
from typing import Any

from .calls import Calls

_LONGEST_MESSAGE = 300
_PLAIN = (str, int, float, bytes, type(None))


def exception_event(calls: Calls, frame: Any, error: Any) -> dict[str, Any]:
    """The event that tells of an exception raised in a frame."""
    return {
        "kind": "exception",
        "type": type(error).__name__,
        "message": _message(error),
        "range": calls.range_of(frame),
    }


def _message(error: Any) -> str:
    """The beginning of its text, if Python's own code makes it."""
    if not isinstance(error, BaseException):
        return ""
    made_by_python = isinstance(type(error).__str__, types.WrapperDescriptorType)
    if not made_by_python or any(
        type(part) not in (str, int, float, bytes, type(None)) for part in error.args
    ):
        return ""
    text = str(error).encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= _LONGEST_MESSAGE else text[: _LONGEST_MESSAGE - 1] + "…"
