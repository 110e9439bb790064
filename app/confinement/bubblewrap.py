"""Namespaces around the zygote, by bubblewrap: made once, so that no run pays for them.

Inside are no network, no other processes, and of the file system only what Python needs, read-only: what
Landlock cannot hide (whether a file exists) is not there to be seen. Where namespaces are not to be had,
as in most containers, the other layers do without.

The package of the system is used, found on PATH; it is never a reason not to run, unless it is asked for.
"""

import os
import shutil
import sys
from collections.abc import Sequence

from . import gpu
from .jail import PACKAGE
from .landlock import FILES, LIBRARIES

_NAMESPACES = ("--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try")

_OF_ROOT = (
    "--cap-drop",
    "ALL",
    "--cap-add",
    "CAP_SETUID",
    "--cap-add",
    "CAP_SETGID",
    "--cap-add",
    "CAP_KILL",
)
"""What the zygote needs to give each child a uid of its own, and to end it."""


def program() -> str | None:
    """The path of bubblewrap; None where it is not installed."""
    return shutil.which("bwrap", path="/usr/local/bin:/usr/bin:/bin")


def around(command: Sequence[str], *, cuda: bool = False) -> list[str] | None:
    """The command that runs `command` inside; None where bubblewrap is not installed.

    Descriptors that can be inherited reach it. It is in no new session: the zygote's is its own already,
    and has no terminal.
    """
    bwrap = program()
    if bwrap is None:
        return None
    # A user namespace has one uid; root does without, so that each slot can have its own.
    who = _OF_ROOT if os.geteuid() == 0 else ("--unshare-user",)
    binds = [word for path in _visible() for word in ("--ro-bind-try", path, path)]
    if cuda:
        files = [path for path in gpu.LIBRARY_FILES if not path.startswith("/proc/")]
        binds += [word for path in files for word in ("--ro-bind-try", path, path)]
        binds += [word for node in gpu.nodes() for word in ("--dev-bind-try", node, node)]
    return [
        bwrap,
        *_NAMESPACES,
        *who,
        "--die-with-parent",
        *("--proc", "/proc", "--dev", "/dev"),
        *binds,
        *("--chdir", "/"),
        "--",
        *command,
    ]


def _visible() -> list[str]:
    """Paths as the interpreter names them, and as they resolve; a path below another comes after it."""
    wanted = {
        *LIBRARIES,
        *(path for path in FILES if not path.startswith(("/proc/", "/dev/"))),
        *(path for path in sys.path if os.path.isdir(path)),
        *(f"{prefix}/{part}" for prefix in (sys.prefix, sys.base_prefix) for part in ("lib", "pyvenv.cfg")),
        PACKAGE,
        sys.executable,
    }
    return sorted(wanted | {os.path.realpath(path) for path in wanted})
