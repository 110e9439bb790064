"""Makes the child step back: first to go when memory runs out, behind the server for the processor.

Courtesies, not walls: a container may refuse them, and then nothing is less safe, so a refusal is no
failure. What a child may consume at most is for `rlimits`.
"""

import os
from contextlib import suppress
from dataclasses import dataclass

from . import kernel
from .layers import Confinee

NICENESS = 5

_FIRST_TO_GO = "1000"


@dataclass(frozen=True)
class Courtesy:
    """The kernel's killer takes the run, not the server; the scheduler prefers the server."""

    name = "courtesy"

    def enter(self, child: Confinee) -> None:
        """Volunteer, and be nice."""
        with suppress(OSError):
            # The zygote is not dumpable, and the files in /proc of such a process are root's.
            # `privileges` takes it away again.
            kernel.prctl(kernel.PR_SET_DUMPABLE, 1)
            with open("/proc/self/oom_score_adj", "w") as score:
                score.write(_FIRST_TO_GO)
        with suppress(OSError):
            os.nice(NICENESS)
