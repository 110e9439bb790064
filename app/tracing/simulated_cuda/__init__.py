"""A simulated CUDA device for a PyTorch that was built without CUDA: real values, real autograd, no GPU.

Tensors stay ordinary CPU tensors; a label says on which device each storage is (`labels`). One mode below
autograd propagates labels, checks operands in the words of CUDA (`dispatch`, `checks`) and takes memory from
a model of the caching allocator (`allocator`); what programs ask of devices by name is replaced in torch for
the length of the run (`moves`, `factories`, `runtime`) and put back (`patches`).

The other way was tried: a wrapper subclass on PyTorch's private-use backend. It is a second device to C++,
whose own checks then speak, under its own name; but wrappers have no storage to share, to read or to weigh,
which is what this product shows. Of 18 snippets the private-use prototype ran 15 (no `tolist`, no LSTM, no
CPU index), a first overlay 16 (gradients stayed on the device, tensors made in passing did not mix), this
one all; an op costs 122, 51 and 58 µs. A label's price is that C++ knows nothing of the device: what PyTorch
does in C++ by device (a gradient brought back by `.to`, a tensor made in passing, the generator that is drawn
from, a move inside an op) is done here, and what is not simulated must say so.

Simulated or not, a run is the same watched and unwatched: the simulation is part of it.
"""

from collections.abc import Iterator
from types import TracebackType
from typing import Any

import torch
from torch.utils._device import _device_constructors

from .. import reading
from .composites import put_composites
from .device_names import put_device_names
from .factories import put_factories
from .labels import CPU
from .machine import Machine
from .moves import put_moves
from .patches import Patches
from .runtime import put_runtime


class SimulatedCuda:
    """While entered, the process has simulated CUDA devices.

    Args:
        devices: How many.
        capacity: Bytes each has.
        watched: The tracer's own mode is entered within.
    """

    def __init__(self, devices: int, capacity: int, *, watched: bool) -> None:
        self.machine = Machine(devices, capacity, alone=not watched)
        self._patches = Patches()

    def __enter__(self) -> "SimulatedCuda":
        machine, patches = self.machine, self._patches
        _device_constructors()  # remembers PyTorch's own functions, not ours
        put_device_names(machine, patches)
        put_factories(machine, patches)
        put_moves(machine, patches)
        put_composites(machine, patches)
        put_runtime(machine, patches)
        labels = machine.labels
        real_device = reading.get_device

        def get_device(t: Any) -> torch.device:
            place = labels.of(t)
            return real_device(t) if place is CPU else place

        patches.put(reading, "get_device", get_device)
        patches.put(reading, "readable_devices", frozenset({"cpu", *map(str, labels.devices)}))
        machine.mode.__enter__()  # type: ignore[no-untyped-call]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.machine.mode.__exit__(kind, error, where)  # type: ignore[no-untyped-call]
        for end in self.machine.at_the_end:
            end()
        self._patches.undo()
        self.machine.labels.forget()

    @property
    def simulated(self) -> bool:
        """It is a model."""
        return True

    def figures(self) -> Iterator[tuple[str, dict[str, int]]]:
        """What the model of each device's allocator says, as of an `accelerator.Accelerator`."""
        labels = self.machine.labels
        if labels.is_empty:
            return
        labels.sweep()
        for device, memory in zip(labels.devices, labels.memories, strict=True):
            yield reading.device_name(device), memory.figures()

    def layout(self, device: str) -> dict[str, Any]:
        """What lies where in the memory of a device, as of `observer.Allocators`."""
        labels = self.machine.labels
        for place, memory in zip(labels.devices, labels.memories, strict=True):
            if reading.device_name(place) == device:
                return memory.layout()
        return {}

    def seed(self, seed: int) -> None:
        """Seed the generators of all devices."""
        self.machine.generators.seed_all(seed)
