"""What the zygote needs to know in order to fork; the program is not part of it."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Order:
    """One child, asked for."""

    slot: int
    """Which of the places for simultaneous runs it takes, from 0."""

    memory_bytes: int
    cpu_s: int

    cuda_fraction: float | None = None
    """How much of each GPU's memory it may take. None: it uses none."""

    waits: bool = False
    """The child is made before there is a program for it: confined, it waits for one on its descriptor 0."""
