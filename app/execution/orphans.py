"""Takes in the runs that a dead zygote leaves behind, and buries them.

The kernel kills a run whose zygote dies (`confinement/lifetime.py`), but a dead process stays in the table
until its parent asks for it. In a container the server is often process 1, or there is none that asks; so
the server declares itself the parent of what its children leave (a subreaper), and asks.
"""

import asyncio
import ctypes
import os
import sys

_PR_SET_CHILD_SUBREAPER = 36

_LIMIT_S = 5.0
"""A process that was killed is dead long before; one that the kernel cannot end is not waited for."""

_PAUSE_S = 0.01


def adopt() -> None:
    """From now on orphans of this process's children become its own. Where Linux refuses, init has them."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


async def bury(group: int) -> None:
    """Wait for every child of this process in a process group.

    Args:
        group: The zygote's: it leads a group of its own, and no run can leave it.
    """
    deadline = asyncio.get_running_loop().time() + _LIMIT_S
    while asyncio.get_running_loop().time() < deadline:
        try:
            pid, _ = os.waitpid(-group, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            await asyncio.sleep(_PAUSE_S)
