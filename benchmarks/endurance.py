"""Memory of the server, the zygote and the processes that wait, over thousands of runs: it must stay flat.

Takes many minutes: `python -m benchmarks ENDURANCE`. RUNS and MINUTES in the environment bound it.
"""

import os
import time
from collections.abc import Iterator

from .closed_loop import closed_loop
from .programs import S2, source_of
from .report import Figure, figure
from .server import Server, body_of, memory_mb, serving

TITLE = "memory over 5,000 runs"

RUNS = int(os.environ.get("RUNS", "5000"))
MINUTES = float(os.environ.get("MINUTES", "20"))
PARTS = 10


def measure() -> Iterator[Figure]:
    """Run, look, run."""
    source = source_of(S2)
    with serving(compare=False) as server:
        closed_loop(server, lambda: body_of(source), 4, seconds=20, most=100)
        done, odd = 0, 0
        seen = [_memory(server)]
        yield from _figures("after a hundred runs", seen[0])
        for _part in range(PARTS):
            answers = closed_loop(
                server, lambda: body_of(source), 4, seconds=60 * MINUTES / PARTS, most=RUNS // PARTS
            )
            done += len(answers.result_ms)
            odd += len(answers.odd) + answers.refused
            seen.append(_memory(server))
            yield from _figures(f"after {done:,} more", seen[-1])
        yield figure("answers that were no result", "", odd, at_most=0)
        middle = seen[len(seen) // 2]
        for name, before, after in zip(("server", "zygote"), middle[:2], seen[-1][:2], strict=True):
            yield figure(f"{name}, memory at the end ÷ half way", "x", after / before, at_most=1.05)


def _figures(when: str, memory: tuple[float, float, float, int]) -> Iterator[Figure]:
    server, zygote, private, processes = memory
    yield figure(f"{when}: server", "MB", server)
    yield figure("  zygote", "MB", zygote)
    yield figure("  private to children that wait", "MB", private)
    yield figure("  processes in all", "", processes)


def _memory(server: Server) -> tuple[float, float, float, int]:
    """Resident memory of the server and its zygote; what the children below have of their own."""
    time.sleep(1)  # until the last have gone, and others wait
    everybody = server.processes()
    zygote = max(everybody[1:], key=_resident_mb)
    children = [pid for pid in everybody if pid not in (server.pid, zygote)]
    return memory_mb(server.pid), _resident_mb(zygote), sum(map(_private_mb, children)), len(everybody)


def _resident_mb(pid: int) -> float:
    try:
        return memory_mb(pid)
    except (OSError, ProcessLookupError):  # it ended just now
        return 0.0


def _private_mb(pid: int) -> float:
    try:
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
            sizes = [int(line.split()[1]) for line in file if line.startswith("Private_")]
    except OSError:  # it ended, or we may not look
        return 0.0
    return sum(sizes) / 1000
