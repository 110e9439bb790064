"""An exception as it is raised: its class, its text, where. It is never held.

No code of the program runs for it: a text that the program's own `__str__` would have to make stays empty.
"""

import types
from typing import Any

from .calls import Calls
from .classes import class_of, member

_LONGEST_MESSAGE = 300
_PLAIN = frozenset(map(id, (str, int, float, bytes, type(None))))
_args = BaseException.__dict__["args"].__get__
_SAID = {
    OSError: [OSError.__dict__[name].__get__ for name in ("errno", "strerror", "filename", "filename2")],
    SyntaxError: [SyntaxError.__dict__[name].__get__ for name in ("msg", "filename", "lineno")],
    ImportError: [ImportError.__dict__["msg"].__get__],
    UnicodeEncodeError: [UnicodeEncodeError.__dict__[name].__get__ for name in ("encoding", "reason")],
    UnicodeDecodeError: [UnicodeDecodeError.__dict__[name].__get__ for name in ("encoding", "reason")],
    UnicodeTranslateError: [UnicodeTranslateError.__dict__["reason"].__get__],
}
"""What the texts of Python's own exceptions are made of beside their arguments."""


def exception_event(calls: Calls, frame: Any, error: Any) -> dict[str, Any]:
    """The event that tells of an exception raised in a frame."""
    return {
        "kind": "exception",
        "type": class_of(error),
        "message": text_of(error),
        "range": calls.range_of(frame),
    }


def _is_plain(part: Any) -> bool:
    return id(type(part)) in _PLAIN


def text_of(error: Any) -> str:
    """The beginning of its text, if Python's own code makes it."""
    kind = type(error)
    if not issubclass(kind, BaseException):
        return ""
    made_by_python = type(member(kind, "__str__")) is types.WrapperDescriptorType
    parts = [get(error) for base, names in _SAID.items() if issubclass(kind, base) for get in names]
    if not made_by_python or not all(map(_is_plain, (*_args(error), *parts))):
        return ""
    text = str(error).encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= _LONGEST_MESSAGE else text[: _LONGEST_MESSAGE - 1] + "…"
