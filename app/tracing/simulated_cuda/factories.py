"""Functions that make tensors, and may be told on which device."""

from typing import Any

import torch
from torch.utils import _device

from .. import torch_private
from .generators import check_generator
from .labels import CPU
from .machine import JAGGED, Machine
from .moves import heard
from .patches import Patches, not_simulated

_FROM_DATA = ("tensor", "as_tensor", "asarray")
_LIKE = ("zeros_like", "ones_like", "empty_like", "full_like", "rand_like", "randn_like", "randint_like")
_NEW = ("new_zeros", "new_ones", "new_empty", "new_full", "new_empty_strided")
_ALSO = ("normal",)


def put_factories(machine: Machine, patches: Patches) -> None:
    """Replace every function that takes a device."""
    makers = _Makers(machine)
    named: dict[Any, str] = {}
    for function in _device._device_constructors():  # cached: the originals must be asked for first
        named[function] = function.__name__
    for owner in (torch, torch.fft, torch.nested):
        for name, function in list(vars(owner).items()):
            if _is_among(function, named) and name not in _FROM_DATA:
                patches.put(
                    owner, name, heard(function, makers.maker(function, by_default=True), places=True)
                )
    for name in (*_LIKE, *_ALSO):
        function = getattr(torch, name)
        patches.put(torch, name, heard(function, makers.maker(function)))
    for name in _NEW:
        method = getattr(torch._C.TensorBase, name)
        patches.put(torch.Tensor, name, heard(method, makers.maker(method)))
    for name in _FROM_DATA:
        function = getattr(torch, name)
        patches.put(torch, name, heard(function, makers.from_data(function), places=True))
    method = torch._C.TensorBase.new_tensor
    patches.put(torch.Tensor, "new_tensor", heard(method, makers.new_tensor))
    patches.put(torch.Tensor, "new", heard(torch._C.TensorBase.new, makers.new))


def _is_among(function: Any, named: dict[Any, str]) -> bool:
    try:
        return function in named
    except TypeError:
        return False


def _there(part: Any, place: torch.device) -> Any:
    """A part of a sparse tensor on its device; where it is a list, made there."""
    if isinstance(part, torch.Tensor):
        return part.to(place)
    nested = isinstance(part, (list, tuple)) and not isinstance(part, torch.Size)
    return torch.tensor(part, device=place) if nested and place.type == "cuda" else part


class _Makers:
    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def maker(self, original: Any, *, by_default: bool = False) -> Any:
        """One that makes on the device it is told, or where the program wants tensors that name none."""
        machine, sparse = self._machine, original.__name__.startswith("sparse")

        def make(*args: Any, **kwargs: Any) -> Any:
            asked = kwargs.get("device")
            if asked is None and sparse:
                place = self._place_of_parts(args)
            elif asked is None:
                place = machine.default() if by_default else None
            else:
                place = machine.device(asked)
            pin = kwargs.pop("pin_memory", False) and (place is None or place == CPU)
            if place is None:
                if not by_default:
                    return original(*args, **kwargs)
                place = CPU
            elif place.type not in ("cpu", "cuda"):
                return original(*args, **kwargs)
            else:
                kwargs["device"] = CPU
            self._check_generator(kwargs, place)
            if kwargs.get("layout") is torch.jagged and place.type == "cuda":
                raise not_simulated("a nested tensor of layout torch.jagged of a list", JAGGED)
            if sparse:
                parts = 2 if original is torch._C._VariableFunctions.sparse_coo_tensor else 3
                args = (*(_there(each, place) for each in args[:parts]), *args[parts:])
            with machine.making_on(place):
                out = original(*args, **kwargs)
            if sparse and place.type == "cuda":
                machine.labels.put(out, place)
            if pin and isinstance(out, torch.Tensor):
                machine.labels.pin(out)
            return out

        return make

    def _place_of_parts(self, parts: Any) -> torch.device | None:
        """Where a sparse tensor is made of indices and values: they say it, and must agree.

        Raises:
            RuntimeError: They are on two devices.
        """
        machine = self._machine
        given = [part for part in parts if isinstance(part, torch.Tensor)]
        places = [machine.labels.of(part) for part in given]
        if len(set(places)) > 1 and len(given) == 2:
            indices, values = places
            if values == CPU:
                raise RuntimeError(
                    f"backend of indices ({indices.type}) must match backend of values ({values.type})"
                )
            raise RuntimeError(
                f"Expected all tensors to be on the same device, but got values is on {values}, different "
                f"from other tensors on {indices} (when checking argument in method "
                "wrapper_SparseCUDA___sparse_coo_tensor_with_dims_and_tensors)"
            )
        return places[-1] if places else machine.default()

    def _check_generator(self, kwargs: dict[str, Any], place: torch.device) -> None:
        """A generator draws for its own kind of device."""
        generator = kwargs.get("generator")
        if generator is not None:
            check_generator(generator, place)

    def from_data(self, original: Any) -> Any:
        """`torch.tensor` and its kin: a tensor among the data says where, if nothing else does."""
        machine, copies = self._machine, original.__name__ == "tensor"

        def make(data: Any = None, *args: Any, **kwargs: Any) -> Any:
            if len(args) > 1:  # torch.as_tensor(data, dtype, device)
                kwargs["device"], args = args[1], args[:1]
            if args:
                kwargs["dtype"], args = args[0], ()
            asked = kwargs.pop("device", None)
            given = data if isinstance(data, torch.Tensor) else None
            if asked is not None:
                place = machine.device(asked)
            elif given is not None:
                place = given.device
            else:
                place = machine.default() or CPU
            if place.type not in ("cpu", "cuda"):
                return original(data, device=place, **kwargs)
            if given is not None and not copies and kwargs.get("copy") is None:
                return given.to(place, kwargs.get("dtype") or given.dtype)
            return self._made(original, (data,), kwargs, place)

        return make

    def _made(self, original: Any, args: Any, kwargs: dict[str, Any], place: torch.device) -> Any:
        """As on CUDA: the copy to the device is made below all modes; they hear of what is there already."""
        machine = self._machine
        kwargs["device"] = CPU
        pin = kwargs.pop("pin_memory", False) and place == CPU
        if place.type == "cuda":
            requires_grad = kwargs.pop("requires_grad", False)
            with torch_private.without_dispatch():
                made = original(*args, **kwargs)
            machine.labels.put(made, place)
            if requires_grad and not (made.is_floating_point() or made.is_complex()):
                raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
            out = torch.ops.aten.lift_fresh.default(made)
            return out.requires_grad_() if requires_grad else out
        with machine.making_on(place):
            out = original(*args, **kwargs)
        if pin:
            machine.labels.pin(out)
        return out

    def new_tensor(self, t: Any, data: Any, **kwargs: Any) -> Any:
        """A tensor of the same dtype on the same device, unless told otherwise."""
        asked = kwargs.pop("device", None)
        place = t.device if asked is None else self._machine.device(asked)
        if place.type not in ("cpu", "cuda"):
            return torch._C.TensorBase.new_tensor(t, data, device=place, **kwargs)
        return self._made(torch._C.TensorBase.new_tensor, (t, data), kwargs, place)

    def new(self, t: Any, *args: Any, **kwargs: Any) -> Any:
        """The old way to make a tensor like another."""
        kwargs.pop("device", None)
        with self._machine.making_on(t.device):
            out = torch._C.TensorBase.new(t, *args, **kwargs)
        if t.is_cuda:
            self._machine.labels.put(out, t.device)
        return out
