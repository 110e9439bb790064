"""The statistics of `torch.cuda.memory`, from the model of the caching allocator.

PyTorch's own Python code makes `memory_allocated`, `max_memory_reserved`, `memory_summary` and the rest
from one table, which is made here.
"""

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import torch

from .allocator import COUNTED, Allocator
from .labels import SIMULATED
from .machine import Machine
from .patches import Patches


def put_memory(machine: Machine, patches: Patches) -> None:
    """Replace what memory statistics are made from, and what changes them."""
    labels = machine.labels
    memory_module = torch.cuda.memory

    def memory_of(device: Any = None) -> Allocator:
        labels.sweep()
        index = machine.current
        if device is not None:
            index = torch.cuda._utils._get_device_index(device, optional=True)
        if not 0 <= index < len(labels.memories):
            raise RuntimeError(f"Invalid device argument {index}: did you call init?")
        return labels.memories[index]

    def nested(device: Any = None) -> dict[str, Any]:
        return _table(memory_of(device))

    def empty_cache() -> None:
        labels.sweep()
        for memory in labels.memories:
            memory.empty_cache()

    def info(device: Any = None) -> tuple[int, int]:
        memory = memory_of(device)
        return memory.capacity - memory.reserved, memory.capacity

    def set_fraction(fraction: float, device: Any = None) -> None:
        if not isinstance(fraction, float):
            raise TypeError("Invalid type for fraction argument, must be `float`")
        if not 0 <= fraction <= 1:
            raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~1")
        memory = memory_of(device)
        memory.limit = int(memory.capacity * fraction)

    real_summary = memory_module.memory_summary

    def summary(device: Any = None, abbreviated: bool = False) -> str:
        said = real_summary(device=device, abbreviated=abbreviated)
        return f"{SIMULATED}a model of the caching allocator, no GPU\n{said}"

    def snapshot(*args: Any, **kwargs: Any) -> list[dict[str, Any]]:
        labels.sweep()
        return [
            _segment(segment, device)
            for device, memory in enumerate(labels.memories)
            for segment in memory.segments
        ]

    functions = {
        "memory_stats_as_nested_dict": nested,
        "empty_cache": empty_cache,
        "mem_get_info": info,
        "reset_peak_memory_stats": lambda device=None: memory_of(device).reset_peaks(),
        "reset_max_memory_allocated": lambda device=None: memory_of(device).reset_peaks(),
        "reset_max_memory_cached": lambda device=None: memory_of(device).reset_peaks(),
        "reset_accumulated_memory_stats": lambda device=None: memory_of(device).reset_totals(),
        "set_per_process_memory_fraction": set_fraction,
        "get_per_process_memory_fraction": lambda device=None: (
            memory_of(device).limit / memory_of(device).capacity
        ),
        "memory_summary": summary,
        "memory_snapshot": snapshot,
        "get_allocator_backend": lambda: "native",
        "_record_memory_history": lambda *args, **kwargs: None,
    }
    for name, function in functions.items():
        for owner in (memory_module, torch.cuda):
            if hasattr(owner, name):
                patches.put(owner, name, function)
    accelerator = {
        "empty_cache": empty_cache,
        "get_memory_info": info,
        "memory_stats": torch.cuda.memory_stats,
        "memory_allocated": torch.cuda.memory_allocated,
        "max_memory_allocated": torch.cuda.max_memory_allocated,
        "memory_reserved": torch.cuda.memory_reserved,
        "max_memory_reserved": torch.cuda.max_memory_reserved,
        "reset_peak_memory_stats": functions["reset_peak_memory_stats"],
        "reset_accumulated_memory_stats": functions["reset_accumulated_memory_stats"],
    }
    for name, function in accelerator.items():
        patches.put(torch.accelerator, name, function)


def _table(memory: Allocator) -> dict[str, Any]:
    """What `torch._C._cuda_memoryStats` answers, of one device.

    Of free pieces between blocks in use no peaks and totals are kept.
    """
    as_counted = {"active_bytes": "allocated_bytes", "active": "allocation"}
    kinds = (*COUNTED, *as_counted)
    none = {"current": 0, "peak": 0, "allocated": 0, "freed": 0}
    segments = memory.tallies["segment"]["all"]
    return {
        **{
            kind: {pool: asdict(tally) for pool, tally in memory.tallies[as_counted.get(kind, kind)].items()}
            for kind in kinds
        },
        "inactive_split_bytes": _loose(memory, lambda block: int(block.size)),
        "inactive_split": _loose(memory, lambda block: 1),
        "oversize_allocations": none,
        "oversize_segments": none,
        "num_alloc_retries": memory.retries,
        "num_ooms": memory.failures,
        "num_sync_all_streams": 0,
        "num_device_alloc": segments.allocated,
        "num_device_free": segments.freed,
        "max_split_size": -1,
    }


def _loose(memory: Allocator, weight: Callable[[Any], int]) -> dict[str, dict[str, int]]:
    """Free pieces of segments that are cut, by pool."""
    pools = {"small_pool": 0, "large_pool": 0}
    for segment in memory.segments:
        if len(segment.blocks) > 1:
            pool = "small_pool" if segment.small else "large_pool"
            pools[pool] += sum(weight(block) for block in segment.blocks if block.free)
    figures = {"all": sum(pools.values()), **pools}
    return {pool: {"current": n, "peak": n, "allocated": n, "freed": 0} for pool, n in figures.items()}


def _segment(segment: Any, device: int) -> dict[str, Any]:
    return {
        "device": device,
        "address": segment.number << 32,
        "total_size": segment.size,
        "allocated_size": sum(block.size for block in segment.blocks if not block.free),
        "segment_type": "small" if segment.small else "large",
        "blocks": [
            {"size": b.size, "state": "inactive" if b.free else "active_allocated"} for b in segment.blocks
        ],
    }
