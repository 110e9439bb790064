"""Gives up what could win privileges back or let others look in.

NO_NEW_PRIVS: no setuid program raises rights again (and an unprivileged process
needs it before it may install a seccomp filter). Not dumpable: no process of the
same uid may ptrace it or read its /proc entries. This layer changes no uid:
`identity` has done so before.
"""

from dataclasses import dataclass

from . import kernel
from .layers import Confinee


@dataclass(frozen=True)
class NoNewPrivileges:
    """Two prctl calls."""

    name = "privileges"

    def enter(self, child: Confinee) -> None:
        """Set both."""
        kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
        kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
