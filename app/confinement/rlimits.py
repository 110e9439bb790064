"""Bounds what the child may consume: address space, processor time, files, descriptors.

`RLIMIT_AS` is the one that counts everything a program can grow by: tensors,
bytes, shared mappings and thread stacks. `RLIMIT_DATA` misses the last two and
Linux ignores `RLIMIT_RSS`. Wall time is the server's to watch, not ours.

The bound on address space is relative: a forked torch already maps 600 MB.
"""

import resource
from dataclasses import dataclass

from .layers import Confinee

DESCRIPTORS = 64
"""Files a program may hold open at once; libraries loaded late need a few."""


@dataclass(frozen=True)
class Rlimits:
    """Soft limits equal hard ones, except processor time: SIGXCPU, a second later SIGKILL."""

    name = "rlimits"

    def enter(self, child: Confinee) -> None:
        """Set every limit; a lower one that is already in force stays."""
        limit(resource.RLIMIT_AS, _address_space_bytes() + child.memory_bytes)
        bound_all(child.cpu_s, DESCRIPTORS)


def bound_all(cpu_s: int, descriptors: int) -> None:
    """Set the limits that are no limits of memory."""
    limit(resource.RLIMIT_CPU, cpu_s, cpu_s + 1)
    limit(resource.RLIMIT_FSIZE, 0)
    limit(resource.RLIMIT_NOFILE, descriptors)
    limit(resource.RLIMIT_CORE, 0)
    limit(resource.RLIMIT_MEMLOCK, 0)
    limit(resource.RLIMIT_MSGQUEUE, 0)


def limit(which: int, soft: int, hard: int | None = None) -> None:
    """Set a limit, or keep the lower one that is in force."""
    _, ceiling = resource.getrlimit(which)
    wanted = soft if hard is None else hard
    hard = wanted if ceiling == resource.RLIM_INFINITY else min(wanted, ceiling)
    resource.setrlimit(which, (min(soft, hard), hard))


def _address_space_bytes() -> int:
    return _pages(0) * resource.getpagesize()


def data_bytes() -> int:
    """What this process has of what RLIMIT_DATA counts, stack included."""
    return _pages(5) * resource.getpagesize()


def _pages(field: int) -> int:
    with open("/proc/self/statm", "rb") as statm:
        return int(statm.read().split()[field])
