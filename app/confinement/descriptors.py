"""Leaves the child with descriptors 0 to 3 and nothing else.

An inherited descriptor is a right that no later layer takes away: Landlock and
seccomp judge the opening of a file, not the use of one already open. The zygote
keeps sockets to the server and to other runs; none may reach a program.
"""

import fcntl
import os
from dataclasses import dataclass

from .layers import Confinee

RESULT = 3
"""Where the child writes its frames."""

HIGHEST = 1024
"""No descriptor of the zygote lies above; the zygote's own RLIMIT_NOFILE sees to it."""


@dataclass(frozen=True)
class OwnDescriptors:
    """0 = /dev/null, 1 and 2 = the output pipe, 3 = the result pipe."""

    spared: int | None
    """Landlock's ruleset, which `landlock` uses and closes; above `RESULT`. None where there is none."""

    name = "descriptors"

    def enter(self, child: Confinee) -> None:
        """Move the four into place and close the rest."""
        # First out of the way: a source may itself lie on 0..3 and be overwritten.
        null, output, result = (
            fcntl.fcntl(fd, fcntl.F_DUPFD, 64) for fd in (child.null, child.output, child.result)
        )
        for source, target in ((null, 0), (output, 1), (output, 2), (result, RESULT)):
            os.dup2(source, target, inheritable=False)
        if self.spared is None:
            os.closerange(RESULT + 1, HIGHEST)
        else:
            os.closerange(RESULT + 1, self.spared)
            os.closerange(self.spared + 1, HIGHEST)
