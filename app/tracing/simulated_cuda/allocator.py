"""A model of PyTorch's caching allocator for CUDA: blocks, segments, and what a full device says.

Arithmetic alone: no byte is taken from anywhere, and there is no torch here. Requests are rounded to 512
bytes. Up to 1 MiB they are packed into segments of 2 MiB; up to 10 MiB they are cut from segments of 20
MiB; larger ones get a segment of their own, rounded to 2 MiB. The smallest free block that fits is taken,
the oldest address among equals; a freed block joins its free neighbours. When the device is full, segments
without a block in use are given back, once, and then it is out of memory.

Not modelled: the CUDA context's own memory, work space of kernels, streams, `expandable_segments` and the
other settings of PYTORCH_ALLOC_CONF.

Source: c10/cuda/CUDACachingAllocator.cpp of PyTorch 2.13.
"""

from dataclasses import dataclass, field
from typing import Any

ROUNDING = 512
MIB = 1 << 20
SMALL_REQUEST = MIB
"""Requests up to this are small."""

SMALL_SEGMENT = 2 * MIB
LARGE_SEGMENT = 20 * MIB
OWN_SEGMENT = 10 * MIB
"""Requests from this on get a segment of their own."""

MOST_BLOCKS = 256
"""Told of one by one."""


class DeviceFull(Exception):
    """There is no room for a request.

    Args:
        nbytes: What was asked for, as the allocator rounds a segment.
    """

    def __init__(self, nbytes: int) -> None:
        super().__init__(nbytes)
        self.nbytes = nbytes


@dataclass(eq=False)
class Block:
    """A piece of a segment, in use or free."""

    segment: "Segment"
    start: int
    size: int
    free: bool = True
    requested: int = 0
    """Bytes that were asked for, before rounding."""


@dataclass
class Tally:
    """One figure of `torch.cuda.memory_stats`."""

    current: int = 0
    peak: int = 0
    allocated: int = 0
    """All that was ever added."""

    freed: int = 0

    def add(self, amount: int) -> None:
        """More, or less."""
        self.current += amount
        self.peak = max(self.peak, self.current)
        if amount > 0:
            self.allocated += amount
        else:
            self.freed -= amount


COUNTED = ("allocated_bytes", "requested_bytes", "allocation", "reserved_bytes", "segment")


@dataclass(eq=False)
class Segment:
    """What is taken from the device at once."""

    number: int
    size: int
    small: bool
    blocks: list[Block] = field(default_factory=list)

    @property
    def is_unused(self) -> bool:
        """No block of it is in use."""
        return all(block.free for block in self.blocks)


