"""What the web needs from whoever runs programs.

The web does not import `execution`: `main` hands it something that fits this protocol, whose traces
are already explained and laid out.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Literal, Protocol

from ..schema import Chunk, Trace, TraceRequest


@dataclass(frozen=True, kw_only=True)
class QueueStatus:
    """How busy the sandboxes are."""

    running: int
    """Programs running now."""

    waiting: int
    """Requests that wait for a sandbox."""

    sandboxes: int
    """Programs that can run at the same time."""

    places: int
    """Requests that may wait."""

    evicted: int = 0
    """Requests that gave up their place to another client's, since the start."""

    prepared: int = 0
    """Confined processes that wait for a program."""

    unforked: int = 0
    """Runs that found one, since the start."""


@dataclass(frozen=True, kw_only=True)
class GpuStatus:
    """The sandbox of programs that use a real GPU."""

    state: Literal["ready", "starting", "unavailable"]
    """Whether they can be run."""

    reason: str | None
    """Why not, in one sentence."""

    profile: str | None
    """Name of the set of layers that confine them."""

    layers: tuple[str, ...]
    """The layers in force."""

    loosened: tuple[str, ...]
    """Those of them that let through what the driver needs."""

    prepared: int = 0
    """Processes with a context on the GPU that wait for a program."""


@dataclass(frozen=True, kw_only=True)
class RunnerStatus:
    """Whether programs can be run here, and how."""

    state: Literal["ready", "starting", "unavailable"]
    """`unavailable`: this machine cannot confine a program, so none is run."""

    reason: str | None
    """Why programs are not run, in one sentence; None when they are."""

    torch: str | None
    """Version of the torch that runs them; None while it is not known."""

    profile: str | None
    """Name of the set of layers that confine a program; `none` where the operator wants no sandbox."""

    layers: tuple[str, ...]
    """The layers in force."""

    devices: tuple[str, ...]
    """Devices a program may use."""

    queue: QueueStatus
    """How busy it is."""

    gpu: GpuStatus | None = None
    """How programs that use a real GPU are run; None where the operator did not ask for one."""


class Runner(Protocol):
    """Runs programs and explains what they did."""

    async def run(self, request: TraceRequest, *, client: str = "") -> Trace:
        """Run a program. A program that raises, loops or crashes is a trace.

        Args:
            request: The program.
            client: Who asks: clients take turns.

        Raises:
            PoolBusy: Every sandbox is busy and the queue, or the client's share of it, is full.
            SandboxRestarting: Try again soon.
            SandboxUnavailable: No program is run on this machine.
            DeviceUnavailable: The device asked for is not to be had.
        """
        ...

    def stream(self, request: TraceRequest, *, client: str = "") -> AsyncIterator[Chunk | Trace]:
        """Run a program and yield chunks as they arrive; the whole trace is the last item, always.

        While it is held against an unobserved run, the trace comes once before, its comparison pending.

        Arguments as of `run`. Raises what it raises, before the first item. Closing the iterator stops the
        program.
        """
        ...

    def status(self) -> RunnerStatus:
        """Say whether programs can be run. Never raises, never waits."""
        ...
