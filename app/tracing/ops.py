"""Two modes that hear what a statement does: API calls, and the aten ops below autograd.

`ApiMode` hears the outermost Python API call, `OpMode` every aten op, those of backward included. What
is written is not what is dispatched, so neither replaces the other. Corrections keep the program the same as
without us: the version bump of `_foreach_` ops, no import of the compiler, compiled code left alone.

Source: torch 2.13, torch/overrides.py; torch/utils/_python_dispatch.py.
"""

import sys
from typing import Any, Protocol

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from . import torch_private

_gettrace, _settrace = sys.gettrace, sys.settrace


class Listener(Protocol):
    """Hears of calls and makes them. While `busy` it works itself: its reads are not the program's.

    The trace function is away when it is called; `heard` is what it was.
    """

    busy: bool

    def api(self, heard: Any, func: Any, args: Any, kwargs: Any) -> Any:
        """An API call. Returns what it returns."""

    def op(self, heard: Any, func: Any, args: Any, kwargs: Any) -> Any:
        """An op. Returns what it returns."""


class ApiMode(TorchFunctionMode):
    """Tells a listener of the outermost Python API calls."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        super().__init__()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        listener = self._listener
        if listener.busy or type(func) is torch_private.op_overload:
            return func(*args, **kwargs or {})
        heard = _gettrace()
        _settrace(None)
        return listener.api(heard, func, args, kwargs or {})


class OpMode(TorchDispatchMode):
    """Tells a listener of aten ops."""

    supports_higher_order_operators = True  # torch.cond raises under a mode without it

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # else the first op imports torch._dynamo, and each op pays for a wrapper

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        """Yes."""
        return True  # else torch.compile silently runs eagerly

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        super().__init__()  # type: ignore[no-untyped-call]  # has no annotations

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        listener = self._listener
        if listener.busy:
            return func(*args, **kwargs or {})
        heard = _gettrace()
        _settrace(None)
        return listener.op(heard, func, args, kwargs or {})


_WRITES_RUNNING_STATS = ("aten::native_batch_norm", "aten::cudnn_batch_norm", "aten::miopen_batch_norm")
"""Ops that write arguments although their schema does not say so, when told to train."""
_TRAINING = 5
_COPIES = frozenset(
    {"aten::clone", "aten::contiguous", "aten::to.dtype", "aten::to.device", "aten::to.dtype_layout"}
)


_FILLS = frozenset(
    f"aten::{name}{overload}"
    for name, overloads in {
        "arange": ("", ".start", ".start_step"),
        "eye": ("", ".m"),
        "full": ("",),
        "linspace": ("",),
        "logspace": ("",),
        "normal": (".float_float",),
        "ones": ("",),
        "rand": ("", ".generator"),
        "randint": ("", ".low", ".generator", ".low_generator"),
        "randn": ("", ".generator"),
        "randperm": ("", ".generator"),
        "zeros": ("",),
    }.items()
    for overload in overloads
)


class OpSchema:
    """What an op's schema says: its name and which arguments it writes."""

    __slots__ = (
        "bumps",
        "copies",
        "copies_into",
        "fills",
        "func",
        "name",
        "native",
        "only_if",
        "profiles",
        "run",
        "sets_storage",
        "written",
    )

    def __init__(self, func: Any) -> None:
        schema = getattr(func, "_schema", None)
        self.func = func
        self.run = func._op if type(func) is torch_private.op_overload and hasattr(func, "_op") else func
        """What `func` calls, without its frame."""
        self.name = func.name() if schema is not None else str(func)
        namespace = self.name.partition("::")[0]
        self.profiles = namespace == "profiler"
        self.native = schema is not None and namespace in ("aten", "prim", "prims")
        """It runs no Python code of the program's."""
        self.sets_storage = not self.native or self.name.startswith("aten::set_")
        """It may give its operand another storage."""
        self.written: tuple[tuple[int, str], ...] = ()
        self.only_if: int | None = None
        """Position of the argument without which nothing is written."""
        if schema is not None:
            self.written = tuple(
                (i, a.name)
                for i, a in enumerate(schema.arguments)
                if a.alias_info is not None and a.alias_info.is_write
            )
        if self.name in _WRITES_RUNNING_STATS:
            self.written, self.only_if = ((3, "running_mean"), (4, "running_var")), _TRAINING
        self.bumps = bool(self.written) and self.name.startswith("aten::_foreach_")
        """PyTorch does not bump the versions of what it writes under a dispatch mode: see below."""
        self.copies_into = self.name == "aten::copy_"
        """It copies one operand into the other, which may be on another device."""
        self.copies = self.name in _COPIES
        """It makes a tensor and copies its operand into it."""
        self.fills = self.name in _FILLS
        """It makes a tensor from nothing and writes its values into it."""


_schemas: dict[int, OpSchema] = {}


def schema_of(func: Any) -> OpSchema:
    """The schema facts of an op, read once. Ops are known by their address: their hash is Python code."""
    known = _schemas.get(id(func))
    if known is None or known.func is not func:
        known = _schemas[id(func)] = OpSchema(func)
    return known


