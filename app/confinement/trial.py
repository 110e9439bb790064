"""Enters a jail once, in a throw-away child, and looks whether its walls stand.

What a kernel promises and what a container lets through differ, so whether this
machine can confine a program is found out by doing it. The zygote does so before
it offers itself; where the trial fails no program is run. The walls tried here
are the ones a program meets first; attacks by the hundred belong to the tests.
"""

import os
import socket
from collections.abc import Callable

from .descriptors import RESULT
from .jail import Jail, NotConfined
from .layers import Confinee

_MEMORY_BYTES = 256 << 20


def try_once(jail: Jail) -> None:
    """Fork, enter the jail, and try to leave it.

    Raises:
        NotConfined: A layer failed, or something got through.
    """
    reading, writing = os.pipe()
    zygote_pid = os.getpid()
    pid = os.fork()
    if pid == 0:
        _attempt(jail, writing, zygote_pid)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        words = pipe.read(4096).decode(errors="replace")
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code != 0:
        layer, _, fault = words.partition("\n")
        raise NotConfined(layer or "trial", fault or f"the trial ended with {code}")


def _attempt(jail: Jail, report: int, zygote_pid: int) -> None:
    """In the child: never returns."""
    try:
        null = os.open("/dev/null", os.O_RDWR)
        jail.enter(
            Confinee(
                null=null,
                output=null,
                result=report,
                zygote_pid=zygote_pid,
                slot=0,
                memory_bytes=_MEMORY_BYTES,
                cpu_s=5,
            )
        )
        report = RESULT
        open_walls = [name for name, escape in _ESCAPES.items() if _succeeds(escape)]
        if open_walls:
            raise NotConfined("trial", f"a confined process could {', '.join(open_walls)}")
        os._exit(0)
    except NotConfined as fault:
        words = f"{fault.layer}\n{fault.__cause__ or fault}".encode()
        for descriptor in (report, RESULT):
            try:
                os.write(descriptor, words)
                break
            except OSError:
                continue
    finally:
        os._exit(1)


def _fork() -> None:
    if os.fork() == 0:
        os._exit(0)


def _succeeds(escape: Callable[[], object]) -> bool:
    try:
        escape()
    except (OSError, MemoryError):
        return False
    return True


_ESCAPES: dict[str, Callable[[], object]] = {
    "read other files": lambda: os.open("/etc/passwd", os.O_RDONLY),
    "list directories": lambda: os.listdir("/"),
    "open a socket": socket.socket,
    "start a process": _fork,
    "signal its parent": lambda: os.kill(os.getppid(), 0),
    "change permissions": lambda: os.chmod("/dev/null", 0o666),
    "take any amount of memory": lambda: bytearray(4 * _MEMORY_BYTES),
}
