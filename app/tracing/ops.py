"""Two modes that hear what a statement does: API calls, and the aten ops below autograd.

`ApiMode` hears the outermost Python API call, `OpMode` every aten op, those of backward included. What
is written is not what is dispatched, so neither replaces the other. Corrections keep the program the same as
without us: the version bump of `_foreach_` ops, no import of the compiler, compiled code left alone.

Source: torch 2.13, torch/overrides.py; torch/utils/_python_dispatch.py.
"""

from typing import Any, Protocol

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from . import torch_private


class Listener(Protocol):
    """Hears of calls. `busy` is true while it works itself: its own reads are not the program's."""

    busy: bool

    def api_begins(self, func: Any, args: Any, kwargs: Any) -> Any:
        """An API call begins. Returns a token for its end; None not to hear of it."""

    def api_ends(self, token: Any, func: Any, args: Any, kwargs: Any, out: Any) -> None:
        """It returned `out`."""

    def api_raised(self, token: Any, func: Any, args: Any, kwargs: Any, error: BaseException) -> None:
        """It raised."""

    def op_begins(self, func: Any, args: Any, kwargs: Any) -> Any:
        """An op begins. Returns a token for its end."""

    def op_ends(self, token: Any, func: Any, args: Any, kwargs: Any, out: Any) -> None:
        """It returned `out`."""

    def op_raised(self, token: Any, func: Any, args: Any, kwargs: Any, error: BaseException) -> None:
        """It raised."""


class ApiMode(TorchFunctionMode):
    """Tells a listener of the outermost Python API calls."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        super().__init__()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        listener, kwargs = self._listener, kwargs or {}
        if listener.busy or type(func) is torch_private.op_overload:
            return func(*args, **kwargs)
        token = listener.api_begins(func, args, kwargs)
        if token is None:
            return func(*args, **kwargs)
        try:
            out = func(*args, **kwargs)
        except BaseException as error:
            listener.api_raised(token, func, args, kwargs, error)
            raise
        listener.api_ends(token, func, args, kwargs, out)
        return out


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
        listener, kwargs = self._listener, kwargs or {}
        if listener.busy or getattr(func, "namespace", "") == "profiler":
            return func(*args, **kwargs)
        token = listener.op_begins(func, args, kwargs)
        try:
            out = func(*args, **kwargs)
        except BaseException as error:
            if token is not None:
                listener.op_raised(token, func, args, kwargs, error)
            raise
        if token is not None:
            keep_foreach_versions(func, args, kwargs)
            listener.op_ends(token, func, args, kwargs, out)
        return out


_WRITES_RUNNING_STATS = ("aten::native_batch_norm", "aten::cudnn_batch_norm", "aten::miopen_batch_norm")
"""Ops that write arguments although their schema does not say so, when told to train."""
_TRAINING = 5


class OpSchema:
    """What an op's schema says: its name and which arguments it writes."""

    __slots__ = ("name", "only_if", "written")

    def __init__(self, func: Any) -> None:
        schema = getattr(func, "_schema", None)
        self.name = func.name() if schema is not None else str(func)
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


_schemas: dict[Any, OpSchema] = {}


def schema_of(func: Any) -> OpSchema:
    """The schema facts of an op, read once."""
    known = _schemas.get(func)
    if known is None:
        known = _schemas[func] = OpSchema(func)
    return known


def written_tensors(schema: OpSchema, args: Any, kwargs: Any) -> list[Any]:
    """Tensors the op's schema says are written."""
    written: list[Any] = []
    if schema.only_if is not None and not (len(args) > schema.only_if and args[schema.only_if]):
        return written
    for i, name in schema.written:
        value = args[i] if i < len(args) else kwargs.get(name)
        for t in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(t, torch.Tensor):
                written.append(t)
    return written


def keep_foreach_versions(func: Any, args: Any, kwargs: Any) -> None:
    """Bump the versions that in-place `_foreach_` ops do not bump under a dispatch mode, but do without.

    44 of 44 such ops leave the counters alone under any mode; a real "modified by an inplace operation"
    error would disappear.
    """
    schema = schema_of(func)
    if schema.written and schema.name.startswith("aten::_foreach_"):
        for t in written_tensors(schema, args, kwargs):
            torch_private.increment_version(t)


def tensors_among(args: Any, kwargs: Any) -> list[Any]:
    """Tensors among arguments, those in lists included, in order."""
    found = []
    for value in (*args, *kwargs.values()) if kwargs else args:
        if isinstance(value, torch.Tensor):
            found.append(value)
        elif type(value) is list or type(value) is tuple:
            found.extend(t for t in value if isinstance(t, torch.Tensor))
    return found


def tensors_returned(out: Any) -> list[Any]:
    """Tensors an op or API call returned, those in lists and tuples included."""
    if isinstance(out, torch.Tensor):
        return [out]
    if isinstance(out, (list, tuple)):
        found = []
        for value in out:
            if isinstance(value, torch.Tensor):
                found.append(value)
            elif isinstance(value, (list, tuple)):
                found.extend(t for t in value if isinstance(t, torch.Tensor))
        return found
    return []


def forget_warnings() -> None:
    """Let a warning be shown again that was meant for another line of the program.

    Python remembers per module and line what it showed. A warning of a watched call falls on a line of
    this module, always the same; `output` tells the program's lines apart.
    """
    globals().pop("__warningregistry__", None)
