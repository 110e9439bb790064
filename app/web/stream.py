"""A run as lines of JSON, while it happens (`application/x-ndjson`).

    {"event": "start", "schema_version": 1, "environment": {…}, "statements": 9}   before anything has run
    {"event": "progress", "steps": 120, "line": 7}    steps so far, and the line that runs now (null: none)
    {"event": "chunk", "chunk": {…}}                  the steps themselves, as a `Chunk` of the schema
    {"event": "chunk", "trace": {…}}                  the whole trace, once the program is over
    {"event": "note", "note": {…}}                    a quiet mistake that was noticed
    {"event": "note", "comparison": {…}, "observer_effects": […]}     what an unobserved run had otherwise
    {"event": "end", "trace": {…}}                    the same trace with all of that; always the last line

The last line of a stream that a fault of ours cut short is `{"event": "end", "problem": {…}}`.
A client that only wants a picture of progress and the result may skip every `chunk`. One that wants to show
the trace at once takes the chunk with the trace and then the notes. Where no program is run a second time,
because it was stopped, crashed or was denied something, or because others wait, these two lines are missing.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from ..errors import AppError
from ..schema import SCHEMA_VERSION, Chunk, Opening, Steps, Trace
from ..schema.packing import packed_json
from ..schema.slices import json_of
from .problems import internal_problem, problem_of

PART_BYTES = 128 << 10
"""What is compressed and sent at once."""

_MANY = 1_000
"""Events or statements that are put into words in a thread."""


async def lines_of(
    first: Chunk | Trace, rest: AsyncIterator[Chunk | Trace], *, packed: bool
) -> AsyncIterator[bytes]:
    """The lines of a run.

    Args:
        first: What the run sent first; it was awaited so that a refusal could still be a status.
        rest: What comes after it.
        packed: The trace is sent packed.
    """
    line = _Lines(packed)
    try:
        for text in await line.of(first):
            async for part in in_parts(text):
                yield part
        async for item in rest:
            for text in await line.of(item):
                async for part in in_parts(text):
                    yield part
    except AppError as e:
        yield _line("end", problem=problem_of(e))
    except Exception as e:  # a status is too late: the last line says it
        yield _line("end", problem=internal_problem(e))


async def in_parts(text: bytes) -> AsyncIterator[bytes]:
    """What is to be sent, in parts between which others have their turns: each is compressed at once."""
    for start in range(0, len(text), PART_BYTES):
        if start:
            await asyncio.sleep(0)
        yield text[start : start + PART_BYTES]


class _Lines:
    """Says what each chunk means; remembers the statements and the steps so far."""

    def __init__(self, packed: bool) -> None:
        self._packed = packed
        self._lines: list[int] = []
        self._steps = 0
        self._started = False
        self._shown = False
        """The trace was sent already, before it was compared."""

    async def of(self, item: Chunk | Trace) -> list[bytes]:
        """The lines about an item. What is long takes its time, in which others are to be heard."""
        return await asyncio.to_thread(self.about, item) if _is_long(item) else self.about(item)

    def about(self, item: Chunk | Trace) -> list[bytes]:
        if isinstance(item, Trace):
            return [*self._start(item.environment.model_dump(), len(item.statements)), *self._end(item)]
        if isinstance(item, Opening):
            self._lines = [statement.range.line for statement in item.statements]
            return self._start(item.environment.model_dump(), len(item.statements))
        chunk = _raw("chunk", chunk=json_of(item).decode())
        return [*self._progress(item), chunk] if isinstance(item, Steps) else [chunk]

    def _start(self, environment: dict[str, Any], statements: int) -> list[bytes]:
        if self._started:
            return []
        self._started = True
        return [_line("start", schema_version=SCHEMA_VERSION, environment=environment, statements=statements)]

    def _progress(self, chunk: Steps) -> list[bytes]:
        self._steps += len(chunk.steps)
        running = chunk.running
        known = running is not None and 0 <= running < len(self._lines)
        line = self._lines[running] if running is not None and known else None
        return [_line("progress", steps=self._steps, line=line)]

    def _json(self, trace: Trace) -> str:
        return (packed_json(trace) if self._packed else json_of(trace)).decode()

    def _end(self, trace: Trace) -> list[bytes]:
        if not trace.is_final:
            self._shown = True
            return [_raw("chunk", trace=self._json(trace)), *_notes(trace)]
        told = [_comparison(trace)] if self._shown else _notes(trace)
        return [*told, _raw("end", trace=self._json(trace))]


def _is_long(item: Chunk | Trace) -> bool:
    match item:
        case Steps():
            return sum(len(step.events) for step in item.steps) > _MANY
        case Opening():
            return len(item.statements) > _MANY
        case _:
            return True


def _notes(trace: Trace) -> list[bytes]:
    return [_raw("note", note=note.model_dump_json(by_alias=True)) for note in trace.notes]


def _comparison(trace: Trace) -> bytes:
    effects = ",".join(effect.model_dump_json() for effect in trace.observer_effects)
    comparison = trace.comparison.model_dump_json(by_alias=True)
    return _raw("note", comparison=comparison, observer_effects=f"[{effects}]")


def _line(event: str, **members: object) -> bytes:
    return json.dumps({"event": event, **members}, ensure_ascii=False).encode() + b"\n"


def _raw(event: str, **members: str) -> bytes:
    """A line whose members are JSON already."""
    pairs = "".join(f',"{name}":{text}' for name, text in members.items())
    return f'{{"event":"{event}"{pairs}}}\n'.encode()
