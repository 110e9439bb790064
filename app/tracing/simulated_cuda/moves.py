"""Methods of tensors and storages that know of devices: where it is, and how it gets elsewhere."""

import functools
from typing import Any

import torch
from torch.overrides import _get_current_function_mode_stack, handle_torch_function, has_torch_function
from torch.utils._device import DeviceContext

from .labels import CPU
from .machine import Machine
from .names import type_name
from .patches import Patches

_Base: Any = torch._C.TensorBase
_StorageBase: Any = torch._C.StorageBase


class _Fact:
    """A fact of a tensor that only the simulation knows; as PyTorch's own, it cannot be written."""

    def __init__(self, name: str, get: Any) -> None:
        self._name = name
        self._get = get

    def __get__(self, t: Any, owner: Any = None) -> Any:
        return self if t is None else self._get(t)

    def __set__(self, t: Any, value: Any) -> None:
        raise AttributeError(f"attribute '{self._name}' of 'torch._C.TensorBase' objects is not writable")


class _Grad:
    """`.grad`, which must be where its tensor is."""

    def __init__(self, machine: Machine) -> None:
        self._labels = machine.labels

    def __get__(self, t: Any, owner: Any = None) -> Any:
        return _Base.grad if t is None else _Base.grad.__get__(t)

    def __set__(self, t: Any, grad: Any) -> None:
        if isinstance(grad, torch.Tensor):
            here, there = self._labels.of(t), self._labels.of(grad)
            if here != there:
                raise RuntimeError(
                    f"attempting to assign a gradient with device type '{there.type}' to a tensor with "
                    f"device type '{here.type}'. Please ensure that the gradient and the tensor are on "
                    "the same device"
                )
        _Base.grad.__set__(t, grad)

    def __delete__(self, t: Any) -> None:
        _Base.grad.__delete__(t)


def _device_context() -> Any:
    """The device of the innermost `with torch.device(…)`, or of `set_default_device`."""
    for mode in reversed(_get_current_function_mode_stack()):
        if isinstance(mode, DeviceContext):
            return mode.device
    return None


def heard(original: Any, core: Any, *, places: bool = False) -> Any:
    """A function in the place of PyTorch's own that modes and subclasses hear of, as they do of that.

    Args:
        original: PyTorch's.
        core: Ours, of the same arguments.
        places: It puts a tensor where `with torch.device(…)` says.
    """

    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        if has_torch_function(args):
            if places and kwargs.get("device") is None:
                context = _device_context()
                if context is not None:
                    kwargs["device"] = context
            return handle_torch_function(call, args, *args, **kwargs)
        return core(*args, **kwargs)

    return call


def put_moves(machine: Machine, patches: Patches) -> None:
    """Replace what tensors and storages do about devices."""
    _put_facts(machine, patches)
    moves = _Moves(machine)
    for name in ("to", "cuda", "cpu", "numpy", "type", "type_as", "pin_memory", "is_pinned", "copy_"):
        patches.put(torch.Tensor, name, heard(getattr(_Base, name), getattr(moves, name)))
    patches.put(torch.Tensor, "share_memory_", heard(torch.Tensor.share_memory_, moves.share_memory_))
    patches.put(torch.Tensor, "record_stream", lambda self, stream: None)
    _put_readings(machine, patches)
    _put_storages(machine, patches)


def _put_readings(machine: Machine, patches: Patches) -> None:
    """What reads values without an op."""
    shown: Any = torch._tensor_str._str

    def show(t: Any, **options: Any) -> Any:
        if machine.faults.happened and machine.labels.of(t) is not CPU:
            machine.faults.raise_if_lost()
        return shown(t, **options)

    def listed(t: Any) -> Any:
        if machine.faults.happened and machine.labels.of(t) is not CPU:
            machine.faults.raise_if_lost()
        return _Base.tolist(t)

    patches.put(torch._tensor_str, "_str", show)
    patches.put(torch.Tensor, "tolist", heard(_Base.tolist, listed))


def _put_facts(machine: Machine, patches: Patches) -> None:
    labels = machine.labels
    get_device: Any = _Base.device

    def device(t: Any) -> torch.device:
        place = labels.of(t)
        return get_device.__get__(t) if place is CPU else place

    facts = {
        "device": device,
        "is_cuda": lambda t: labels.of(t).type == "cuda",
        "is_cpu": lambda t: device(t).type == "cpu",
    }
    for name, get in facts.items():
        patches.put(torch.Tensor, name, _Fact(name, get))
    patches.put(torch.Tensor, "grad", _Grad(machine))

    def number(self: Any) -> int:
        place = labels.of(self)
        return -1 if place is CPU else place.index

    patches.put(torch.Tensor, "get_device", heard(_Base.get_device, number))
    patches.put(torch, "get_device", heard(torch.get_device, number))