class Allocator:
    """The memory of one device.

    Args:
        capacity: Bytes the device has.

    >>> memory = Allocator(64 * MIB)
    >>> block = memory.allocate(100)
    >>> memory.allocated, memory.reserved
    (512, 2097152)
    >>> memory.free(block); memory.allocated, memory.reserved
    (0, 2097152)
    >>> memory.empty_cache(); memory.reserved
    0
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.limit = capacity
        """Bytes that may be reserved: `set_per_process_memory_fraction`."""
        self.allocated = 0
        self.reserved = 0
        self.peak_allocated = 0
        self.peak_reserved = 0
        self.retries = 0
        """Times the cache was given back because the device was full."""
        self.failures = 0
        """Times it was out of memory."""
        self.segments: list[Segment] = []
        self.tallies = {
            kind: {pool: Tally() for pool in ("all", "small_pool", "large_pool")} for kind in COUNTED
        }
        """Figures of each kind, of all memory and of each pool."""
        self._numbers = 0

    def _count(self, small: bool, **amounts: int) -> None:
        pool = "small_pool" if small else "large_pool"
        for kind, amount in amounts.items():
            tallies = self.tallies[kind]
            tallies["all"].add(amount)
            tallies[pool].add(amount)

    @property
    def blocks_in_use(self) -> int:
        """Blocks that are in use."""
        return sum(not block.free for segment in self.segments for block in segment.blocks)

    @property
    def largest_free(self) -> int:
        """Bytes of the largest free block of what is reserved."""
        return max((b.size for s in self.segments for b in s.blocks if b.free), default=0)

    def figures(self) -> dict[str, int]:
        """The fields of `schema.AllocatorFigures` but its kind and device."""
        return {
            "allocated_bytes": self.allocated,
            "reserved_bytes": self.reserved,
            "peak_allocated_bytes": self.peak_allocated,
            "peak_reserved_bytes": self.peak_reserved,
            "segments": len(self.segments),
            "retries": self.retries,
            "failures": self.failures,
        }

    def layout(self) -> dict[str, Any]:
        """The rest of those fields: the blocks of each segment, free ones negative, unless they are many."""
        many = sum(len(segment.blocks) for segment in self.segments) > MOST_BLOCKS
        blocks = None if many else [[-b.size if b.free else b.size for b in s.blocks] for s in self.segments]
        return {"capacity_bytes": self.limit, "blocks": blocks}

    def allocate(self, nbytes: int) -> Block | None:
        """Find room.

        Args:
            nbytes: What a tensor needs; nothing is taken for none.

        Raises:
            DeviceFull: There is none.
        """
        if nbytes == 0:
            return None
        size = -(-nbytes // ROUNDING) * ROUNDING
        small = size <= SMALL_REQUEST
        block = self._best_fit(size, small) or self._new_segment(size, small).blocks[0]
        self._cut(block, size, small)
        block.free = False
        block.requested = nbytes
        self._count(small, allocated_bytes=block.size, requested_bytes=nbytes, allocation=1)
        self.allocated += block.size
        self.peak_allocated = max(self.peak_allocated, self.allocated)
        return block

    def free(self, block: Block | None) -> None:
        """Let a block go: it stays reserved, and joins free neighbours."""
        if block is None:
            return
        block.free = True
        self._count(
            block.segment.small,
            allocated_bytes=-block.size,
            requested_bytes=-block.requested,
            allocation=-1,
        )
        self.allocated -= block.size
        blocks = block.segment.blocks
        at = blocks.index(block)
        if at + 1 < len(blocks) and blocks[at + 1].free:
            block.size += blocks.pop(at + 1).size
        if at > 0 and blocks[at - 1].free:
            blocks[at - 1].size += blocks.pop(at).size

    def empty_cache(self) -> None:
        """Give back segments without a block in use; one small tensor keeps its whole segment."""
        for segment in self.segments:
            if segment.is_unused:
                self._count(segment.small, reserved_bytes=-segment.size, segment=-1)
        self.segments = [segment for segment in self.segments if not segment.is_unused]
        self.reserved = sum(segment.size for segment in self.segments)

    def reset_peaks(self) -> None:
        """Peaks begin anew from what is there now."""
        self.peak_allocated, self.peak_reserved = self.allocated, self.reserved
        for tally in self._all_tallies():
            tally.peak = tally.current

    def reset_totals(self) -> None:
        """What was ever added or taken away is counted anew."""
        for tally in self._all_tallies():
            tally.allocated = tally.freed = 0

    def _all_tallies(self) -> list[Tally]:
        return [tally for pools in self.tallies.values() for tally in pools.values()]

    def _best_fit(self, size: int, small: bool) -> Block | None:
        best: Block | None = None
        for segment in self.segments:
            if segment.small is not small:
                continue
            for block in segment.blocks:
                if block.free and block.size >= size and (best is None or block.size < best.size):
                    best = block
        return best

    def _new_segment(self, size: int, small: bool) -> Segment:
        if small:
            wanted = SMALL_SEGMENT
        elif size < OWN_SEGMENT:
            wanted = LARGE_SEGMENT
        else:
            wanted = -(-size // SMALL_SEGMENT) * SMALL_SEGMENT
        if self.reserved + wanted > self.limit:
            self.empty_cache()
            self.retries += 1
        if self.reserved + wanted > self.limit:
            self.failures += 1
            raise DeviceFull(wanted)
        self._numbers += 1
        segment = Segment(self._numbers, wanted, small)
        segment.blocks.append(Block(segment, 0, wanted))
        self.segments.append(segment)
        self._count(small, reserved_bytes=wanted, segment=1)
        self.reserved += wanted
        self.peak_reserved = max(self.peak_reserved, self.reserved)
        return segment

    @staticmethod
    def _cut(block: Block, size: int, small: bool) -> None:
        """What is left over becomes a free block, if it is worth one."""
        left = block.size - size
        if left >= ROUNDING if small else left > SMALL_REQUEST:
            blocks = block.segment.blocks
            blocks.insert(blocks.index(block) + 1, Block(block.segment, block.start + size, left))
            block.size = size


def size_in_words(nbytes: int) -> str:
    """A size as CUDA's messages write it.

    >>> size_in_words(512), size_in_words(2097152), size_in_words(3 << 30)
    ('512 bytes', '2.00 MiB', '3.00 GiB')
    """
    if nbytes <= 1024:
        return f"{nbytes} bytes"
    if nbytes <= MIB:
        return f"{nbytes / 1024:.2f} KiB"
    if nbytes <= 1 << 30:
        return f"{nbytes / MIB:.2f} MiB"
    return f"{nbytes / (1 << 30):.2f} GiB"


def out_of_memory(memory: Allocator, device: int, nbytes: int) -> str:
    """The message of a device that is full.

    Args:
        memory: Its memory.
        device: Its number.
        nbytes: What was asked for.
    """
    free = memory.capacity - memory.reserved
    allowed = ""
    if memory.limit < memory.capacity:
        allowed = f"{size_in_words(memory.limit)} allowed; "
    return (
        f"CUDA out of memory. Tried to allocate {size_in_words(nbytes)}. "
        f"GPU {device} has a total capacity of {size_in_words(memory.capacity)} "
        f"of which {size_in_words(free)} is free. "
        f"Including non-PyTorch memory, this process has {size_in_words(memory.reserved)} memory in use. "
        f"{allowed}"
        f"Of the allocated memory {size_in_words(memory.allocated)} is allocated by PyTorch, "
        f"and {size_in_words(memory.reserved - memory.allocated)} is reserved by PyTorch but unallocated. "
        "If reserved but unallocated memory is large try setting "
        "PYTORCH_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  "
        "See documentation for Memory Management  "
        "(https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)"
    )
