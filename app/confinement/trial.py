"""Enters a jail once, in a throw-away child, and looks whether its walls stand.

What a kernel promises and what a container lets through differ, so whether this
machine can confine a program is found out by doing it. The child says of each
probe by name that it held; what it does not say counts as open. So a child that
dies, hangs, or turns into another program proves nothing and opens nothing.

What is tried is in `probes`.
"""

import os
import select
import signal
import time

from ..profiles import leads_to_a_gpu
from . import kernel, probes
from .descriptors import RESULT
from .jail import Jail, NotConfined
from .layers import Confinee

LIMIT_S = 10.0
"""A trial takes a tenth of a second; on a busy machine more, but not this long."""

_MEMORY_BYTES = 256 << 20


def try_once(jail: Jail, *, limit_s: float = LIMIT_S) -> None:
    """Fork, enter the jail, and try to leave it.

    Args:
        jail: The jail.
        limit_s: Time until a child that says nothing counts as a wall that does not stand.

    Raises:
        NotConfined: A layer failed, something got through, or it cannot be told.
    """
    reading, writing = os.pipe()
    zygote_pid = os.getpid()
    pid = os.fork()
    if pid == 0:
        _attempt(jail, writing, zygote_pid)
    os.close(writing)
    try:
        words, in_time = _read(reading, limit_s)
    finally:
        os.close(reading)
        os.kill(pid, signal.SIGKILL)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    _judge(words, code, in_time, probes.OPEN_FOR_CUDA if leads_to_a_gpu(jail.profile) else frozenset())


def _judge(words: str, code: int, in_time: bool, may_be_open: frozenset[str]) -> None:
    if not in_time:
        raise NotConfined("trial", "the self-test did not end in time")
    lines = words.splitlines()
    if lines[:1] == ["failed"]:
        raise NotConfined(*(lines[1:3] if len(lines) >= 3 else ("trial", words)))
    must_hold = [name for name in (*probes.PROBES, probes.LAST_OF_ALL) if name not in may_be_open]
    still_open = [name for name in must_hold if f"held {name}" not in lines]
    if still_open == [probes.LAST_OF_ALL] and code in probes.ENDED_BY:
        return
    if still_open:
        raise NotConfined("trial", f"a confined process could {', '.join(still_open)}")


def _read(pipe: int, limit_s: float) -> tuple[str, bool]:
    """Everything until the child's end, and whether that came in time."""
    deadline = time.monotonic() + limit_s
    words = b""
    while len(words) < 1 << 16:
        rest_s = deadline - time.monotonic()
        if rest_s <= 0 or not select.select([pipe], [], [], rest_s)[0]:
            return words.decode(errors="replace"), False
        part = os.read(pipe, 4096)
        if not part:
            break
        words += part
    return words.decode(errors="replace"), True


def _attempt(jail: Jail, report: int, zygote_pid: int) -> None:
    """In the child: never returns."""
    try:
        kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
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
        for name, attempt in probes.PROBES.items():
            if probes.holds(attempt):
                os.write(RESULT, f"held {name}\n".encode())
        if probes.call_as_i386():
            os.write(RESULT, f"held {probes.LAST_OF_ALL}\n".encode())
    except NotConfined as fault:
        _say_failure(report, f"failed\n{fault.layer}\n{fault.__cause__ or fault}".encode())
    finally:
        os._exit(1)


def _say_failure(report: int, words: bytes) -> None:
    """By whichever descriptor it can still be said: `descriptors` may have moved the pipe already."""
    for descriptor in (report, RESULT):
        try:
            os.write(descriptor, words)
            return
        except OSError:
            continue
