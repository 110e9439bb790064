"""Custom ops whose kernels a program wrote in Python: run with the dispatch keys they have without us.

Below a dispatch mode PyTorch leaves out every key above it, autograd and the counting of versions included.
Ops in C++ are past those keys anyway. A kernel in Python is not: what it calls counts versions, and where
nobody registered an autograd kernel, makes graph nodes. So such a kernel is handed over with the keys of the
thread as they were, and with the modes back in place, so that what it does is heard. Which ops there are,
and what they write, is in `ops`.

Source: torch 2.13, aten/src/ATen/core/PythonFallbackKernel.cpp; torch/_library/autograd.py; torch/library.py.
"""

import sys
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import torch

from . import torch_private

_PLAIN = frozenset({torch.Tensor, torch.nn.Parameter})
_KEYS = ("CPU", "CompositeExplicitAutograd", "CUDA", "Meta", "CompositeExplicitAutogradNonFunctional")
_ABOVE = 4
"""Frames between an op of `torch.library` and the function of it that keeps autograd out."""


def runner_of(func: Any, given: list[Any], modes: tuple[Any, ...]) -> Callable[..., Any] | None:
    """What runs a custom op as it runs without us; None for ops that need no such thing.

    Args:
        func: The op.
        given: Tensors among its arguments.
        modes: Ours, the outermost first. They must not be on PyTorch's stacks now.
    """
    private = torch_private.custom_kernels
    if private is None or not given or any(type(t) not in _PLAIN for t in given):
        return None
    if not hasattr(func, "_handle") or private.functorch_level() is not None:
        return None
    namespace, _, name = func.name().partition("::")
    if not any(f"{namespace}/{name}/{key}" in private.registered for key in _KEYS):
        return None
    keys = private.keys_of(given[0])
    for t in given[1:]:
        keys = keys | private.keys_of(t)
    return _Runner(func, keys & private.below_python, modes, _autograd_is_out()).run


def _autograd_is_out() -> bool:
    """The autograd kernel that `torch.library` gives a custom op is on the stack."""
    code = torch_private.custom_autograd
    frame: Any = sys._getframe(3)
    for _ in range(_ABOVE + 3):
        if frame is None:
            return False
        if frame.f_code.co_filename == code and frame.f_code.co_name.startswith("forward"):
            return True
        frame = frame.f_back
    return False


class _Runner:
    """One call of a custom op."""

    def __init__(self, func: Any, keys: Any, modes: tuple[Any, ...], below_autograd: bool) -> None:
        self._func = func
        self._keys = keys
        self._modes = modes
        self._below_autograd = below_autograd

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Run its kernel."""
        private = torch_private.custom_kernels
        assert private is not None
        with ExitStack() as stack:
            stack.enter_context(private.as_on_entry())
            for mode in self._modes:
                stack.enter_context(mode)
            if self._below_autograd:
                stack.enter_context(private.without_autograd())
            return self._func._handle.redispatch_boxed(self._keys, *args, **kwargs)
