"""Real devices: their memory is elsewhere, and computes while the program runs on.

What the tracer needs of one is here: a copy of some bytes of a storage, and what the allocator says of
itself. A copy disturbs the program as little as can be. It goes over a stream of its own, which waits for
what was queued before it, into pinned memory of its own; the host waits for that copy alone. No memory of
the device is taken, so the allocator's figures stay those of the program, and while a graph is captured
nothing is read. What a program forgot to wait for may still show less often than unwatched: the host waits
at every line that writes.

Nothing here is called before the program has used the device: watching never makes a context.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import torch

from . import reading

MOST_COPIED_BYTES = 1 << 20
"""Copied at once at most; of larger tensors the first elements."""

KINDS = ("cuda", "mps")
"""Kinds of device that are told of as what they are."""

Figures = dict[str, int]
"""Of one allocator: the fields of `schema.AllocatorFigures` but its kind and device."""


class Accelerator(Protocol):
    """A kind of device with memory of its own."""

    simulated: bool
    """It is a model."""

    def reaches(self, device: str) -> bool:
        """Whether the memory of a device, by its name, is read through this."""
        ...

    def copied(self, t: Any, first: int, nbytes: int) -> bytes | None:
        """Bytes of a tensor's storage once what is queued is done; None while a graph is captured.

        Args:
            t: A tensor with a storage.
            first: The first byte of the storage to copy; the caller has checked the extent.
            nbytes: How many.
        """
        ...

    def figures(self) -> Iterator[tuple[str, Figures]]:
        """Each device in use with what its allocator says."""
        ...

    def layout(self, device: str) -> dict[str, Any]:
        """What else is known of its memory."""
        ...

    def seed(self, seed: int) -> None:
        """Seed its generators, now or when it is first used."""
        ...


def _bytes_on_device(t: Any, first: int, nbytes: int) -> Any:
    """Those bytes as a tensor on the device: another view of the storage, no memory of its own."""
    empty: Any = torch.empty(0, dtype=torch.uint8, device=reading.get_device(t))
    return empty.set_(reading.storage_of(t), first, (nbytes,), (1,))


class Cuda:
    """CUDA devices that are there."""

    simulated = False

    def __init__(self) -> None:
        cuda = torch.cuda
        # Bound before the program runs: it may replace them.
        self._in_use: Callable[[], bool] = cuda.is_initialized
        self._captures: Callable[[], bool] = cuda.is_current_stream_capturing
        self._current: Any = cuda.current_stream
        self._new_stream: Any = cuda.Stream
        self._new_event: Any = cuda.Event
        self._over: Any = cuda.stream
        self._count: Callable[[], int] = cuda.device_count
        self._statistics: Any = cuda.memory_stats_as_nested_dict
        self._aside: dict[int, Any] = {}
        self._events: dict[int, tuple[Any, Any]] = {}
        self._seen: dict[int, dict[int, Any]] = {}
        self._pinned: Any = None

    def reaches(self, device: str) -> bool:
        """See `Accelerator`."""
        return device.startswith("cuda")

    def copied(self, t: Any, first: int, nbytes: int) -> bytes | None:
        """See `Accelerator`."""
        if self._captures():
            return None
        index = reading.get_device(t).index or 0
        with torch.no_grad():
            source = _bytes_on_device(t, first, nbytes)
            target = self._room(nbytes)
            aside = self._stream_of(index)
            queued, done = self._events[index]
            for stream in self._streams_in_use(index):
                queued.record(stream)
                aside.wait_event(queued)
            with self._over(aside):
                target.copy_(source, non_blocking=True)
                done.record(aside)
            done.synchronize()
        return reading.read_bytes(target.data_ptr(), nbytes)

    def _room(self, nbytes: int) -> Any:
        if self._pinned is None or self._pinned.numel() < nbytes:
            size = max(nbytes, 1 << 16)
            self._pinned = torch.empty(size, dtype=torch.uint8, device="cpu", pin_memory=True)
        return self._pinned[:nbytes]

    def _stream_of(self, index: int) -> Any:
        if index not in self._aside:
            self._aside[index] = self._new_stream(index)
            self._events[index] = (self._new_event(), self._new_event())
            self._seen[index] = {}
        return self._aside[index]

    def _streams_in_use(self, index: int) -> list[Any]:
        """Those that were current when a line ended: what wrote the bytes was queued on one of them."""
        current, seen = self._current(index), self._seen[index]
        seen[current.stream_id] = current
        return list(seen.values())

    def figures(self) -> Iterator[tuple[str, Figures]]:
        """See `Accelerator`."""
        if not self._in_use():
            return
        for index in range(self._count()):
            table = self._statistics(index)
            if table:
                yield f"cuda:{index}", figures_of(table)

    def layout(self, device: str) -> dict[str, Any]:
        """See `Accelerator`. The blocks would have to be asked for with a snapshot, which is slow."""
        return {}

    def seed(self, seed: int) -> None:
        """See `Accelerator`."""
        torch.cuda.manual_seed_all(seed)


def figures_of(table: Any) -> Figures:
    """The figures among `torch.cuda.memory_stats_as_nested_dict`."""
    allocated, reserved = table["allocated_bytes"]["all"], table["reserved_bytes"]["all"]
    segments = table["segment"]["all"]
    return {
        "allocated_bytes": allocated["current"],
        "reserved_bytes": reserved["current"],
        "peak_allocated_bytes": allocated["peak"],
        "peak_reserved_bytes": reserved["peak"],
        "segments": segments["current"],
        "retries": table["num_alloc_retries"],
        "failures": table["num_ooms"],
    }


class Mps:
    """Apple's GPU: one stream, so a copy waits for what is queued."""

    simulated = False

    def reaches(self, device: str) -> bool:
        """See `Accelerator`."""
        return device.startswith("mps")

    def copied(self, t: Any, first: int, nbytes: int) -> bytes | None:
        """See `Accelerator`."""
        with torch.no_grad():
            here = _bytes_on_device(t, first, nbytes).cpu()
        return reading.read_bytes(here.data_ptr(), nbytes)

    def figures(self) -> Iterator[tuple[str, Figures]]:
        """It keeps no such table."""
        return iter(())

    def layout(self, device: str) -> dict[str, Any]:
        """See `Accelerator`."""
        return {}

    def seed(self, seed: int) -> None:
        """See `Accelerator`."""
        torch.mps.manual_seed(seed)


