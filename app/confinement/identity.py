"""Who the child runs as: a uid of its own where the server is root, else the server's.

With a uid per slot the kernel's oldest checks keep runs apart from each other and
from the server. It is only taken if the interpreter stays readable: a virtual
environment below a root-only home would break every late import. What is tried is
tried for real, in a forked probe, rather than worked out from mode bits.

This module hides no files: `landlock` does. The one limit that counts per uid is set here.
"""

import os
import resource
from collections.abc import Sequence
from dataclasses import dataclass

from . import kernel
from .layers import Confinee
from .rlimits import limit

FIRST_UID = 64001
"""Uid of slot 0. Above the range of ordinary accounts, below that of containers' subuids."""


THREADS = 512
"""Tasks that a uid of its own may have. Not set otherwise: it would count other processes' too."""


@dataclass(frozen=True)
class OwnUid:
    """A uid and gid per slot, no other groups."""

    name = "own uid"

    def enter(self, child: Confinee) -> None:
        """Become that user for good: real, effective and saved ids."""
        become(FIRST_UID + child.slot)
        limit(resource.RLIMIT_NPROC, THREADS)


@dataclass(frozen=True)
class RootWithoutCapabilities:
    """Still uid 0, but with none of root's powers over other users' files and processes."""

    name = "no capabilities"

    def enter(self, child: Confinee) -> None:
        """Empty the effective, permitted and inheritable sets."""
        kernel.drop_capabilities()


@dataclass(frozen=True)
class ServersUid:
    """The uid that the server was started with; nothing to do."""

    name = "server's uid"

    def enter(self, child: Confinee) -> None:
        """Nothing: an unprivileged process cannot change its uid."""


Identity = OwnUid | RootWithoutCapabilities | ServersUid


def choose(must_stay_readable: Sequence[str]) -> tuple[Identity, str | None]:
    """Choose the strongest identity under which these files can still be read.

    Returns:
        The layer, and a warning for the operator where it is not the strongest.
    """
    if os.geteuid() != 0:
        return ServersUid(), None
    if _readable_as(FIRST_UID, must_stay_readable):
        return OwnUid(), None
    unreadable = (
        "The server runs as root and its Python cannot be read by other users, so programs run "
        "as root too, behind every other layer. Run the server as an ordinary user, or install "
        "it outside root's home."
    )
    if _readable_as(None, must_stay_readable):
        return RootWithoutCapabilities(), unreadable
    return ServersUid(), unreadable


def become(uid: int) -> None:
    """Change to this uid and the gid of the same number, without a way back."""
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def _readable_as(uid: int | None, paths: Sequence[str]) -> bool:
    """Try it in a child: as `uid`, or as root without capabilities where that is None."""
    pid = os.fork()
    if pid == 0:
        try:
            kernel.drop_capabilities() if uid is None else become(uid)
            for path in paths:
                with open(path, "rb") as file:
                    file.read(1)
            os._exit(0)
        except BaseException:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
