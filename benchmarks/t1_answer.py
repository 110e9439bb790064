"""T1: from POST to the last byte for a lesson-size program on a warm server, against Python from cold.

The target excludes the unobserved run that follows the watched one. With it there are two more figures: how
long the whole answer takes then, and how long a reader of the stream waits for the trace.
"""

import subprocess
import sys
import time
from collections.abc import Iterator
from statistics import median

from .programs import HERE, S2, source_of
from .report import Figure, figure, ratios
from .server import Answer, serving

TITLE = "a lesson-size program (S2), POST to last byte on a warm server"

ROUNDS = 7
POSTS = 8
"""Of each kind in a round; Python is started from cold once."""


def measure() -> Iterator[Figure]:
    """Ask and start in turn."""
    whole: list[float] = []
    streamed: list[float] = []
    first_line: list[float] = []
    empty: list[float] = []
    cold: list[float] = []
    middle: list[float] = []
    with serving(compare=False) as server:
        source = source_of(S2)
        for _ in range(5):
            _checked(server.trace(source))
        for _ in range(ROUNDS):
            here: list[float] = []
            for _ in range(POSTS):
                here.append(_checked(server.trace(source)).last_ms)
                answer = _checked(server.trace(source, stream=True))
                streamed.append(answer.last_ms)
                first_line.append(answer.first_ms)
                empty.append(_checked(server.trace("")).last_ms)
            whole += here
            middle.append(median(here))
            cold.append(_cold_ms())
    yield figure("POST to last byte, JSON", "ms", whole, at_most=40)
    yield figure("POST to last byte, NDJSON stream", "ms", streamed)
    yield figure("POST to first line of the stream", "ms", first_line)
    yield figure("POST to last byte, an empty program", "ms", empty)
    yield from _compared()
    yield figure("cold: python program.py", "ms", cold)
    yield figure("cold ÷ POST to last byte", "x", ratios(cold, middle), at_least=30)


def _compared() -> Iterator[Figure]:
    """The same with the unobserved run, as a server answers by default."""
    whole: list[float] = []
    shown: list[float] = []
    source = source_of(S2)
    with serving() as server:
        for _ in range(5):
            _checked(server.trace(source))
        for _ in range(ROUNDS * POSTS):
            whole.append(_checked(server.trace(source)).last_ms)
            shown.append(server.first_trace_ms(source))
    yield figure("compared: POST to last byte, JSON", "ms", whole)
    yield figure("compared: POST to the trace, NDJSON stream", "ms", shown, at_most=40)


def _cold_ms() -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, str(HERE / f"{S2}.py")], check=True, timeout=120)
    return (time.perf_counter() - began) * 1000


def _checked(answer: Answer) -> Answer:
    if answer.status != 200 or b'"kind":"finished"' not in answer.body:
        raise RuntimeError(f"status {answer.status}: {answer.body[:200]!r}")
    return answer