def there_is() -> Accelerator | None:
    """The kind of device that programs of this process can use; none is touched."""
    if torch.backends.cuda.is_built() and torch.cuda.device_count() > 0:
        return Cuda()
    return Mps() if torch.backends.mps.is_available() else None


def name_of(accelerator: Accelerator | None) -> str:
    """As `Environment.device` has it."""
    if accelerator is None:
        return "cpu"
    return "mps" if accelerator.reaches("mps:0") else "cuda"


@contextmanager
def reached(accelerator: Accelerator | None) -> Iterator[None]:
    """While entered, the memory of these devices can be read."""
    before, reading.accelerator = reading.accelerator, accelerator
    try:
        yield
    finally:
        reading.accelerator = before


def here(t: Any) -> Any:
    """A copy on the CPU of a tensor on a device, with its shape and strides; None where not to be had.

    The caller has checked that its elements lie within the storage.
    """
    accelerator = reading.accelerator
    if accelerator is None:
        return None
    layout = reading.get_layout(t)
    if layout is torch.sparse_coo:
        with torch.no_grad():
            parts = [part for _, part in reading.parts_of(t)]
            ours = [here(part) for part in parts]
            if len(ours) != 2 or any(each is None for each in ours):
                return None
            make: Any = torch.sparse_coo_tensor
            return make(*ours, tuple(reading.get_shape(t)), check_invariants=False)
    if layout is not torch.strided or reading.get_is_nested(t) or reading.get_is_quantized(t):
        return None
    shape, stride, size = tuple(reading.get_shape(t)), reading.stride_of(t), reading.element_size(t)
    if 0 in shape:
        return torch.empty(shape, dtype=reading.get_dtype(t), device="cpu")
    count = 1 + sum((n - 1) * s for n, s in zip(shape, stride, strict=True))
    if count * size > MOST_COPIED_BYTES:
        return None
    data = accelerator.copied(t, reading.offset_of(t) * size, count * size)
    if data is None:
        return None
    with torch.no_grad():
        out = torch.frombuffer(bytearray(data), dtype=reading.get_dtype(t)).as_strided(shape, stride)
        out = out.conj() if reading.is_conj(t) else out
        return out.neg() if reading.is_neg(t) else out


def beginning_of(t: Any) -> Any:
    """The first elements of a large contiguous tensor on a device, in one row; None where not to be had."""
    if not reading.is_contiguous(t) or reading.numel(t) == 0:
        return None
    some = min(reading.numel(t), 65_536, MOST_COPIED_BYTES // reading.element_size(t))
    with torch.no_grad():
        return here(t.detach().view(-1)[:some])
