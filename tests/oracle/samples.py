"""Calls to try: PyTorch's own database of operators and their sample inputs, as `Call`s by entry.

A profile says which calls an entry gives: its samples as they are, with `requires_grad`, its in-place
variant, `out=`, other dtypes, inputs that raise. Sample inputs come from PyTorch; nothing here computes.
"""

import random
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy
import torch

PROFILES = ("forward", "backward", "in-place", "out", "dtypes", "errors")

_PREFERRED = (torch.float32, torch.float64, torch.complex64, torch.int64, torch.bool)
_MOST_OF_ANOTHER_DTYPE = 8
"""Samples of an entry per dtype that is not its default."""


@dataclass(frozen=True)
class Call:
    """One call of an operator."""

    op: Callable[..., Any]
    args: list[Any]
    kwargs: dict[str, Any]
    label: str
    """Which sample it is, for a person."""


@dataclass
class Entry:
    """An entry of the database, with the calls a profile gives it."""

    name: str
    calls: list[Call] = field(default_factory=list)


def database() -> list[Any]:
    """The entries of `op_db`, by name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch.testing._internal.common_methods_invocations import op_db
    return sorted(op_db, key=name_of)


def name_of(info: Any) -> str:
    """The entry's name, its variant included: `div.floor_rounding`."""
    return f"{info.name}.{info.variant_test_name}" if info.variant_test_name else str(info.name)


def default_dtype(info: Any) -> torch.dtype | None:
    """float32 where the entry knows it, else the nearest thing; None where it has no dtype on the CPU."""
    known = info.supported_dtypes("cpu")
    for dtype in (*_PREFERRED, *sorted(known, key=str)):
        if dtype in known:
            return dtype
    return None


def seed() -> None:
    """All generators that samples are drawn from."""
    random.seed(0)
    numpy.random.seed(0)
    torch.default_generator.manual_seed(0)


def entry_of(info: Any, profile: str) -> Entry:
    """The calls of an entry under a profile."""
    entry = Entry(name_of(info))
    seed()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        entry.calls.extend(_CALLS[profile](info))
    return entry


def _samples(info: Any, dtype: torch.dtype, *, requires_grad: bool = False) -> Iterator[tuple[int, Any]]:
    yield from enumerate(info.sample_inputs("cpu", dtype, requires_grad=requires_grad))


def _call(op: Callable[..., Any], sample: Any, label: str, **more: Any) -> Call:
    return Call(op, [sample.input, *sample.args], {**sample.kwargs, **more}, label)


def _forward(info: Any) -> Iterator[Call]:
    dtype = default_dtype(info)
    if dtype is not None:
        for i, sample in _samples(info, dtype):
            yield _call(info.op, sample, f"{i}")


def _backward(info: Any) -> Iterator[Call]:
    dtype = next((d for d in _PREFERRED if d in info.supported_backward_dtypes("cpu")), None)
    if dtype is None or not info.supports_autograd:
        return
    for i, sample in _samples(info, dtype, requires_grad=True):
        yield _call(info.op, sample, f"{i}")


def _in_place(info: Any) -> Iterator[Call]:
    dtype, op = default_dtype(info), info.inplace_variant
    if op is None or dtype is None:
        return
    for i, sample in _samples(info, dtype):
        if not sample.broadcasts_input:
            yield _call(op, sample, f"{i}")


def _out(info: Any) -> Iterator[Call]:
    dtype = default_dtype(info)
    if not info.supports_out or dtype is None:
        return
    for i, sample in _samples(info, dtype):
        call = _call(info.op, sample, f"{i}")
        try:
            made = call.op(*call.args, **call.kwargs)
        except Exception:
            continue
        if isinstance(made, torch.Tensor) and made.layout is torch.strided:
            # A fitting one, one laid out otherwise, and one that must be resized.
            yield _call(info.op, sample, f"{i}, fitting", out=torch.zeros_like(made))
            yield _call(info.op, sample, f"{i}, strided", out=_apart(made))
            if i < 4:
                yield _call(info.op, sample, f"{i}, empty", out=made.new_empty(0))
        elif isinstance(made, (tuple, list)) and all(isinstance(t, torch.Tensor) for t in made):
            yield _call(info.op, sample, f"{i}, several", out=tuple(torch.zeros_like(t) for t in made))


def _apart(t: torch.Tensor) -> torch.Tensor:
    """Zeros of the same shape, every second element of a storage."""
    return torch.zeros((*t.shape, 2), dtype=t.dtype)[..., 0]


def _dtypes(info: Any) -> Iterator[Call]:
    usual = default_dtype(info)
    for dtype in sorted(info.supported_dtypes("cpu"), key=str):
        if dtype == usual:
            continue
        for i, sample in _samples(info, dtype):
            if i >= _MOST_OF_ANOTHER_DTYPE:
                break
            yield _call(info.op, sample, f"{dtype} {i}")


def _errors(info: Any) -> Iterator[Call]:
    if info.error_inputs_func is None:
        return
    for i, error in enumerate(info.error_inputs("cpu")):
        yield _call(info.op, error.sample_input, f"{i}")


_CALLS: dict[str, Callable[[Any], Iterator[Call]]] = {
    "forward": _forward,
    "backward": _backward,
    "in-place": _in_place,
    "out": _out,
    "dtypes": _dtypes,
    "errors": _errors,
}
