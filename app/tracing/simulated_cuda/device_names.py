"""`torch.device(0)` and what else takes a device by a bare number.

PyTorch means the accelerator by it, and C++ knows of none here.
"""

from typing import Any

import torch

from .machine import Machine
from .patches import Patches

_REAL: Any = torch.device


class _DeviceKind(type):
    """A stand-in for the class `torch.device`, which nothing can be derived from."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and type(args[0]) is int and not kwargs:
            return _REAL("cuda", args[0])
        return _REAL(*args, **kwargs)

    def __instancecheck__(cls, it: Any) -> bool:
        return isinstance(it, _REAL)

    def __eq__(cls, other: object) -> bool:
        return other is cls or other is _REAL

    def __hash__(cls) -> int:
        return hash(_REAL)

    def __getattr__(cls, name: str) -> Any:
        return getattr(_REAL, name)

    def __repr__(cls) -> str:
        return repr(_REAL)


class _Device(metaclass=_DeviceKind):
    __module__ = "torch"
    __qualname__ = "device"


_Device.__name__ = "device"


def put_device_names(machine: Machine, patches: Patches) -> None:
    """Replace what understands names of devices."""
    patches.put(torch, "device", _Device)
    parse: Any = torch._C._nn._parse_to

    def parse_to(*args: Any, **kwargs: Any) -> Any:
        """As PyTorch's; a tensor among the arguments is where its label says."""
        asked = args[0] if args else kwargs.get("device", kwargs.get("tensor", kwargs.get("other")))
        if isinstance(asked, torch.Tensor):
            place: Any = asked.device
        elif type(asked) is int:
            place = machine.device(asked)
            args = (place, *args[1:])
            kwargs.pop("device", None)
        else:
            return parse(*args, **kwargs)
        return (place, *parse(*args, **kwargs)[1:])

    patches.put(torch._C._nn, "_parse_to", parse_to)
