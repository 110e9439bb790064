"""T4: a tensor of 400 MB: the peak of memory traced and plain, and how much of the trace it takes.

Run as a module of its own it is the child whose peak is taken; each run has one of its own.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

from .child import chunks_of, get_ready, in_child, request_of
from .programs import source_of
from .report import Figure, figure, ratios

TITLE = "a tensor of 400 MB: peak memory traced ÷ plain, bytes of its snapshot"

TURNS = 3


def measure() -> Iterator[Figure]:
    """A child plain, a child traced, in turn."""
    plain = []
    traced = []
    for _ in range(TURNS):
        plain.append(in_child("t4_large_tensor", "plain"))
        traced.append(in_child("t4_large_tensor", "traced"))
    above = [[run["peak_mb"] - run["idle_mb"] for run in side] for side in (traced, plain)]
    peaks = [[run["peak_mb"] for run in side] for side in (traced, plain)]
    yield figure("plain, peak", "MB", peaks[1])
    yield figure("traced, peak", "MB", peaks[0])
    yield figure("traced ÷ plain", "x", ratios(*peaks), at_most=1.1)
    yield figure("  without the idle process", "x", ratios(*above))
    yield figure("largest step of the trace", "kB", traced[0]["step_bytes"] / 1000, at_most=5)
    yield figure("all chunks", "kB", traced[0]["chunk_bytes"] / 1000)


def _memory_mb(field: str) -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) / 1000
    raise LookupError(field)


def _child(how: str) -> None:
    get_ready()
    idle = _memory_mb("VmRSS")
    source = source_of("large")
    payloads: list[bytes] = []
    if how == "traced":
        payloads = chunks_of(request_of(source))
    else:
        exec(compile(source, "program.py", "exec"), {"__name__": "__main__"})
    steps = [step for payload in payloads for step in json.loads(payload).get("steps", [])]
    sizes = [len(json.dumps(step, separators=(",", ":"))) for step in steps]
    print(
        json.dumps(
            {
                "idle_mb": idle,
                "peak_mb": _memory_mb("VmHWM"),
                "step_bytes": max(sizes, default=0),
                "chunk_bytes": sum(map(len, payloads)),
            }
        )
    )


if __name__ == "__main__":
    _child(sys.argv[1])
