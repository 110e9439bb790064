"""Watches the tracer's hearing from below: what each op truly did to storages.

Both modes are entered before the tracer's own, so they run after it, inside its call of the op. They take
no fact from it: an output is the very object that went in, or lies on the storage of one that went in, or
neither; an input was written if its bytes are others than before.
"""

from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from .facts import components, storage_bits, storage_key, tensors_in, told, unheard


class OpSeen:
    """One aten op."""

    __slots__ = ("failed", "inputs", "looks", "name", "outputs", "relations", "written")

    def __init__(self, name: str, inputs: int) -> None:
        self.name = name
        self.failed = False
        self.inputs = inputs
        self.outputs = 0
        self.relations: list[str] = []
        """Per output: `same` object as an input, `view` of its storage, else `fresh`."""
        self.written: list[bool] = []
        """Per output: it is an input, and bytes of it changed."""
        self.looks: list[tuple[Any, ...]] = []
        """Per output: shape, stride, offset, dtype below autograd."""


class ApiSeen:
    """One outermost API call."""

    __slots__ = ("inputs", "name", "ops", "outputs", "returned_input")

    def __init__(self, name: str, ops: int, inputs: list[int], outputs: list[int]) -> None:
        self.name = name
        self.ops = ops
        """How many ops it ran."""
        self.inputs = len(inputs)
        self.outputs = len(outputs)
        self.returned_input = any(o in inputs for o in outputs)


class Witness:
    """The two modes and what they saw."""

    def __init__(self) -> None:
        self.ops: list[OpSeen] = []
        self.apis: list[ApiSeen] = []
        self.heard = 0
        self._modes = (_Ops(self), _Apis(self))

    def __enter__(self) -> "Witness":
        for mode in self._modes:
            mode.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        for mode in reversed(self._modes):
            mode.__exit__(None, None, None)

    def take(self) -> tuple[list[OpSeen], list[ApiSeen]]:
        """What was seen since the last time."""
        ops, self.ops = self.ops, []
        apis, self.apis = self.apis, []
        return ops, apis


def _storages_of(t: torch.Tensor) -> set[int]:
    """The storages a tensor lies on: several for a sparse one."""
    if t.layout is torch.strided:
        key = storage_key(t)
        return set() if key is None else {key}
    parts = [told(part) for part in components(t)]
    return {key for p in parts if p is not None and (key := storage_key(p)) is not None}


class _Ops(TorchDispatchMode):
    supports_higher_order_operators = True

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        return True

    def __init__(self, witness: Witness) -> None:
        self._witness = witness
        super().__init__()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func.namespace == "profiler":
            return func(*args, **kwargs)
        with unheard():
            given = [t for _, t in tensors_in([args, kwargs], "")]
            before = [storage_bits(t) for t in given]
            seen = OpSeen(func.name(), len(given))
        try:
            out = func(*args, **kwargs)
        except BaseException:
            seen.failed = True
            self._witness.ops.append(seen)
            self._witness.heard += 1
            raise
        with unheard():
            self._saw(seen, given, before, out)
        self._witness.ops.append(seen)
        self._witness.heard += 1
        return out

    @staticmethod
    def _saw(seen: OpSeen, given: list[Any], before: list[int | None], out: Any) -> None:
        places = set().union(*map(_storages_of, given)) if given else set()
        for _, t in tensors_in(out, ""):
            seen.outputs += 1
            at = next((i for i, g in enumerate(given) if g is t), None)
            seen.written.append(at is not None and storage_bits(t) != before[at])
            shares = bool(_storages_of(t) & places)
            relation = "same" if at is not None else "view" if shares else "fresh"
            # What goes into it is a tensor that torch.tensor has just made and nobody has seen.
            seen.relations.append("fresh" if seen.name == "aten::lift_fresh" else relation)
            strided = t.layout is torch.strided
            seen.looks.append(
                (
                    told(lambda t=t: tuple(t.shape)),
                    told(t.stride) if strided else None,
                    None if t.is_nested else told(t.storage_offset),
                    str(t.dtype),
                )
            )


class _Apis(TorchFunctionMode):
    def __init__(self, witness: Witness) -> None:
        self._witness = witness
        super().__init__()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        heard = self._witness.heard
        out = func(*args, **kwargs)
        with unheard():
            inputs = [id(t) for _, t in tensors_in([args, kwargs], "")]
            outputs = [id(t) for _, t in tensors_in(out, "")]
        name = getattr(func, "__name__", None) or str(func)
        self._witness.apis.append(ApiSeen(name, self._witness.heard - heard, inputs, outputs))
        return out
