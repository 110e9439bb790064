"""Lets `torch.jit.trace` record what it would record unwatched.

Under a dispatch mode, even an empty one, it records numbers as tensors that the recorded function cannot use
later (torch 2.13): its first call raises. So nothing is listened to while it records; the ops of that time
are not told, and that is said. Lines are seen as ever.
"""

from collections.abc import Callable
from typing import Any

import torch

_PLACES: tuple[tuple[Any, str], ...] = tuple(
    (module, name)
    for module, name in (
        (getattr(torch.jit, "_trace", None), "_trace_impl"),
        (torch.jit, "trace_module"),
    )
    if hasattr(module, name)
)


class QuietRecording:
    """While entered, `torch.jit.trace` records without being listened to.

    Args:
        began: Called each time it begins.
    """

    def __init__(self, began: Callable[[], None]) -> None:
        self._began = began
        self._before: list[Any] = []

    def __enter__(self) -> "QuietRecording":
        for module, name in _PLACES:
            function = getattr(module, name)
            self._before.append(function)
            setattr(module, name, self._quiet(function))
        return self

    def __exit__(self, *error: object) -> None:
        for (module, name), function in zip(_PLACES, self._before, strict=False):
            setattr(module, name, function)

    def _quiet(self, function: Any) -> Any:
        def quiet(*args: Any, **keywords: Any) -> Any:
            self._began()
            with torch._C._DisableTorchDispatch():
                return function(*args, **keywords)

        quiet.__name__, quiet.__doc__ = function.__name__, function.__doc__
        quiet.__wrapped__ = function  # type: ignore[attr-defined]  # as functools.wraps does
        return quiet
