"""Says at once that the compiler of `torch.compile`'s default backend cannot run in the sandbox.

Inductor writes C++ and runs a compiler on it; the sandbox runs no other program. Left alone, it imports
itself for seconds and fails late, or meets the limit on time first. The error is the one it would end with.
"""

import errno
from typing import Any

from . import torch_private

REFUSED = (
    "inductor runs a C++ compiler, and the sandbox runs no other program; use backend='eager' or 'aot_eager'"
)


class NoInductor:
    """While entered, the backend `inductor` fails before it begins."""

    def __init__(self) -> None:
        self._put_back: list[tuple[Any, Any]] = []

    def __enter__(self) -> "NoInductor":
        wrapper = torch_private.inductor_wrapper
        if wrapper is not None:
            self._put_back.append((wrapper, wrapper.__call__))
            wrapper.__call__ = _refuse
        return self

    def __exit__(self, *error: object) -> None:
        for wrapper, original in self._put_back:
            wrapper.__call__ = original
        self._put_back.clear()


def _refuse(self: Any, module: Any, inputs: Any, **options: Any) -> Any:
    raise PermissionError(errno.EACCES, REFUSED)
