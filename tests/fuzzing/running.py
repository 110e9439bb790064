"""Random programs through the real pool, one after the other, and what is wrong with each answer."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from tensor_anatomy.errors import AppError
from tensor_anatomy.execution import Pool
from tensor_anatomy.schema import Limits, TraceRequest

from .edits import edited_programs, unreadable
from .grammar import programs
from .oracles import faults_of

LIMITS = Limits(
    wall_s=2.0,
    cpu_s=2,
    memory_bytes=512 << 20,
    steps_kept=300,
    statements=20_000,
    stdout_kept_bytes=1 << 14,
    stdout_bytes=1 << 18,
    trace_bytes=1 << 20,
    value_elements=256,
)

_MOST_RUNS = 3
"""A program runs once watched, and up to twice unwatched."""

_SLACK_S = 1.0

KINDS = {"grammar": programs(), "edits": edited_programs(), "noise": unreadable()}
"""Sorts of programs."""


@dataclass
class Report:
    """What came of many programs."""

    ran: int = 0
    ends: Counter[str] = field(default_factory=Counter)
    compared: Counter[str] = field(default_factory=Counter)
    slowest_s: float = 0.0
    wrong: list[tuple[str, list[str]]] = field(default_factory=list)
    """Programs, each with what was wrong."""


class Fuzzer:
    """One pool and its event loop."""

    def __init__(self, runner: asyncio.Runner, pool: Pool) -> None:
        self._runner = runner
        self._pool = pool
        self.report = Report()

    def faults(self, source: str) -> list[str]:
        """Run a program; say what is wrong with the answer."""
        report = self.report
        report.ran += 1
        began = time.perf_counter()
        try:
            trace = self._runner.run(self._pool.run(TraceRequest(source=source)))
        except AppError as e:
            return [f"no answer: {e.code}"]
        took_s = time.perf_counter() - began
        report.slowest_s = max(report.slowest_s, took_s)
        report.ends[f"{trace.outcome.kind} {trace.outcome.reason or ''}".strip()] += 1
        report.compared[trace.comparison.state] += 1
        found = list(faults_of(source, trace))
        if trace.outcome.reason == "signal":
            plain = self._runner.run(self._pool.run(TraceRequest(source=source), observed=False)).outcome
            if plain.reason != "signal":
                found.append(f"unwatched it does not crash, but {plain.kind}: {trace.outcome.message}")
        if took_s > _MOST_RUNS * (LIMITS.wall_s + _SLACK_S):
            found.append(f"it took {took_s:.1f} s")
        return found


@contextmanager
def fuzzer() -> Iterator[Fuzzer]:
    """A fuzzer with a pool of its own."""
    with asyncio.Runner() as runner:
        pool = Pool(LIMITS)
        runner.run(pool.start())
        try:
            yield Fuzzer(runner, pool)
        finally:
            runner.run(pool.close())


def each_program(kind: str, count: int, visit: Callable[[str], object], number: int | None = None) -> None:
    """Visit so many random programs of a sort.

    Args:
        kind: One of `KINDS`.
        count: How many.
        visit: Called with each; hypothesis makes a smaller one of a program on which it raises.
        number: Where chance begins; None for the same programs every time.
    """
    told = settings(
        max_examples=count,
        derandomize=number is None,
        database=None,
        deadline=None,
        phases=(Phase.generate,) if number is not None else (Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    strategy: st.SearchStrategy[str] = KINDS[kind]

    def each(source: str) -> None:
        visit(source)

    test = told(given(strategy)(each))
    (test if number is None else seed(number)(test))()
