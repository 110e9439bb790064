"""Watches what a child takes while it runs: resident memory and threads, forty times a second.

The kernel's limits in the child are what bounds it; this looks from outside for growth that they miss. A
child starts with all of the zygote's memory resident, so growth is counted, not size. One read of
/proc/PID/stat a time, some 20 microseconds. Where /proc does not show the child, nothing is watched.
"""

import asyncio
import os
from collections.abc import Callable
from dataclasses import dataclass

EVERY_S = 0.025

MOST_THREADS = 64
"""A program may start threads; a stack of eight megabytes each meets the limit on memory at about this."""

SLACK_BYTES = 32 << 20
"""Beyond the limit: what tracing takes, and pages that the child only shares."""

_THREADS, _RESIDENT = 17, 21
"""Fields of /proc/PID/stat, counted after the name, which may hold anything."""


@dataclass(frozen=True)
class Taken:
    """What a process takes."""

    resident_bytes: int
    threads: int


def taken(pid: int) -> Taken | None:
    """Read it; None when there is no such process to be seen, or it has ended."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return None
    threads, pages = int(fields[_THREADS]), int(fields[_RESIDENT])
    return Taken(pages * os.sysconf("SC_PAGE_SIZE"), threads) if pages else None


class Watchdog:
    """Looks at one child until it is stopped.

    Args:
        pid: The child.
        memory_bytes: What it may grow by.
        bark: Called once, with the limit in words, when one is passed.
    """

    def __init__(self, pid: int, memory_bytes: int, bark: Callable[[str], None]) -> None:
        self._pid = pid
        self._memory_bytes = memory_bytes
        self._bark = bark
        self._loop = asyncio.get_running_loop()
        self._next: asyncio.TimerHandle | None = None
        self._at_first = taken(pid)
        self.grown_bytes = 0
        """The most that was seen."""
        self._again()

    def stop(self) -> None:
        """Look no more."""
        if self._next is not None:
            self._next.cancel()
            self._next = None

    def _again(self) -> None:
        self._next = self._loop.call_later(EVERY_S, self._look) if self._at_first else None

    def _look(self) -> None:
        now = taken(self._pid)
        if now is None or self._at_first is None:
            self._next = None
            return
        self.grown_bytes = max(self.grown_bytes, now.resident_bytes - self._at_first.resident_bytes)
        if self.grown_bytes > self._memory_bytes + SLACK_BYTES:
            self._next = None
            self._bark(f"{self._memory_bytes >> 20:,} MiB of memory")
        elif now.threads > MOST_THREADS:
            self._next = None
            self._bark(f"{MOST_THREADS} threads")
        else:
            self._again()
