"""Slots for programs that run at the same time, and a bounded queue in front of them.

The pool owns the limits: a request names a program, never what it may use. A client
that goes away ends its child and gives the slot back; a client that reads slowly does
not hold the slot. How a run is read and judged is in `running`.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Literal

from ..errors import DeviceUnavailable, SandboxRestarting, SandboxUnavailable
from ..profiles import Profile
from ..schema import Chunk, Environment, Limits, RunRequest, Trace, TraceRequest
from ..schema.comparison import PENDING, not_compared
from .comparison import Ended, compared, why_not
from .framing import encode_request
from .order import Order
from .prepared import Preparing
from .running import WITHOUT_A_GPU, Running
from .turns import Turns
from .zygote_client import ZygoteClient

DEVICES = WITHOUT_A_GPU
"""Those of a pool that leads to no GPU."""

START_OF_CUDA_S = 30.0
"""Most time for a child to make its context on a GPU, on a machine with many of them that are asleep."""

Inbox = asyncio.Queue[Chunk | Trace | BaseException]


@dataclass(frozen=True, kw_only=True)
class PoolStatus:
    """Whether programs can be run, and how busy it is."""

    state: Literal["ready", "starting", "unavailable"]
    reason: str | None
    """Why no program is run; None when they are."""

    torch: str | None
    """Version of torch; None while it is not known."""

    profile: Profile | None
    """The set of layers in force; None while it is not known."""

    layers: tuple[str, ...]
    """Layers of confinement in force."""

    warnings: tuple[str, ...]
    """What the operator should know, in sentences."""

    devices: tuple[str, ...]
    running: int
    waiting: int
    slots: int
    places: int
    """Requests that may wait."""

    evicted: int
    """Requests that gave up their place in the queue to another client, since the start."""

    prepared: int
    """Children that wait for a program."""

    unforked: int
    """Runs that found one, since the start."""


class Pool:
    """Runs programs, each in a child of its own. Use it with `async with`.

    Args:
        limits: What a run may use.
        turns: Slots and the queue; one slot and no queue if None.
        compare: Hold the end of each run against an unobserved one.
        zygote: Forks the children.
        prepare: Keep a child ready for each slot while nothing runs.
        devices: What programs may use.
        cuda_fraction: How much of a GPU's memory each may take; its children make a context on it. None: no
            GPU.
    """

    def __init__(
        self,
        limits: Limits,
        *,
        turns: Turns | None = None,
        compare: bool = True,
        zygote: ZygoteClient | None = None,
        prepare: bool = False,
        devices: tuple[str, ...] = DEVICES,
        cuda_fraction: float | None = None,
    ) -> None:
        self._limits = limits
        self._devices = devices
        self._cuda_fraction = cuda_fraction
        self._compare = compare
        self._turns = turns or Turns(1, 0)
        self._zygote = zygote or ZygoteClient()
        self._tasks: set[asyncio.Task[None]] = set()
        self._leaving = asyncio.Event()
        self._preparing = Preparing(
            self._zygote,
            self._order(0, limits),
            slots=self._turns.slots if prepare else 0,
            each=2 if compare else 1,
            is_idle=self._is_idle,
        )

    async def __aenter__(self) -> "Pool":
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        await self.close()

    async def start(self) -> None:
        """Start the zygote; returns when it is ready or known not to be (see `status`)."""
        await self._zygote.start()
        self._preparing.idle()

    def leave(self) -> None:
        """Begin to end: who waits is refused, who runs gets an answer, nothing is compared any more."""
        self._leaving.set()
        self._turns.close(SandboxRestarting())

    async def close(self) -> None:
        """End every run and the zygote."""
        self.leave()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._preparing.close()
        await self._zygote.close()

    def _is_idle(self) -> bool:
        return self._turns.running == self._turns.waiting == 0 and not self._leaving.is_set()

    def status(self) -> PoolStatus:
        """Say how things stand. Never raises, never waits."""
        about = self._zygote.about
        return PoolStatus(
            state=self._zygote.state,
            reason=self._zygote.reason,
            torch=None if about is None else about.torch,
            profile=None if about is None else about.profile,
            layers=() if about is None else about.layers,
            warnings=() if about is None else about.warnings,
            devices=self._devices,
            running=self._turns.running,
            waiting=self._turns.waiting,
            slots=self._turns.slots,
            places=self._turns.places,
            evicted=self._turns.evicted,
            prepared=self._preparing.ready,
            unforked=self._preparing.used,
        )

    async def run(
        self, request: TraceRequest, *, client: str = "", observed: bool = True, compare: bool = True
    ) -> Trace:
        """Run a program to its end, whichever that is.

        Args:
            request: The program.
            client: Who asks, under any name: clients take turns.
            observed: False runs it without a tracer, for its outcome alone.
            compare: Hold its end against an unobserved run, if the pool does so.

        Raises:
            PoolBusy: Every slot is taken and the queue, or the client's share of it, is full.
            SandboxRestarting: There is no zygote just now, or it died with the run.
            SandboxUnavailable: This machine cannot confine a program.
            DeviceUnavailable: The device asked for is not to be had.
        """
        async for piece in self.stream(request, client=client, observed=observed, compare=compare):
            if isinstance(piece, Trace) and piece.is_final:
                return piece
        raise AssertionError("a stream ends with a trace or raises")

    async def stream(
        self, request: TraceRequest, *, client: str = "", observed: bool = True, compare: bool = True
    ) -> AsyncGenerator[Chunk | Trace, None]:
        """Run a program and yield its chunks as they arrive; the trace is the last item.

        While it is held against an unobserved run, the trace is there already: an item whose comparison is
        pending. Closing the iterator ends the program. Arguments and errors as of `run`.
        """
        inbox: Inbox = asyncio.Queue()
        compare = compare and observed and self._compare
        work = self._work(self._run_request(request, observed), client, inbox, compare)
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            while True:
                piece = await inbox.get()
                if isinstance(piece, BaseException):
                    raise piece
                yield piece
                if isinstance(piece, Trace) and piece.is_final:
                    return
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def _run_request(self, request: TraceRequest, observed: bool) -> RunRequest:
        if request.device not in ("auto", *self._devices):
            raise DeviceUnavailable(request.device, self._devices)
        simulates = "simulated-cuda" in self._devices
        return RunRequest(
            source=request.source,
            device="cpu" if request.device == "auto" and not simulates else request.device,
            seed=request.seed,
            limits=self._limits,
            observed=observed,
        )

    async def _work(self, request: RunRequest, client: str, inbox: Inbox, compare: bool) -> None:
        """A task of its own, so that a slot is held by the child and not by whoever reads."""
        try:
            if self._zygote.state == "unavailable":
                raise SandboxUnavailable(self._zygote.reason or "")
            async with self._turns.turn(client) as slot:
                trace, ended = await self._run_in(slot, request, inbox.put_nowait)
                if compare:
                    trace = await self._compared(slot, request, trace, ended, inbox)
            inbox.put_nowait(trace)
        except BaseException as e:
            inbox.put_nowait(e)
            if isinstance(e, asyncio.CancelledError):
                raise
        finally:
            self._preparing.idle()

    async def _compared(
        self, slot: int, request: RunRequest, trace: Trace, ended: Ended | None, inbox: Inbox
    ) -> Trace:
        """The trace, held against unobserved runs in the same slot where that makes sense.

        Those who wait for a slot come first: when many do, nothing is compared.
        """
        busy = 2 * self._turns.waiting > self._turns.places or self._leaving.is_set()
        reason = "busy" if busy else why_not(trace.outcome, ended)
        if reason is not None or ended is None:
            return trace.model_copy(update={"comparison": not_compared(reason or "crashed")})
        inbox.put_nowait(trace.model_copy(update={"comparison": PENDING}))
        comparing = asyncio.ensure_future(
            compared(trace, ended, request, lambda plain: self._run_plain(slot, plain))
        )
        leaving = asyncio.ensure_future(self._leaving.wait())
        try:
            await asyncio.wait({comparing, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if not comparing.done():
                return trace.model_copy(update={"comparison": not_compared("busy")})
            return comparing.result()
        except SandboxRestarting:  # the reader has the trace already
            return trace.model_copy(update={"comparison": not_compared("crashed")})
        finally:
            for task in (comparing, leaving):
                task.cancel()
            await asyncio.gather(comparing, leaving, return_exceptions=True)

    async def _run_plain(self, slot: int, request: RunRequest) -> tuple[Trace, Ended | None]:
        return await self._run_in(slot, request, lambda chunk: None)

    async def _run_in(
        self, slot: int, request: RunRequest, emit: Callable[[Chunk], None]
    ) -> tuple[Trace, Ended | None]:
        limits = request.limits
        order = self._order(slot, limits)
        zygote = self._zygote.pid
        encoded = encode_request(request)
        child = self._preparing.take(order, encoded) or self._zygote.spawn(order, encoded)
        try:
            start_s = 0.0 if self._cuda_fraction is None else START_OF_CUDA_S
            running = Running(child, request, self._environment(request), emit, start_s=start_s)
            trace = await running.trace()
            return trace, await asyncio.to_thread(running.ended, trace)
        except SandboxRestarting:
            if self._zygote.pid == zygote:  # else it died, and its successor is not to blame
                self._zygote.give_up()
            raise
        finally:
            child.close()

    def _order(self, slot: int, limits: Limits) -> Order:
        return Order(
            slot=slot,
            memory_bytes=limits.memory_bytes,
            cpu_s=limits.cpu_s,
            cuda_fraction=self._cuda_fraction,
        )

    def _environment(self, request: RunRequest) -> Environment:
        """For a run that ends before it says in what it ran."""
        about = self._zygote.about
        return Environment(
            torch="" if about is None else about.torch,
            python="" if about is None else about.python,
            device="cpu",
            simulated=False,
            seed=request.seed,
        )
