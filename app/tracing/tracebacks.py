"""Takes frames of the tracer out of the tracebacks of the program's exceptions.

A call that raises was made through a mode: its traceback has frames of ours, keeps what they hold alive, and
`traceback.print_exc()` would show them. They are unlinked when the exception reaches a frame of the program.
"""

import os
from typing import Any

_OURS = os.path.dirname(__file__) + os.sep
_SHIM = os.path.join("torch", "overrides.py")
_MAKE_OPS = ("__torch_dispatch__", "op")
_OPS = os.path.join("torch", "_ops.py")


def is_ours(filename: str) -> bool:
    """A file of the tracer, or the one through which PyTorch calls it."""
    return filename.startswith(_OURS) or filename.endswith(_SHIM)


def unlink_ours(entry: Any, program: str) -> None:
    """Take frames of the tracer out of a traceback, as far as the next frame of the program.

    Args:
        entry: The traceback's entry of a frame of the program.
        program: Its file.
    """
    while entry is not None:
        following = _without_ours(entry.tb_next)
        if following is not entry.tb_next:
            entry.tb_next = following
        if following is None or following.tb_frame.f_code.co_filename == program:
            return  # what is behind was looked at when it was raised there
        entry = following


def _without_ours(entry: Any) -> Any:
    """The first entry from this one on that would be there without us."""
    while entry is not None:
        code = entry.tb_frame.f_code
        behind = entry.tb_next
        if is_ours(code.co_filename):
            entry = behind
            dispatched = code.co_name in _MAKE_OPS and behind is not None
            if dispatched and behind.tb_frame.f_code.co_filename.endswith(_OPS):
                entry = behind.tb_next
        elif behind is not None and _goes_through_shim(behind.tb_frame.f_code):
            entry = behind  # a function that calls itself again, through the mode
        else:
            return entry
    return None


def _goes_through_shim(code: Any) -> bool:
    return bool(code.co_name == "handle_torch_function" and code.co_filename.endswith(_SHIM))
