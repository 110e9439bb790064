"""Gives up what could win privileges back, and ties the child's life to the zygote's.

NO_NEW_PRIVS: no setuid program raises rights again (and an unprivileged process
needs it before it may install a seccomp filter). Not dumpable: no process of the
same uid may ptrace it or read its /proc entries. PDEATHSIG: the kernel kills the
child when the zygote dies. This layer changes no uid: `identity` has done so
before, because a change of credentials clears PDEATHSIG.
"""

import os
import signal
from dataclasses import dataclass

from . import kernel
from .layers import Confinee


@dataclass(frozen=True)
class NoNewPrivileges:
    """Three prctl calls and a look at who the parent is."""

    name = "privileges"

    def enter(self, child: Confinee) -> None:
        """Set all three. Raises ProcessLookupError when the zygote died before PDEATHSIG stood."""
        kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != child.zygote_pid:
            raise ProcessLookupError("the zygote has gone")
        kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
        kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
