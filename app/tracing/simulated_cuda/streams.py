"""Streams and events, as far as they can be honest: every operation is over before the next begins.

So waiting is over at once and a query is always true, which is one of the orders a GPU may choose. A bug that
comes of a missing wait does not show here. Nothing is timed.
"""

from typing import Any

import torch

from .machine import Machine
from .patches import Patches, not_simulated


class Stream:
    """A queue of a simulated device."""

    device_type = 1
    """What C++ calls CUDA."""

    _count = 0

    @staticmethod
    def priority_range() -> tuple[int, int]:
        """There is one priority."""
        return 0, 0

    @property
    def device_index(self) -> int:
        """The number of its device."""
        return int(self.device.index)

    def __init__(self, device: Any = None, priority: int = 0, **kwargs: Any) -> None:
        self.device = _machine_of().device("cuda" if device is None else device)
        self.priority = priority
        Stream._count += 1
        self.stream_id = Stream._count
        self.cuda_stream = 0

    def synchronize(self) -> None:
        """Everything is done."""

    def wait_stream(self, stream: Any) -> None:
        """Everything is done."""

    def wait_event(self, event: Any) -> None:
        """Everything is done."""

    def query(self) -> bool:
        """Everything is done."""
        return True

    def is_capturing(self) -> bool:
        """Nothing is captured."""
        return False

    def record_event(self, event: Any = None) -> Any:
        """An event that has happened."""
        return event if event is not None else Event()

    def __enter__(self) -> "Stream":
        _enter(self)
        return self

    def __exit__(self, *error: object) -> None:
        _leave()

    def __repr__(self) -> str:
        return f"<torch.cuda.Stream device={self.device} (simulated: orders nothing)>"


class Event:
    """A mark in a stream."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Options are of no consequence."""

    def record(self, stream: Any = None) -> None:
        """It has happened."""

    def wait(self, stream: Any = None) -> None:
        """It has happened."""

    def synchronize(self) -> None:
        """It has happened."""

    def query(self) -> bool:
        """It has happened."""
        return True

    def elapsed_time(self, end: Any) -> float:
        """Not to be had.

        Raises:
            NotSimulated: Always.
        """
        raise not_simulated(
            "the time between events",
            "It computes on the CPU, and how long that takes says nothing about a GPU.",
        )

    def __repr__(self) -> str:
        return "<torch.cuda.Event (simulated: measures nothing)>"


_entered: list[Any] = []
_devices_before: list[int] = []
_machines: list[Machine] = []


def _machine_of() -> Machine:
    return _machines[-1]


def _enter(stream: Any) -> None:
    machine = _machine_of()
    _entered.append(stream)
    _devices_before.append(machine.current)
    machine.current = stream.device.index


def _leave() -> None:
    _entered.pop()
    _machine_of().current = _devices_before.pop()


class _On:
    """`with torch.cuda.stream(s)`."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __enter__(self) -> Any:
        if self._stream is not None:
            _enter(self._stream)
        return self._stream

    def __exit__(self, *error: object) -> None:
        if self._stream is not None:
            _leave()


def put_streams(machine: Machine, patches: Patches) -> None:
    """Replace streams and events."""
    _machines[:] = [machine]
    _entered.clear()
    _devices_before.clear()
    chosen: Any = None
    usual: dict[int, Stream] = {}

    def default(device: Any = None) -> Any:
        place = machine.device("cuda" if device is None else device)
        if place.index not in usual:
            usual[place.index] = Stream(place)
        return usual[place.index]

    def current(device: Any = None) -> Any:
        wanted = default(device)
        return next((s for s in reversed((chosen, *_entered)) if s and s.device == wanted.device), wanted)

    def choose(stream: Any) -> None:
        nonlocal chosen
        if stream is not None:
            chosen, machine.current = stream, stream.device.index

    for name, value in {
        "Stream": Stream,
        "Event": Event,
        "stream": _On,
        "StreamContext": _On,
        "default_stream": default,
        "current_stream": current,
        "set_stream": choose,
        "is_current_stream_capturing": lambda: False,
    }.items():
        patches.put(torch.cuda, name, value)
    patches.put(torch, "Stream", Stream)
    patches.put(torch, "Event", Event)
    patches.put(torch.accelerator, "current_stream", current)
    patches.put(torch.accelerator, "set_stream", choose)
