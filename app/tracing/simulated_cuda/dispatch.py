"""Hears every aten op below autograd: checks that operands are on one device, labels what is made.

It lies under the tracer's own mode, so that an op which it refuses is heard as an op that failed, and what it
labels is labelled when the tracer looks. Ops that draw random numbers draw from the device's generator.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from .. import torch_private
from ..custom_kernels import runner_of
from ..ops import keep_versions, schema_of, tensors_among, tensors_returned, written_tensors
from .checks import common_device
from .faults import Faults
from .generators import Generators
from .kernels import check_kernel
from .labels import CPU, Labels
from .names import in_names_of_cuda

_NO_ROOM = "DefaultCPUAllocator: can't allocate memory: you tried to allocate "
_MAY_RESIZE = ("aten::resize_", "aten::resize_as_", "aten::set_.source_Storage_storage_offset")
_REST_ON_HOST = ("aten::_pack_padded_sequence",)
"""Ops whose results but the first are on the CPU."""

_random: dict[Any, bool] = {}


def _draws(func: Any) -> bool:
    known = _random.get(func)
    if known is None:
        known = _random[func] = torch.Tag.nondeterministic_seeded in func.tags
    return known


class DeviceMode(TorchDispatchMode):
    """Puts simulated devices under a program.

    Args:
        labels: Know where tensors are.
        generators: Of the devices.
        faults: Assertions of kernels that failed.
        keeps_versions: No other mode corrects the versions of `_foreach_` ops.
    """

    supports_higher_order_operators = True

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # see `ops.OpMode`

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        """Yes."""
        return True

    def __init__(
        self, labels: Labels, generators: Generators, faults: Faults, *, keeps_versions: bool
    ) -> None:
        self._labels = labels
        self._generators = generators
        self._faults = faults
        self._keeps_versions = keeps_versions
        self.returns_gradients: Callable[[Any], None] = lambda t: None
        """Has gradients of a tensor arrive where it is; set by the machine."""
        self.target: torch.device | None = None
        """Where the running factory or move puts what it makes; None while none runs."""
        super().__init__()  # type: ignore[no-untyped-call]  # has no annotations

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        labels, kwargs, target = self._labels, kwargs or {}, self.target
        if labels.is_empty and (target is None or target == CPU) and torch_private.graph_task_id() < 0:
            out = self._runner(func, args, kwargs)(*args, **kwargs)
            if self._keeps_versions:
                keep_versions(func, args, kwargs, out)
            return out
        if getattr(func, "namespace", "") != "aten":
            return self._runner(func, args, kwargs)(*args, **kwargs)
        tensors = tensors_among(args, kwargs)
        device, mixed = common_device(func, args, kwargs, tensors, labels) if tensors else (CPU, False)
        if mixed and torch.is_grad_enabled():
            for t in tensors:
                if t.requires_grad:
                    self.returns_gradients(t)
        name = func.name()
        place = device if target is None else target
        on_device = device.type == "cuda"
        if on_device:
            check_kernel(func, args)
        if self._faults.happened and (on_device or place.type == "cuda"):
            self._faults.raise_if_lost(func)
        out = self._run(func, args, kwargs, place, device)
        if self._keeps_versions:
            keep_versions(func, args, kwargs, out)
        self._label(name, func, args, kwargs, tensors, out, place, told=target is not None)
        return out

    def _runner(self, func: Any, args: Any, kwargs: Any) -> Any:
        """What runs an op: a custom op's kernel in Python has the keys that it has without a mode."""
        if not self._keeps_versions or getattr(func, "namespace", "aten") == "aten":
            return func
        return runner_of(func, tensors_among(args, kwargs), (self,)) or func

    def _run(self, func: Any, args: Any, kwargs: Any, place: torch.device, device: torch.device) -> Any:
        try:
            if place.type == "cuda" and _draws(func):
                with self._generators.in_use(place, args, kwargs):
                    return func(*args, **kwargs)
            return func(*args, **kwargs)
        except (RuntimeError, IndexError) as error:
            if device.type == "cpu" and place.type == "cpu":
                raise
            asked = str(error).partition(_NO_ROOM)[2]
            if place.type == "cuda" and asked:  # the host has less than what a full device would refuse
                self._labels.room(place, int(asked.split()[0]))
            if device.type == "cuda":
                self._faults.check(func.name().removeprefix("aten::"), error)
            said = str(error)
            if (told := in_names_of_cuda(said)) != said:
                raise type(error)(told) from None
            raise

    def _label(
        self,
        name: str,
        func: Any,
        args: Any,
        kwargs: Any,
        tensors: list[Any],
        out: Any,
        place: torch.device,
        *,
        told: bool,
    ) -> None:
        labels = self._labels
        if place.type == "cuda":
            known = {labels.key_of(each) for each in tensors}
            made = tensors_returned(out)
            for t in made[:1] if name in _REST_ON_HOST else made:
                if labels.key_of(t) not in known:
                    labels.put(t, place)
            if name in _MAY_RESIZE or name.endswith(("out", "_")):
                for t in written_tensors(schema_of(func), args, kwargs):
                    labels.resized(t)
        elif not told and all(map(labels.is_undecided, tensors)):
            for t in tensors_returned(out):
                labels.leave_undecided(t)
