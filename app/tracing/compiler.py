"""Keeps `torch.compile` from compiling the tracer.

Dynamo takes every Python frame that is evaluated below a compiled function, callbacks of ours included;
compiling one costs a second and can fail. Each code object of this package is put on its list to skip.

Source: torch 2.13, torch/_dynamo/eval_frame.py.
"""

import sys
import types
from collections.abc import Iterator

from .torch_private import skip_code

_hidden = False


def hide_from_dynamo() -> None:
    """Put every function of the tracer on dynamo's list to skip. Imports torch._dynamo."""
    global _hidden
    if _hidden:
        return
    _hidden = True
    package = __name__.rpartition(".")[0]
    for name, module in list(sys.modules.items()):
        if name == package or name.startswith(package + "."):
            for code in _codes_of_module(module):
                skip_code(code)


def _codes_of_module(module: types.ModuleType) -> Iterator[types.CodeType]:
    for value in vars(module).values():
        if getattr(value, "__module__", None) != module.__name__:
            continue
        members = vars(value).values() if isinstance(value, type) else (value,)
        for member in members:
            function = getattr(member, "__func__", member)
            if isinstance(function, property):
                function = function.fget
            if isinstance(function, types.FunctionType):
                yield from _with_inner(function.__code__)


def _with_inner(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _with_inner(constant)
