"""`nn.DataParallel` and `torch.cuda.comm` over simulated devices: what PyTorch has in C++ for them.

PyTorch's own Python does the rest: replicas, gradients, errors that name the replica. Replicas run one after
another in the thread of the program, so that their ops are heard and draw from their device's generator;
each computes what it would beside the others.

Source: torch/csrc/cuda/comm.cpp; torch/nn/parallel.
"""

import sys
import threading
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import torch

from .labels import CPU
from .machine import Machine
from .patches import Patches


def put_parallel(machine: Machine, patches: Patches) -> None:
    """Replace the functions that copy between devices, and the threads of replicas."""
    copies = _Copies(machine)
    for name, function in {
        "_scatter": copies.scatter,
        "_gather": copies.gather,
        "_broadcast": copies.broadcast,
        "_broadcast_coalesced": copies.broadcast_coalesced,
        "_broadcast_out": copies.broadcast_out,
    }.items():
        patches.put(torch._C, name, function)
    patches.put(torch.nn.parallel._functions, "_streams", None)
    patches.put(torch.cuda.nccl, "is_available", lambda tensors: False)
    replicas = sys.modules["torch.nn.parallel.parallel_apply"]  # its name in the package is a function's
    patches.put(replicas, "threading", SimpleNamespace(Thread=_AtOnce, Lock=threading.Lock))


class _AtOnce:
    """Does at its start what a thread would do beside the others."""

    def __init__(self, *, target: Any, args: Any) -> None:
        self._target, self._args = target, args

    def start(self) -> None:
        self._target(*self._args)

    def join(self) -> None:
        """It is over."""


class _Copies:
    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def _copied(self, t: Any, index: int) -> Any:
        """A copy on the device of a number, or itself where it is there; gradients are the caller's."""
        place = self._machine.device(index)
        return t if self._machine.labels.of(t) == place else self._machine.move(t, place)

    def scatter(
        self, t: Any, devices: Sequence[int], sizes: Any = None, dim: int = 0, streams: Any = None
    ) -> tuple[Any, ...]:
        """Parts of a tensor, one for each device."""
        if sizes is not None and len(sizes) != len(devices):
            raise RuntimeError(
                "Expected devices and chunk_sizes to be of same length, but got len(devices) = "
                f"{len(devices)} and len(chunk_sizes) = {len(sizes)}"
            )
        parts = t.chunk(len(devices), dim) if sizes is None else t.split_with_sizes(list(sizes), dim)
        return tuple(self._copied(part, index) for part, index in zip(parts, devices, strict=False))

    def gather(self, parts: Sequence[Any], dim: int, index: int | None) -> Any:
        """The parts in one tensor on the device of a number; -1 is the CPU."""
        first = parts[0]
        labels, shape = self._machine.labels, list(first.shape)
        for i, part in enumerate(parts):
            if labels.of(part) == CPU:
                raise RuntimeError(
                    f"Expected all input tensors to be CUDA tensors, but tensor at index {i} has device 'cpu'"
                )
            here, there = list(part.shape), list(shape)
            here[dim] = there[dim]
            if here != there:
                raise RuntimeError(
                    f"Gather got an input of invalid size: got {list(part.shape)}, but expected {there}"
                )
        shape[dim] = sum(part.size(dim) for part in parts)
        place = CPU if index == -1 else self._machine.device("cuda" if index is None else index)
        out = torch.empty(shape, dtype=first.dtype, device=place)
        start = 0
        for part in parts:
            out.narrow(dim, start, part.size(dim)).copy_(part, non_blocking=True)
            start += part.size(dim)
        return out

    def broadcast(self, t: Any, devices: Sequence[int]) -> tuple[Any, ...]:
        """A copy on each device."""
        return tuple(self._copied(t, index) for index in devices)

    def broadcast_out(self, t: Any, out: Sequence[Any]) -> tuple[Any, ...]:
        """Copied into each of several tensors."""
        return tuple(each.copy_(t, non_blocking=True) for each in out)

    def broadcast_coalesced(self, tensors: Sequence[Any], devices: Sequence[int], nbytes: int) -> list[Any]:
        """Copies of all tensors on each device, by device."""
        home = self._machine.device(devices[0])
        if any(self._machine.labels.of(t) != home for t in tensors):
            raise RuntimeError(f"All tensors must be on devices[0]: {devices[0]}")
        return [[self._copied(t, index) for t in tensors] for index in devices]