def written_tensors(schema: OpSchema, args: Any, kwargs: Any) -> list[Any]:
    """Tensors the op's schema says are written."""
    written: list[Any] = []
    if schema.only_if is not None and not (len(args) > schema.only_if and args[schema.only_if]):
        return written
    for i, name in schema.written:
        value = args[i] if i < len(args) else kwargs.get(name)
        for t in value if issubclass(type(value), (list, tuple)) else (value,):
            if issubclass(type(t), torch.Tensor):
                written.append(t)
    return written


def keep_foreach_versions(func: Any, args: Any, kwargs: Any) -> None:
    """Bump the versions that in-place `_foreach_` ops do not bump under a dispatch mode, but do without.

    44 of 44 such ops leave the counters alone under any mode; a real "modified by an inplace operation"
    error would disappear.
    """
    schema = schema_of(func)
    if schema.bumps:
        for t in written_tensors(schema, args, kwargs):
            torch_private.increment_version(t)


def keep_versions(func: Any, args: Any, kwargs: Any, out: Any) -> None:
    """Count what an op would count without a dispatch mode: all of the corrections here."""
    schema = schema_of(func)
    if schema.bumps:
        keep_foreach_versions(func, args, kwargs)
    elif schema.copies:
        keep_version_of_copy(tensors_among(args, kwargs), out)
    elif schema.fills:
        keep_version_of_filled(out)


def keep_version_of_copy(given: list[Any], out: Any) -> None:
    """Bump the version of a copy of an inference tensor, made outside of inference mode.

    Without a mode nothing on the way of such an op keeps the copying into the new tensor from being counted.
    """
    if torch.is_inference_mode_enabled() or not issubclass(type(out), torch.Tensor):
        return
    if given and given[0].is_inference() and not out.is_inference():
        torch_private.increment_version(out)


def keep_version_of_filled(out: Any) -> None:
    """Bump the version of a tensor that C++ code made by an op of its own: `pad_sequence`, `one_hot`.

    It is filled in place, and that counts unless versions are left out; `torch.zeros` leaves them out.
    """
    if torch_private.counted_versions() and not torch.is_inference_mode_enabled():
        torch_private.increment_version(out)


_MOST_LOOKED_AT = 64
_NUMBERS_AND_WORDS = frozenset(
    id(kind)
    for kind in (
        type(None),
        bool,
        int,
        float,
        complex,
        str,
        type(...),
        torch.dtype,
        torch.device,
        torch.layout,
        torch.memory_format,
        torch.Generator,
    )
)
_BUILT_IN = frozenset(
    {
        type(torch.add),
        type(torch.Tensor.add),
        type(torch.Tensor.__getitem__),
        type(torch.Tensor.shape.__get__),  # type: ignore[attr-defined]
    }
)


def is_built_in(func: Any) -> bool:
    """An API call is C++ code, not Python code that calls some."""
    return type(func) in _BUILT_IN


def operands(args: Any, kwargs: Any) -> tuple[list[Any], bool]:
    """Tensors among arguments, those in lists included, in order; and whether the arguments are plain.

    Plain arguments have no methods that a program could have written: tensors of PyTorch's own classes,
    numbers, words, and short lists of those.
    """
    found: list[Any] = []
    plain = True
    for value in (*args, *kwargs.values()) if kwargs else args:
        kind = type(value)
        if kind is torch.Tensor or kind is torch.nn.Parameter:
            found.append(value)
        elif id(kind) in _NUMBERS_AND_WORDS:
            pass
        elif kind is list or kind is tuple or kind is torch.Size:
            plain = plain and len(value) <= _MOST_LOOKED_AT
            for each in value:
                inner = type(each)
                if inner is torch.Tensor or inner is torch.nn.Parameter:
                    found.append(each)
                elif id(inner) in _NUMBERS_AND_WORDS:
                    pass
                elif issubclass(type(each), torch.Tensor):
                    found.append(each)
                    plain = False
                elif not _is_plain_slice(each):
                    plain = False
        elif issubclass(type(value), torch.Tensor):
            found.append(value)
            plain = False
        elif not _is_plain_slice(value):
            plain = False
    return found, plain


def _is_plain_slice(value: Any) -> bool:
    return type(value) is slice and all(
        id(type(each)) in _NUMBERS_AND_WORDS for each in (value.start, value.stop, value.step)
    )


def tensors_among(args: Any, kwargs: Any) -> list[Any]:
    """Tensors among arguments, those in lists included, in order."""
    found = []
    for value in (*args, *kwargs.values()) if kwargs else args:
        if issubclass(type(value), torch.Tensor):
            found.append(value)
        elif type(value) is list or type(value) is tuple:
            found.extend(t for t in value if issubclass(type(t), torch.Tensor))
    return found


def tensors_returned(out: Any) -> list[Any]:
    """Tensors an op or API call returned, those in lists and tuples included."""
    if issubclass(type(out), torch.Tensor):
        return [out]
    if issubclass(type(out), (list, tuple)):
        found = []
        for value in out:
            if issubclass(type(value), torch.Tensor):
                found.append(value)
            elif issubclass(type(value), (list, tuple)):
                found.extend(t for t in value if issubclass(type(t), torch.Tensor))
        return found
    return []


def forget_warnings() -> None:
    """Let a warning be shown again that was meant for another line of the program.

    Python remembers per module and line what it showed. A warning of a watched call falls on a line of
    this module, always the same; `output` tells the program's lines apart.
    """
    globals().pop("__warningregistry__", None)
