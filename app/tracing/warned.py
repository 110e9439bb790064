"""Points a warning of a watched call at the frame it is meant for.

A mode stands between the caller and PyTorch: a warning for the caller of a function, or one that C++ raises
for the running frame, would fall on a line of ours. Filters by module would not match it, and a program
that records warnings would find our file in them. Such a warning is let through, and issued once more for
the frame that it would have without us; Python's own filters and registries then decide.

Source: Python 3.11, Lib/warnings.py; Python/_warnings.c, setup_context.
"""

import re
import sys
import warnings
from collections.abc import Callable
from typing import Any

from .tracebacks import is_ours

_LET_THROUGH = re.compile(re.escape(__name__.rpartition(".")[0]) + r"\.")


class TrueWarnings:
    """While entered, warnings fall on the frames they would fall on without the tracer."""

    def __enter__(self) -> "TrueWarnings":
        self._show: Callable[[Any], None] = warnings._showwarnmsg  # type: ignore[attr-defined]
        warnings._showwarnmsg = self._issued  # type: ignore[attr-defined]
        return self

    def __exit__(self, *error: object) -> None:
        warnings._showwarnmsg = self._show  # type: ignore[attr-defined]

    def _issued(self, message: Any) -> None:
        frame = _meant_for(message.filename)
        if frame is None:
            self._show(message)
            return
        warnings.warn_explicit(
            message.message,
            message.category,
            frame.f_code.co_filename,
            frame.f_lineno,
            module=dict.get(frame.f_globals, "__name__") or "<unknown>",
            registry=frame.f_globals.setdefault("__warningregistry__", {}),
            source=message.source,
        )


def let_ours_through() -> None:
    """A filter for warnings that fall on the tracer, in front of the others: they are filtered later."""
    warnings.filters.insert(0, ("always", None, Warning, _LET_THROUGH, 0))  # type: ignore[attr-defined]
    warnings._filters_mutated()  # type: ignore[attr-defined]


def _meant_for(filename: str) -> Any:
    """The frame that called what warns, were it not for us; None when it does not fall on ours."""
    if not is_ours(filename):
        return None
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename != filename:
        frame = frame.f_back
    while frame is not None and is_ours(frame.f_code.co_filename):
        through_shim = frame.f_code.co_name == "handle_torch_function"
        frame = frame.f_back
        if through_shim and frame is not None and not is_ours(frame.f_code.co_filename):
            frame = frame.f_back  # the function itself, which goes through `torch.overrides` once to reach us
    return frame
