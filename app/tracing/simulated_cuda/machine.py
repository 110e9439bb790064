"""The simulated machine: devices, which is current, where the running call puts what it makes.

The one object that the replaced functions share. It knows of labels and of the mode below autograd; the
functions themselves are in `moves`, `factories` and `runtime`.
"""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils import _device

from .. import torch_private
from .dispatch import DeviceMode
from .faults import Faults, no_such_device
from .generators import Generators
from .labels import CPU, Labels
from .patches import not_simulated

_to: Any = torch._C.TensorBase.to

_FORKED = (
    "Cannot re-initialize CUDA in forked subprocess. "
    "To use CUDA with multiprocessing, you must use the 'spawn' start method"
)
_RETURNS = "simulated CUDA: gradients arrive where the tensor is"


def _without_autograd() -> Any:
    """The dispatch keys left out here, but those of autograd."""
    keys: Any = torch._C.DispatchKey
    return torch._C._dispatch_tls_local_exclude_set().remove(keys.AutogradCPU).remove(keys.ADInplaceOrView)


JAGGED = "Make it of parts on the device: torch.nested.nested_tensor_from_jagged(values, offsets)."
VISIBLE = "CUDA_VISIBLE_DEVICES"


def _seen(wanted: str, there: int) -> int:
    """How many of the devices are named before the first name that is not one's, as CUDA reads it.

    >>> _seen("1,0", 2), _seen("0,7,1", 2), _seen("-1", 2), _seen("0,0", 2), _seen("", 2)
    (2, 1, 0, 0, 0)
    """
    named: list[int] = []
    for part in wanted.split(","):
        number = part.strip()
        if not number.isdecimal() or int(number) >= there:
            break
        if int(number) in named:
            return 0
        named.append(int(number))
    return len(named)


class Machine:
    """Simulated devices and who is on them.

    Args:
        devices: How many there are.
        capacity: Bytes each has.
        alone: No tracer watches: what it corrects must be corrected here.
    """

    def __init__(self, devices: int, capacity: int, *, alone: bool) -> None:
        self.labels = Labels(devices, capacity)
        self.generators = Generators(devices)
        self.faults = Faults()
        self.mode = DeviceMode(self.labels, self.generators, self.faults, keeps_versions=alone)
        """That of the main thread."""
        self.mode.returns_gradients = self.return_gradients
        self.at_the_end: list[Callable[[], None]] = []
        """What is to be done when the simulation ends."""
        self.current = 0
        """Number of the device that `cuda` means."""
        self.default_of_types: torch.device | None = None
        """Where factories put tensors after `torch.set_default_tensor_type`."""
        self.used = False
        """Something was asked of a device: CUDA is initialized, so to speak."""
        self._visible: int | None = None
        self._visible_before = os.environ.get(VISIBLE)
        self._threads = threading.local()
        self._process = os.getpid()

    def device(self, asked: Any) -> torch.device:
        """What a program calls a device, as one with a number.

        Raises:
            RuntimeError: There is no such device.
        """
        if isinstance(asked, int) and not isinstance(asked, bool):
            asked = torch.device("cuda", asked)
        elif not isinstance(asked, torch.device):
            asked = torch.device(asked)
        if asked.type != "cuda":
            return CPU if asked.type == "cpu" else asked
        index = self.current if asked.index is None else asked.index
        if not 0 <= index < self.use():
            raise no_such_device()
        if os.getpid() != self._process and not self.labels.is_empty:
            raise RuntimeError(_FORKED)
        return self.labels.devices[index]

    def count(self, *, settle: bool = True) -> int:
        """How many devices the program sees.

        Args:
            settle: From now on `CUDA_VISIBLE_DEVICES` has no effect, as once CUDA was asked.
        """
        if self._visible is not None:
            return self._visible
        wanted, there = os.environ.get(VISIBLE), len(self.labels.devices)
        seen = there if wanted == self._visible_before or wanted is None else _seen(wanted, there)
        if settle:
            self._visible = seen
        return seen

    def use(self) -> int:
        """How many there are, for something that needs one.

        Raises:
            RuntimeError: There is none.
        """
        seen = self.count()
        if not seen:
            raise RuntimeError("No CUDA GPUs are available")
        self.used = True
        return seen

    def default(self) -> torch.device | None:
        """Where factories put tensors that name no device, if the program chose."""
        chosen = _device.CURRENT_DEVICE
        return self.default_of_types if chosen is None else self.device(chosen)

    def another_mode(self) -> DeviceMode:
        """A mode for the running thread, which is not the main one: nothing watches there."""
        mode = DeviceMode(self.labels, self.generators, self.faults, keeps_versions=True)
        mode.returns_gradients = self.return_gradients
        self._threads.mode = mode
        return mode

    def running_mode(self) -> DeviceMode:
        """That of the running thread."""
        mode: DeviceMode = getattr(self._threads, "mode", self.mode)
        return mode

    @contextmanager
    def making_on(self, place: torch.device) -> Iterator[None]:
        """While entered, ops put what they make on a device."""
        if place.type == "cuda" and torch_private.recording_state() is not None:
            raise not_simulated("torch.jit.trace with devices", "What it records would run on the CPU.")
        mode = self.running_mode()
        before, mode.target = mode.target, place
        try:
            yield
        finally:
            mode.target = before

    def move(self, t: Any, place: torch.device, dtype: Any = None, memory_format: Any = None) -> Any:
        """A copy of a tensor on another device; gradients come back to where it was.

        PyTorch's own `ToCopyBackward0` sees CPU tensors at both ends and would copy nothing.
        """
        source = self.labels.of(t)
        if t.layout is torch.jagged:
            raise not_simulated("a copy of a nested tensor of layout torch.jagged", JAGGED)
        with self.making_on(place):
            out = _to(t, dtype or t.dtype, copy=True, memory_format=memory_format or torch.preserve_format)
        if place.type == "cuda":
            self.labels.put(out, place)  # where no mode heard the op
        node = out.grad_fn
        if node is not None and source != place:
            self.bring_back(node, 0, source)
        return out

    def return_gradients(self, t: Any) -> None:
        """Have gradients of an operand arrive where it is, as the engine does before each node.

        An op may take operands of two devices: a tensor without dimensions, the source of a copy. Called
        below autograd, where a leaf's node is not to be had but with autograd's keys put back.
        """
        node, position = t.grad_fn, t.output_nr
        if node is None:
            include, exclude = torch._C._dispatch_tls_local_include_set(), _without_autograd()
            above_autograd = torch._C._ForceDispatchKeyGuard(include, exclude)
            quiet = torch_private.without_dispatch(), torch_private.without_functions()
            with quiet[0], quiet[1], above_autograd, torch.enable_grad():
                node = t.view_as(t).grad_fn.next_functions[0][0]
        if _RETURNS in node.metadata:
            return
        node.metadata[_RETURNS] = True
        labels, place = self.labels, self.labels.of(t)

        def arrive(grads: Any) -> Any:
            grad = grads[position]
            if grad is None or labels.of(grad) == place:
                return None
            return (*grads[:position], self.move(grad, place), *grads[position + 1 :])

        node.register_prehook(arrive)

    def bring_back(self, node: Any, position: int, place: torch.device) -> None:
        """Have one of the gradients that a node computes copied to a device."""
        labels = self.labels

        def hook(grads: Any, _: Any) -> Any:
            grad = grads[position] if position < len(grads) else None
            if grad is None or labels.of(grad) == place:
                return None
            return (*grads[:position], self.move(grad, place), *grads[position + 1 :])

        node.register_hook(hook)
