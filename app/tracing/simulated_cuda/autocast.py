"""`autocast("cuda")`, by the lists of the CPU's autocast: what is on a simulated device is computed there.

PyTorch's own would cast what is on the CPU as well. While it is on, calls are therefore heard, and one whose
tensors are all on the CPU is made as the program has it for the CPU.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode, _get_current_function_mode_stack

from ..ops import tensors_among
from .labels import CPU
from .machine import Machine
from .patches import Patches


class _OnDevicesAlone(TorchFunctionMode):
    """Calls on the CPU are made without the device's autocast.

    Args:
        machine: Knows where tensors are.
        cast_as: Has calls cast as `cuda` or `cpu`.
    """

    def __init__(self, machine: Machine, cast_as: Callable[[str], None]) -> None:
        self._labels = machine.labels
        self._cast_as = cast_as
        self._up = False
        super().__init__()

    def stand(self, *, up: bool) -> None:
        """Begin to hear, or end. One that another mode was put upon is left, and hears for nothing."""
        if up is self._up:
            return
        if up:
            self.__enter__()  # type: ignore[no-untyped-call]
            self._up = True
        elif _get_current_function_mode_stack()[-1:] == [self]:
            self.__exit__(None, None, None)  # type: ignore[no-untyped-call]
            self._up = False

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        tensors = tensors_among(args, kwargs)
        here = bool(tensors) and all(self._labels.of(t) is CPU for t in tensors)
        if not here or not torch.is_autocast_enabled("cuda"):
            return func(*args, **kwargs)
        self._cast_as("cpu")
        try:
            return func(*args, **kwargs)
        finally:
            self._cast_as("cuda")


def put_autocast(machine: Machine, patches: Patches) -> None:
    """Replace what `torch.autocast` is made of."""
    real = {
        name: getattr(torch, name)
        for name in (
            "set_autocast_enabled",
            "is_autocast_enabled",
            "set_autocast_dtype",
            "get_autocast_dtype",
        )
    }
    wanted: dict[str, list[Any]] = {
        "cuda": [False, torch.float16],
        "cpu": [real["is_autocast_enabled"]("cpu"), real["get_autocast_dtype"]("cpu")],
    }

    def cast_as(kind: str) -> None:
        enabled, dtype = wanted[kind]
        real["set_autocast_enabled"]("cpu", enabled)
        real["set_autocast_dtype"]("cpu", dtype)

    guard = _OnDevicesAlone(machine, cast_as)

    def apply() -> None:
        enabled = bool(wanted["cuda"][0])
        cast_as("cuda" if enabled else "cpu")
        guard.stand(up=enabled)

    def setter(name: str, field: int) -> Any:
        def set_it(kind: Any, value: Any = None) -> None:
            if value is None:  # the old form speaks of CUDA
                kind, value = "cuda", kind
            if kind in wanted:
                wanted[kind][field] = value
                apply()
            else:
                real[name](kind, value)

        return set_it

    def getter(name: str, field: int) -> Any:
        def get_it(kind: str = "cuda") -> Any:
            return wanted[kind][field] if kind in wanted else real[name](kind)

        return get_it

    for field, name in enumerate(("autocast_enabled", "autocast_dtype")):
        get = "is_autocast_enabled" if field == 0 else "get_autocast_dtype"
        patches.put(torch, f"set_{name}", setter(f"set_{name}", field))
        patches.put(torch, get, getter(get, field))
    patches.put(torch, "get_autocast_gpu_dtype", lambda: wanted["cuda"][1])
    machine.at_the_end.append(lambda: guard.stand(up=False))
