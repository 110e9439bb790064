"""The random generators of simulated devices.

Each device draws from a generator of its own, as on a GPU: what is drawn there does not move the CPU's on.
The numbers are those of PyTorch's CPU generator from the same seed; a GPU draws others.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import torch

from .labels import CPU

_RealGenerator: Any = torch._C.Generator


class _Kind(type(_RealGenerator)):  # type: ignore[misc]
    """Generators made before the simulation, or by PyTorch itself, are generators too."""

    def __instancecheck__(cls, it: Any) -> bool:
        return isinstance(it, _RealGenerator)


class Generator(_RealGenerator, metaclass=_Kind):  # type: ignore[misc]
    """Takes the place of `torch.Generator`, which knows no CUDA device in a build without CUDA."""

    shown_device: torch.device
    make_device: Any = None
    """Turns what a program calls a device into one; set while a simulation is on."""

    simulated: ClassVar[dict[int, "Generator"]] = {}
    """Those of simulated devices. PyTorch hands ops another Python object for the same generator."""

    def __new__(cls, device: Any = "cpu") -> "Generator":  # noqa: D102  # see the class
        asked = torch.device(device)
        place = cls.make_device(asked) if asked.type == "cuda" else None
        made: Generator = super().__new__(cls, device=CPU if place is not None else asked)
        made.shown_device = place if place is not None else asked
        if place is not None:
            cls.simulated[made._cdata] = made
        return made

    @property
    def device(self) -> torch.device:
        """Where it draws."""
        return self.shown_device


Generator.__module__, Generator.__qualname__ = "torch._C", "Generator"  # as it says what it is


def device_of(generator: Any) -> torch.device:
    """The device of a generator, simulated ones included."""
    known = Generator.simulated.get(generator._cdata)
    return generator.device if known is None else known.shown_device


def check_generator(generator: Any, place: torch.device) -> None:
    """A generator draws for its own kind of device.

    Raises:
        RuntimeError: It is of another.
    """
    kind = device_of(generator).type
    if kind != place.type:
        raise RuntimeError(f"Expected a '{place.type}' device type for generator but found '{kind}'")


class Generators:
    """One per device.

    Args:
        devices: How many there are.
    """

    def __init__(self, devices: int) -> None:
        self.default: list[Generator] = []
        for i in range(devices):
            made = _RealGenerator.__new__(Generator, device=CPU)
            made.shown_device = torch.device("cuda", i)
            made.manual_seed(0)
            self.default.append(made)

    def seed_all(self, seed: int) -> None:
        """Seed the generator of every device."""
        for each in self.default:
            each.manual_seed(seed)

    @contextmanager
    def in_use(self, place: torch.device, args: Any, kwargs: Any) -> Iterator[None]:
        """While entered, ops draw from the generator of a device, unless they were given one.

        Raises:
            RuntimeError: They were given one of another device.
        """
        given = next((v for v in (*args, *kwargs.values()) if isinstance(v, _RealGenerator)), None)
        if given is not None:
            check_generator(given, place)
            yield
            return
        host, ours = torch.default_generator, self.default[place.index]
        before = host.get_state()
        host.set_state(ours.get_state())
        try:
            yield
        finally:
            ours.set_state(host.get_state())
            host.set_state(before)
