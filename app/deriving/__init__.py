"""Explains and draws traces for a server: large ones in processes of their own, for a bounded time.

A program can forge a trace that takes long to understand, and the engine that lays out graphs lets no other
thread run meanwhile. So whatever is not small is handed to a worker (`worker`). What it had no time for is
said to be missing. Which process it is and how it ends is in `process`, what it says in `parts`.
"""

import asyncio

import structlog

from ..drawing import draw, undrawn
from ..errors import ReplyInvalid
from ..explaining import explain, unexplained
from ..schema import Trace
from ..schema.base import Record
from ..schema.slices import json_of, record_of
from ..schema.weight import weight_of
from .parts import EXPLAINING_S, PARTS
from .process import Worker

__all__ = ["Deriving", "is_light"]

log = structlog.get_logger()

_LIGHT_ITEMS = 20_000
"""Weight of a trace that is derived in a thread, see `weight_of`: some 2,000 events."""

_LIGHT_EDGES = 80
"""Edges of all its graphs. The layout engine needs 0.2 s for the worst so many."""


class Deriving:
    """Derives what traces mean. `start` it, and `close` it.

    Args:
        workers: Processes for large traces.
    """

    def __init__(self, workers: int = 1) -> None:
        self._count = workers
        self._free: asyncio.LifoQueue[Worker] = asyncio.LifoQueue()
        self._all: list[Worker] = []
        self._open = False
        self.busy = 0
        """Traces that are being derived."""

    def start(self) -> None:
        """Have the workers come up."""
        self._open = True
        for _ in range(self._count):
            worker = Worker()
            self._all.append(worker)
            self._free.put_nowait(worker)

    def close(self) -> None:
        """End them. One that is at work is let go of by who waits for it."""
        self._open = False
        for worker in self._all:
            worker.kill()
        while not self._free.empty():
            self._free.get_nowait().end()

    async def derived(self, trace: Trace) -> Trace:
        """A trace with what it means and where its graphs are drawn.

        Args:
            trace: As put together from what the sandbox sent; perhaps forged.

        Returns:
            The same trace. Of one that takes too long, what there was time for, and it says so.
        """
        self.busy += 1
        try:
            return await self._derived(trace)
        finally:
            self.busy -= 1

    async def _derived(self, trace: Trace) -> Trace:
        if is_light(trace) or not self._open:
            return await asyncio.to_thread(_in_time, trace)
        worker = await self._free.get()
        asked = asyncio.ensure_future(asyncio.to_thread(_apart, worker, trace))
        asked.add_done_callback(lambda _done: self._give_back(worker))
        # Who goes away meanwhile leaves the worker to its work.
        return await asyncio.shield(asked)

    def _give_back(self, worker: Worker) -> None:
        if self._open:
            self._free.put_nowait(worker)
        else:
            worker.end()


def is_light(trace: Trace) -> bool:
    """Whether what a trace means is found at once, however it was forged."""
    return weight_of(trace, most=_LIGHT_ITEMS) <= _LIGHT_ITEMS and _edges(trace) <= _LIGHT_EDGES


def _edges(trace: Trace) -> int:
    edges = 0
    for step in trace.steps:
        for event in step.events:
            if event.kind == "node":
                edges += len(event.next_functions)
            elif event.kind == "compiled":
                edges += sum(len(node.inputs) for graph in event.graphs for node in graph.nodes)
    return edges


def _in_time(trace: Trace) -> Trace:
    return draw(explain(trace, within_s=EXPLAINING_S))


def _apart(worker: Worker, trace: Trace) -> Trace:
    """Derive in a worker; whatever becomes of it, the trace comes back."""
    answers = worker.ask(json_of(trace))
    try:
        found = [record_of(kind, text) if text else None for kind, text in zip(PARTS, answers, strict=True)]
    except ReplyInvalid:
        log.exception("what a worker said of a trace cannot be read")
        found = [None] * len(PARTS)
    if None in found:
        log.warning(
            "a trace was too large to be explained or drawn", got=[each is not None for each in found]
        )
    meaning, compiled, graph = found
    derived = unexplained(trace) if meaning is None else _with(trace, meaning)
    derived = derived if compiled is None else _with(derived, compiled)
    return undrawn(derived) if graph is None else _with(derived, graph)


def _with(trace: Trace, part: Record) -> Trace:
    return trace.model_copy(update={name: getattr(part, name) for name in type(part).model_fields})
