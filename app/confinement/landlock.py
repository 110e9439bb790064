"""Lets the child read Python and its libraries, and nothing else; no write, no network.

Landlock needs no privilege and judges by file, not by path string, so links and
`..` cannot go around it. It says nothing about stat, chmod, UDP or Unix sockets:
`seccomp` refuses those. Shared objects are mapped, never executed, so EXECUTE is
granted nowhere.

Built once in the zygote; a child only enforces it (0.2 ms).
Source: docs.kernel.org/userspace-api/landlock.html; Linux 5.13 or later.
"""

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import landlockpy

from . import gpu
from .layers import Confinee

FILES = (
    "/dev/null",
    "/dev/urandom",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/stat",
    "/sys/devices/system/cpu/online",
    "/sys/devices/system/cpu/possible",
)
"""Single files that Python, glibc, torch and numpy ask for: clock, random bytes, processors."""

LIBRARIES = ("/usr/lib", "/lib", "/lib64", "/usr/share/zoneinfo")
"""Shared objects of the system and its time zones."""


@dataclass(frozen=True)
class ReadOnlyFiles:
    """A ruleset, ready to be enforced. It holds a descriptor until then, never one of 0 to 3."""

    ruleset: landlockpy.Ruleset

    name: str = "landlock"

    @property
    def abi(self) -> int:
        """What this kernel's Landlock can, as a number that grows."""
        return int(self.ruleset.abi_version)

    def enter(self, child: Confinee) -> None:
        """Enforce the ruleset and close it."""
        self.ruleset.restrict()
        self.ruleset.close()


def abi_of_kernel() -> int:
    """What this kernel's Landlock can.

    Raises:
        OSError: It has none, or it is switched off.
    """
    ruleset = _ruleset()
    try:
        return int(ruleset.abi_version)
    finally:
        ruleset.close()


def build(extra_directories: Sequence[str], *, cuda: bool = False) -> ReadOnlyFiles:
    """Build the read-only ruleset from this interpreter's own paths.

    Args:
        extra_directories: More directories to read, such as our own package.
        cuda: The driver of a GPU is reached as well: its nodes are opened, written and answer ioctl(2).

    Raises:
        OSError: The kernel has no Landlock, or it is switched off.
    """
    ruleset = _ruleset()
    reading = landlockpy.AccessFS.READ_FILE | landlockpy.AccessFS.READ_DIR
    for directory in _directories(extra_directories):
        ruleset.allow_path(directory, reading)
    for file in FILES:
        if os.path.exists(file):
            also = landlockpy.AccessFS.WRITE_FILE if file == "/dev/null" else 0
            ruleset.allow_path(file, landlockpy.AccessFS.READ_FILE | also)
    if cuda:
        for path in filter(os.path.exists, gpu.LIBRARY_FILES):
            ruleset.allow_path(path, reading if os.path.isdir(path) else landlockpy.AccessFS.READ_FILE)
        for node in gpu.nodes():
            allowed = landlockpy.AccessFS.READ_FILE | landlockpy.AccessFS.WRITE_FILE
            ruleset.allow_path(node, allowed | (landlockpy.AccessFS.IOCTL_DEV & ruleset.handled_fs))
    return ReadOnlyFiles(ruleset, "landlock for cuda" if cuda else "landlock")


def _ruleset() -> landlockpy.Ruleset:
    """An empty ruleset. Rights that this kernel does not know are left out; `seccomp` covers for them."""
    with _descriptors_0_to_3_taken():
        ruleset = landlockpy.Ruleset(scoped=landlockpy.Scope.SIGNAL | landlockpy.Scope.ABSTRACT_UNIX_SOCKET)
    judged = landlockpy.AccessFS.READ_FILE | landlockpy.AccessFS.READ_DIR | landlockpy.AccessFS.WRITE_FILE
    if ruleset.abi_version < 1 or ruleset.handled_fs & judged != judged:
        # What a ruleset does not handle it allows.
        raise OSError("this kernel's Landlock does not judge the reading and writing of files")
    return ruleset


def _directories(extra: Iterable[str]) -> list[str]:
    """Existing directories, resolved, each once; never the root or a home."""
    wanted = {f"{prefix}/lib" for prefix in (sys.base_prefix, sys.prefix)}
    wanted |= {*LIBRARIES, *extra, *(path for path in sys.path if path)}
    found = {os.path.realpath(path) for path in wanted if os.path.isdir(path)}
    return sorted(found - {"/", "/root", "/home", os.path.expanduser("~")})


@contextmanager
def _descriptors_0_to_3_taken() -> Iterator[None]:
    """What is opened inside gets 4 or above: `descriptors` fills 0 to 3 and spares the ruleset."""
    fillers = [os.open("/dev/null", os.O_RDONLY) for _ in range(4)]
    try:
        yield
    finally:
        for filler in fillers:
            os.close(filler)