class _Moves:
    """Methods of tensors."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._labels = machine.labels

    def to(self, t: Any, *args: Any, **kwargs: Any) -> Any:
        rest, copy = list(args), kwargs.pop("copy", False)
        other, waits = kwargs.pop("other", None), True
        if rest and isinstance(rest[0], torch.Tensor):
            other = rest.pop(0)
        flags = [i for i, each in enumerate(rest) if type(each) is bool]
        if len(flags) > 1:
            copy = rest.pop(flags[1])
        if other is not None:
            place, dtype = other.device, other.dtype
            memory_format = kwargs.get("memory_format")
        else:
            if rest and isinstance(rest[0], int) and not isinstance(rest[0], bool):
                rest[0] = torch.device("cuda", rest[0])
            parse: Any = torch._C._nn._parse_to
            asked, dtype, not_waiting, memory_format = parse(*rest, **kwargs)
            place, waits = None if asked is None else self._machine.device(asked), not not_waiting
        out = self._moved(t, place, dtype, memory_format, copy=copy)
        if not waits and place == CPU and self._labels.of(t) != CPU and out.layout is torch.strided:
            self._labels.pin(out)  # so that the copy can go on by itself
        return out

    def _moved(
        self, t: Any, place: torch.device | None, dtype: Any, memory_format: Any, *, copy: bool = False
    ) -> Any:
        real = _Base.device.__get__(t)
        if place is not None and (real != CPU or place.type not in ("cpu", "cuda")):
            return _Base.to(t, CPU if place.type == "cuda" else place, dtype or t.dtype, copy=copy)
        if place is None or place == self._labels.of(t):
            given = {} if memory_format is None else {"memory_format": memory_format}
            return _Base.to(t, dtype or t.dtype, copy=copy, **given)
        return self._machine.move(t, place, dtype, memory_format)

    def cuda(self, t: Any, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> Any:
        asked = "cuda" if device is None else device
        place = self._machine.device(asked)
        if place.type != "cuda":
            raise RuntimeError("Invalid device, must be cuda device")
        return self._moved(t, place, None, memory_format)

    def cpu(self, t: Any, memory_format: Any = None) -> Any:
        if _Base.device.__get__(t) != CPU:
            return _Base.cpu(t)
        return self._moved(t, CPU, None, memory_format)

    def numpy(self, t: Any, *, force: bool = False) -> Any:
        place = self._labels.of(t)
        if place is CPU:
            return _Base.numpy(t, force=force)
        if not force:
            raise TypeError(
                f"can't convert {place} device type tensor to numpy. "
                "Use Tensor.cpu() to copy the tensor to host memory first."
            )
        return _Base.numpy(self._machine.move(t.detach(), CPU), force=True)

    def type(self, t: Any, dtype: Any = None, non_blocking: bool = False, **kwargs: Any) -> Any:
        place = self._labels.of(t)
        if dtype is None:
            return _Base.type(t) if place is CPU else type_name(t, place)
        if isinstance(dtype, torch.dtype):
            return _Base.to(t, dtype)
        name = dtype if isinstance(dtype, str) else f"{dtype.__module__}.{dtype.__name__}"
        target = self._machine.device("cuda") if ".cuda." in name else CPU
        plain = getattr(torch, name.rpartition(".")[2]).dtype
        return self._moved(t, target, plain, None)

    def type_as(self, t: Any, other: Any) -> Any:
        return self._moved(t, self._labels.of(other), other.dtype, None)

    def pin_memory(self, t: Any, device: Any = None) -> Any:
        labels = self._labels
        if labels.of(t) is not CPU:
            raise RuntimeError(
                f"cannot pin '{type_name(t, labels.of(t))}' only dense CPU tensors can be pinned"
            )
        if labels.is_pinned(t):
            return t
        with self._machine.making_on(CPU):
            out = _Base.clone(t.detach(), memory_format=torch.contiguous_format)
        labels.pin(out)
        return out

    def is_pinned(self, t: Any, device: Any = None) -> bool:
        return self._labels.is_pinned(t)

    def copy_(self, t: Any, src: Any, non_blocking: bool = False) -> Any:
        out = _Base.copy_(t, src, non_blocking)
        there = self._labels.of(src)
        if there != self._labels.of(t) and src.requires_grad and out.grad_fn is not None:
            self._machine.bring_back(out.grad_fn, 1, there)
        return out

    def share_memory_(self, t: Any) -> Any:
        if self._labels.of(t) is not CPU:
            return t
        t._typed_storage()._share_memory_()
        return t


def _put_storages(machine: Machine, patches: Patches) -> None:
    labels = machine.labels
    kind: Any = torch.UntypedStorage
    real: Any = _StorageBase.device

    def device_of(storage: Any) -> torch.device:
        place = labels.of_storage(storage)
        return real.__get__(storage) if place is CPU else place

    def copied(storage: Any, place: torch.device) -> Any:
        made = kind(storage.nbytes())
        if place.type == "cuda":
            labels.put_storage(made, place)
        _StorageBase.copy_(made, storage, False)
        return made

    def to(self: Any, *, device: Any, non_blocking: bool = False) -> Any:
        place = machine.device(device)
        return self if place == device_of(self) else copied(self, place)

    def cuda(self: Any, device: Any = None, non_blocking: bool = False) -> Any:
        return to(self, device="cuda" if device is None else device)

    patches.put(kind, "device", _Fact("device", device_of))
    patches.put(kind, "is_cuda", property(lambda self: device_of(self).type == "cuda"))
    shared: Any = kind.is_shared
    patches.put(kind, "is_shared", lambda self: device_of(self).type == "cuda" or shared(self))
    patches.put(kind, "to", to)
    patches.put(kind, "cuda", cuda)
    patches.put(kind, "cpu", lambda self: to(self, device=CPU))
    patches.put(kind, "clone", lambda self: copied(self, device_of(self)))
