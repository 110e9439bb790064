"""What a tensor is beside its view: a wrapper of `torch.func`, uninitialized, without its bytes.

Most tensors have no traits, and finding that out must cost next to nothing: the reading begins with what
is known already. Traits are pairs of an id and arguments; the catalogues word them (`trait.<id>`).

Source: torch 2.13, torch/_C/_functorch.pyi; torch/nn/parameter.py; torch/autograd/forward_ad.py.
"""

from typing import Any

import torch
from torch.autograd import forward_ad

from . import reading, torch_private
from .classes import class_name
from .rows import StorageRow

Trait = tuple[str, tuple[tuple[str, Any], ...]]
"""An id and its arguments."""

_LAYERS = {
    "bytes-freed": "data",
    "grad-fn-unavailable": "autograd",
    "inference": "autograd",
    "dual": "autograd",
}
_MOST_COMPONENTS = 200
_PLAIN = (torch.Tensor, torch.nn.Parameter)


def layers_of(traits: set[Trait]) -> set[str]:
    """The layers that traits belong to."""
    return {_LAYERS.get(trait[0], "metadata") for trait in traits}


def may_have(t: Any, key: tuple[Any, ...], storage: StorageRow | None, version: int | None) -> bool:
    """A quick look: False for nearly all tensors."""
    return (
        storage is None
        or version is None
        or key[0] is None
        or key[10] is None
        or storage.odd
        or type(t) not in _PLAIN
        or forward_ad._current_level >= 0
    )


def traits_of(
    t: Any, key: tuple[Any, ...], storage: StorageRow | None, version: int | None
) -> tuple[Trait, ...]:
    """The traits of a tensor.

    Args:
        t: The tensor.
        key: Its view key.
        storage: The row of its storage.
        version: Its version counter.
    """
    found: list[Trait] = []
    kind = type(t)
    if kind is not torch.Tensor and kind is not torch.nn.Parameter:
        found += _of_class(t, kind)
    if storage is None and key[4] == "torch.strided":
        found += _of_wrapper(t)
    if key[0] is None and reading.get_is_nested(t):
        found += _of_nested(t)
    if version is None and reading.is_inference(t):
        found.append(("inference", ()))
    if key[10] is None:
        found += _of_lost_history(t)
    if storage is not None:
        if storage.foreign:
            found.append(("foreign-memory", ()))
        if storage.shrunk:
            found += _of_lost_bytes(t, storage)
    if forward_ad._current_level >= 0 and key[4] == "torch.strided" and storage is not None:
        found += _of_dual(t)
    return tuple(found)


def _of_class(t: Any, kind: type) -> list[Trait]:
    if reading.is_uninitialized(t):
        buffer = not issubclass(kind, torch.nn.Parameter)
        return [("uninitialized", (("kind", "buffer" if buffer else "parameter"),))]
    if reading.dispatches_to_python(t) and not reading.get_is_nested(t):
        return [("wrapper", (("kind", class_name(kind)),))]
    return []


def _of_wrapper(t: Any) -> list[Trait]:
    """What `torch.func` puts around a tensor while a function is transformed."""
    if torch_private.is_batched(t):
        return [("batched", (("level", torch_private.level_of(t)),))]
    if torch_private.is_grad_tracking(t):
        return [("grad-tracking", (("level", torch_private.level_of(t)),))]
    if torch_private.is_functional(t):
        return [("functional", ())]
    return []


def _of_nested(t: Any) -> list[Trait]:
    """Sizes of the components of a nested tensor; the shape of a jagged one has a symbol in it."""
    if reading.get_layout(t) is not torch.strided:
        try:
            return [("symbolic-shape", (("shape", str(tuple(reading.get_shape(t)))),))]
        except RuntimeError:
            return []
    sizes = torch.Tensor._nested_tensor_size(t).tolist()[:_MOST_COMPONENTS]
    return [("components", (("sizes", tuple(str(tuple(size)) for size in sizes)),))]


def _of_lost_history(t: Any) -> list[Trait]:
    """Why PyTorch refuses to give the grad_fn: the view and its base were modified in ways that conflict."""
    try:
        reading.get_grad_fn(t)
    except RuntimeError as error:
        text = str(error)
        why = "other"
        if "multiple views" in text:
            why = "multi-output"
        elif "no_grad mode" in text:
            why = "no-grad"
        elif "inference mode" in text:
            why = "inference"
        return [("grad-fn-unavailable", (("why", why),))]
    return []


def _of_lost_bytes(t: Any, storage: StorageRow) -> list[Trait]:
    try:
        if reading.is_readable(t, storage.nbytes, storage.address):
            return []
    except (RuntimeError, NotImplementedError):
        return []
    return [("bytes-freed", (("nbytes", storage.nbytes),))]


def _of_dual(t: Any) -> list[Trait]:
    level = forward_ad._current_level
    try:
        with torch.no_grad():
            tangent = torch_private.unpack_dual(t, level=level)[1]
    except RuntimeError:
        return []
    return [] if tangent is None else [("dual", (("level", level),))]
