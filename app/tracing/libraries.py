"""Which library an op runs inside: `o.step()` runs inside `torch.optim`, `x + 1` inside none.

Only code that the reader did not write and does not call an op of PyTorch by: layers, optimizers, other
packages. The functions of PyTorch's own API, Python code or not, are the API and not a library around it.
"""

from typing import Any

_US = __name__.rpartition(".")[0]
_WRAPPERS = frozenset({"contextlib", "functools", "torch.utils._contextlib"})
"""Modules whose frames only call another function."""

_API = ("torch.functional", "torch.nn.functional", "torch.autograd", "torch.overrides")


def library_called(frame: Any, program: str) -> str | None:
    """The library whose function the program called, seen from a frame below; None for none.

    Args:
        frame: The frame below.
        program: File name of the program in code objects.
    """
    modules: list[str] = []
    while frame is not None and frame.f_code.co_filename != program:
        name = dict.get(frame.f_globals, "__name__")
        modules.append(name if type(name) is str else "")
        frame = frame.f_back
    for module in reversed(modules):
        if module not in _WRAPPERS:
            return _library(module)
    return None


def _library(module: str) -> str | None:
    """Name of a module as the reader imports it: `torch.nn`, `copy`."""
    first, _, rest = module.partition(".")
    if not first or module == _US or module.startswith((_US + ".", *_API)):
        return None
    if first != "torch":
        return first
    second = rest.partition(".")[0]
    return None if not second or second.startswith("_") else f"torch.{second}"
