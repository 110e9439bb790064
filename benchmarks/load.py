"""Latency and throughput of the whole server at 1, 2, 8 and 64 clients, whole and with parts left out.

Bounded in time and in requests. The configurations are measured one after the other: compare their figures
with the load that stands above them, not with another day's.
"""

import tempfile
from collections.abc import Iterator

from .closed_loop import closed_loop
from .programs import S2, source_of
from .report import Figure, figure
from .server import body_of, serving

TITLE = "a lesson-size program (S2) asked for by 1, 2, 8 and 64 clients"

CLIENTS = (1, 2, 8, 64)
SECONDS = 8
MOST = 600
"""Requests of one measurement."""


def measure() -> Iterator[Figure]:
    """Each configuration on a server of its own."""
    source = source_of(S2)
    for said, compare, prepare in (
        ("a run", False, True),
        ("a run, forked when it is asked for", False, False),
        ("a run and its comparison", True, True),
    ):
        with serving(compare=compare, prepare=prepare) as server:
            closed_loop(server, lambda: body_of(source), 2, seconds=2, most=20)
            for clients in CLIENTS:
                answers = closed_loop(server, lambda: body_of(source), clients, seconds=SECONDS, most=MOST)
                yield from _figures(f"{said}, {clients} clients", answers.result_ms, answers.rate)
                yield figure("  refused for now", "", answers.refused)
                yield figure("  lost, or answered otherwise", "", len(answers.odd), at_most=0)
    with tempfile.TemporaryDirectory() as folder, serving(cache=folder) as server:
        same = body_of(source)
        closed_loop(server, lambda: same, 1, seconds=5, most=3)
        for clients in CLIENTS:
            answers = closed_loop(server, lambda: same, clients, seconds=SECONDS / 2, most=2 * MOST)
            yield from _figures(f"a result that was kept, {clients} clients", answers.result_ms, answers.rate)
            yield figure("  lost, or answered otherwise", "", len(answers.odd), at_most=0)


def _figures(said: str, result_ms: list[float], rate: float) -> Iterator[Figure]:
    yield figure(f"{said}: median", "ms", result_ms)
    yield figure("  p95", "ms", result_ms, percentile=95)
    yield figure("  results a second", "/s", rate)
