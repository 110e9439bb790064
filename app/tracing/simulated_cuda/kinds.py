"""`torch.FloatTensor`, `torch.cuda.FloatTensor` and their kin: old names for a dtype on a kind of device.

C++ would take a tensor on a simulated device for one of `torch.FloatTensor`. What stands in for these names
asks the labels, and makes tensors where the name says.
"""

from typing import Any

import torch
from torch._utils import _import_dotted_name as import_dotted_name

from .labels import CPU, Labels
from .machine import Machine
from .patches import Patches

_PLAIN: Any = type(torch.FloatTensor)


class _Kind(type):
    """The type of a stand-in; what it does not know is asked of PyTorch's own."""

    plain: Any
    """PyTorch's own kind for the CPU."""

    dtype: torch.dtype
    machine: Machine
    on_device: bool

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        machine, given = cls.machine, args[0] if len(args) == 1 else None
        if isinstance(given, torch.Tensor):
            if isinstance(given, cls):
                return given.view(given.shape)
            raise TypeError(f"expected {cls._options()} (got {_options_of(given, machine.labels)})")
        place = machine.device("cuda") if cls.on_device else CPU
        with machine.making_on(CPU):
            made = cls.plain(*args, **kwargs)
        return machine.move(made, place) if cls.on_device else made

    def _options(cls) -> str:
        return _options(cls.dtype, "cuda" if cls.on_device else "cpu")

    def __instancecheck__(cls, it: Any) -> bool:
        if not isinstance(it, torch.Tensor) or it.dtype != cls.dtype or it.is_sparse is not cls.is_sparse:
            return False
        return bool(it.is_cuda) if cls.on_device else isinstance(it, cls.plain) and not it.is_cuda

    def __getattr__(cls, name: str) -> Any:
        return getattr(cls.plain, name)


def put_kinds(machine: Machine, patches: Patches) -> None:
    """Replace the old names, and what chooses one of them for factories."""
    for owner, place in ((torch, torch.cuda), (torch.sparse, torch.cuda.sparse)):
        for name, plain in list(vars(owner).items()):
            if not isinstance(plain, _PLAIN):
                continue
            for module in (owner, place):
                if not hasattr(module, name):
                    continue
                about = {
                    "plain": plain,
                    "dtype": plain.dtype,
                    "machine": machine,
                    "on_device": module is place,
                    "is_cuda": module is place,
                    "is_sparse": plain.is_sparse,
                    "__module__": module.__name__,
                }
                patches.put(module, name, _Kind(name, (), about))
    choose: Any = torch.set_default_tensor_type

    def choose_type(t: Any) -> None:
        kind = import_dotted_name(t) if isinstance(t, str) else t
        choose(kind.plain if isinstance(kind, _Kind) else kind)
        on_device = isinstance(kind, _Kind) and kind.on_device
        machine.default_of_types = machine.device("cuda") if on_device else None

    patches.put(torch, "set_default_tensor_type", choose_type)


def _options_of(t: Any, labels: Labels) -> str:
    return _options(t.dtype, str(labels.of(t)))


def _options(dtype: torch.dtype, device: str) -> str:
    """As C++ writes the options of a tensor: taken from its own words about one on the CPU."""
    other: Any = _CPU_KINDS[dtype != torch.float32]
    try:
        other(torch.empty(0, dtype=dtype, device=CPU))
    except TypeError as error:
        said = str(error).partition("(got ")[2].removesuffix(")")
        return said.replace("device=cpu", f"device={device}")
    return ""


_CPU_KINDS = (torch.DoubleTensor, torch.FloatTensor)
