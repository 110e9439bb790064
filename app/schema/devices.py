"""Copies from one device to another, and what the allocator of a device says of itself."""

from typing import Literal

from .base import Record


class Transfer(Record):
    """Bytes were copied between devices."""

    kind: Literal["transfer"]
    source: int
    """Id of the tensor copied from."""

    target: int
    """Id of the tensor copied to."""

    source_device: str
    """Where it was."""

    target_device: str
    """Where the copy is."""

    nbytes: int
    """Bytes copied."""


class AllocatorFigures(Record):
    """What the caching allocator of a device says of itself, at the end of each statement that changed it."""

    kind: Literal["allocator"]
    device: str
    """`cuda:0`."""

    simulated: bool
    """The figures are those of a model of the allocator."""

    allocated_bytes: int
    """Bytes of blocks that tensors hold, rounded as the allocator does: `torch.cuda.memory_allocated()`."""

    reserved_bytes: int
    """Bytes taken from the device, in use or kept for later: `torch.cuda.memory_reserved()`."""

    peak_allocated_bytes: int
    """`torch.cuda.max_memory_allocated()`."""

    peak_reserved_bytes: int
    """`torch.cuda.max_memory_reserved()`."""

    segments: int
    """Pieces in which they were taken."""

    retries: int
    """Times so far that unused segments were given back because the device was full."""

    failures: int
    """Times so far that it was out of memory."""

    capacity_bytes: int | None = None
    """Bytes the device has, or the program may reserve of it; null where that was not asked."""

    blocks: tuple[tuple[int, ...], ...] | None = None
    """Sizes of the blocks of each segment, in the order of their addresses, free ones negative. Null where
    they were not asked for, or are too many."""
