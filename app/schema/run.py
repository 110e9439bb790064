"""What is asked for: a reader's request, and the same with the server's limits for the sandbox.

Two types on purpose: limits come from the server's settings, never from a request body.
"""

from typing import Literal

from pydantic import Field

from .base import Record

DeviceChoice = Literal["auto", "cpu", "cuda", "simulated-cuda"]
"""Where a program may put tensors. `auto`: a program that names CUDA has it, the real device if it is there
and allowed, else a simulated one; any other program runs on the CPU."""


class TraceRequest(Record):
    """A program to run and trace."""

    source: str
    """The program: Python source that may import torch."""

    device: DeviceChoice = "auto"
    """Where tensors may live. A device that is not to be had is an error, never replaced silently."""

    seed: int = Field(default=0, ge=0, lt=2**63)
    """Seed of the random generators of Python, NumPy and PyTorch."""


class Limits(Record):
    """What a run may use. The parent enforces time and size; the child counts, and stops just in time."""

    wall_s: float
    """Seconds from the start of the program until it is stopped."""

    cpu_s: int
    """Seconds of processor time."""

    memory_bytes: int
    """Bytes of address space above what the idle child has."""

    steps_kept: int
    """Steps kept one by one; what comes after is folded into the last."""

    statements: int
    """Executed statements after which the program is stopped (`step-limit`)."""

    stdout_kept_bytes: int
    """Bytes of output that are kept; what comes after is counted only."""

    stdout_bytes: int
    """Bytes of output after which the program is stopped (`output-limit`)."""

    trace_bytes: int
    """Bytes of the trace; steps past it are folded."""

    value_elements: int
    """Tensors up to this size have their values recorded, larger ones a summary."""

    device_bytes: int = 64 << 20
    """Memory of each simulated device."""

    devices: int = 1
    """Simulated devices there are."""


class RunRequest(Record):
    """A program with the limits it runs under, on its way into the sandbox."""

    source: str
    """The program."""

    device: DeviceChoice
    """The device asked for, already known to be available."""

    seed: int | None
    """Seed of the random generators; None leaves them as they are."""

    limits: Limits
    """The server's limits."""

    observed: bool
    """False for the second, unobserved run whose final state is compared with the observed one."""

    reports: tuple[str, ...] | None = None
    """For the second unobserved run: names whose contents it tells. Its memory is laid out and filled
    otherwise than the first one's, so that what depends on that shows. Null for any other run."""
