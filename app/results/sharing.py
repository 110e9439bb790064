"""One run for all who ask for the same at the same time, and none for what is known already.

The hard part is who owns a run: not the reader who came first, who may leave, but a task that lives as
long as somebody listens. A listener who comes late hears everything from the start.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, suppress
from typing import Generic, Protocol, TypeVar

from ..errors import PoolBusy
from ..schema import Outcome, Trace, TraceRequest
from .store import Store

Piece = TypeVar("Piece")
PieceOfRun = TypeVar("PieceOfRun", covariant=True)


class Runs(Protocol[PieceOfRun]):
    """Who runs programs: the last piece of a stream is the trace."""

    def stream(self, request: TraceRequest, *, client: str) -> AsyncIterator[PieceOfRun]:
        """Run a program for this client and yield what arrives."""
        ...


class Shared(Generic[Piece]):
    """Answers from what was kept, joins a run that is under way, or starts one."""

    def __init__(
        self,
        runs: Runs[Piece],
        key_of: Callable[[TraceRequest], str | None],
        store: Store | None,
        count: Callable[[str], object] = lambda _how: None,
    ) -> None:
        """Share what `runs` runs.

        Args:
            runs: Runs programs.
            key_of: Names a result, or None while it cannot be known (torch has not started).
            store: Where results are kept; None keeps none.
            count: Told of every request how it was answered: `run`, `joined` or `kept`.
        """
        self._runs = runs
        self._key_of = key_of
        self._store = store
        self._count = count
        self._flights: dict[str, _Flight[Piece]] = {}
        self._writing: dict[str, tuple[Trace, asyncio.Future[None]]] = {}
        """What is on its way to the store, and the task that brings it there."""

    async def run(self, request: TraceRequest, *, client: str = "") -> Trace:
        """The trace of a program; errors as of `stream`."""
        async with aclosing(self.stream(request, client=client)) as pieces:
            async for piece in pieces:
                if isinstance(piece, Trace) and piece.is_final:
                    return piece
        raise AssertionError("a stream ends with a trace or raises")

    async def stream(self, request: TraceRequest, *, client: str = "") -> AsyncGenerator[Piece | Trace, None]:
        """What a run of this program yields; only the trace where it is known already.

        A run counts as that of the client who came first. Where that client has had its share, another
        who waited for the same run gets one of its own. Raises what the runner raises, to everybody who
        waits. Closing the iterator leaves the run, which ends when nobody is left.
        """
        key = self._key_of(request) or ""  # without a name there is nothing to share
        flight = self._flights.get(key)
        if flight is None and key and self._store is not None:
            on_its_way = self._writing.get(key)
            kept = on_its_way[0] if on_its_way else await asyncio.to_thread(self._store.read, key)
            if kept is not None:
                self._count("kept")
                yield kept
                return
            flight = self._flights.get(key)  # somebody may have started it meanwhile
        self._count("run" if flight is None else "joined")
        own = flight is None or flight.client == client
        flight = flight or self._take_off(key, request, client)
        try:
            async with aclosing(flight.pieces()) as pieces:
                async for piece in pieces:
                    yield piece
            return
        except PoolBusy:
            if own:
                raise
        flight = self._flights.get(key) or self._take_off(key, request, client)
        async with aclosing(flight.pieces()) as pieces:
            async for piece in pieces:
                yield piece

    def _take_off(self, key: str, request: TraceRequest, client: str) -> "_Flight[Piece]":
        source = self._runs.stream(request, client=client)
        flight = _Flight(client, source, lambda trace: self._landed(key, trace))
        if key:
            self._flights[key] = flight
            flight.when_over(lambda: self._flights.pop(key, None))
        return flight

    def _landed(self, key: str, trace: Trace) -> None:
        if key and self._store is not None and is_repeatable(trace.outcome) and is_compared(trace):
            keeping = asyncio.ensure_future(asyncio.to_thread(self._store.write, key, trace))
            self._writing[key] = trace, keeping
            keeping.add_done_callback(lambda _done: self._writing.pop(key, None))


def is_repeatable(outcome: Outcome) -> bool:
    """Whether the same program would end so again: not what depends on how busy the machine was."""
    if outcome.kind == "stopped":
        return outcome.reason == "step-limit"
    return outcome.kind in ("finished", "raised") and outcome.reason in (None, "denied")


def is_compared(trace: Trace) -> bool:
    """Whether asking again would not bring more: a comparison may be under way, or have had to wait."""
    return trace.is_final and trace.comparison.reason != "busy"


class _Flight(Generic[Piece]):
    """A run under way: what it has yielded so far, and who listens."""

    def __init__(self, client: str, source: AsyncIterator[Piece], landed: Callable[[Trace], None]) -> None:
        self.client = client
        self._source = source
        self._landed = landed
        self._so_far: list[Piece] = []
        self._fault: BaseException | None = None
        self._over = False
        self._news = asyncio.Event()
        self._listeners = 0
        self._callbacks: list[Callable[[], object]] = []
        self._task = asyncio.ensure_future(self._fly())

    def when_over(self, callback: Callable[[], object]) -> None:
        """Be told when nobody can join any more."""
        self._callbacks.append(callback)

    async def pieces(self) -> AsyncGenerator[Piece, None]:
        """Everything from the start; the last listener who leaves ends the run."""
        self._listeners += 1
        heard = 0
        try:
            while True:
                while heard < len(self._so_far):
                    heard += 1
                    yield self._so_far[heard - 1]
                if self._over:
                    break
                news = self._news
                await news.wait()
            if self._fault is not None:
                raise self._fault
        finally:
            self._listeners -= 1
            if self._listeners == 0 and not self._over:
                self._end()
                self._task.cancel()
                with suppress(asyncio.CancelledError):
                    await self._task

    async def _fly(self) -> None:
        try:
            async for piece in self._source:
                if isinstance(piece, Trace):
                    self._landed(piece)
                self._so_far.append(piece)
                self._ring()
        except asyncio.CancelledError:
            raise
        except BaseException as e:
            self._fault = e
        finally:
            self._end()
            close = getattr(self._source, "aclose", None)
            if close is not None:
                await close()

    def _end(self) -> None:
        if not self._over:
            self._over = True
            for callback in self._callbacks:
                callback()
            self._ring()

    def _ring(self) -> None:
        self._news.set()
        self._news = asyncio.Event()
