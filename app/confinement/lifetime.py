"""Ties the child's life to the zygote's: when the zygote dies, the kernel kills the child.

Entered after `identity`, because a change of credentials clears PDEATHSIG. A zygote that died before
it stood would leave a child that nobody ends, so the parent is looked at once more.
"""

import os
import signal
from dataclasses import dataclass

from . import kernel
from .layers import Confinee


@dataclass(frozen=True)
class DiesWithZygote:
    """PDEATHSIG, and proof that it was not too late."""

    name = "lifetime"

    def enter(self, child: Confinee) -> None:
        """Raises ProcessLookupError when the zygote had died before."""
        kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != child.zygote_pid:
            raise ProcessLookupError("the zygote has gone")
