"""What a confined process must not be able to do, tried for real.

Each probe is one attempt. It holds if the kernel refuses; whatever else happens, success included, does
not count as refusal. None harms anything where it succeeds: it opens and closes, asks for signal 0, sets
a permission that is there. Attacks by the hundred belong to the tests.
"""

import ctypes
import errno
import fcntl
import mmap
import os
import platform
import signal
import socket
import sys
from collections.abc import Callable

from .descriptors import RESULT

REFUSALS = frozenset(
    {
        errno.EPERM,
        errno.EACCES,
        errno.EROFS,
        errno.ENOSYS,
        errno.ENOENT,
        errno.EAGAIN,
        errno.ENOMEM,
    }
)
"""Errors by which a kernel says no, does not know the call, or does not show the file."""

ASKED_BYTES = 1 << 30
"""Far more than a trial's limit."""

_X86 = platform.machine() == "x86_64"

_NUMBERS = {
    "x86_64": {"ptrace": 101, "userfaultfd": 323, "process_vm_readv": 310, "bpf": 321, "unshare": 272},
    "aarch64": {"ptrace": 117, "userfaultfd": 282, "process_vm_readv": 270, "bpf": 280, "unshare": 97},
}
"""System calls that Python's `os` does not offer. From 424 on they have one number everywhere."""

_IO_URING_SETUP, _PIDFD_OPEN, _CLONE3 = 425, 434, 435
_CLONE_NEWUSER = 0x10000000
_X32_GETPID = 0x40000000 + 39

_GETPID_OF_I386 = b"\xb8\x14\0\0\0\xcd\x80\xc3"
"""mov eax, 20; int 0x80; ret"""


class Held(Exception):
    """The wall stood."""


def holds(attempt: Callable[[], object]) -> bool:
    """Whether the kernel refuses an attempt."""
    try:
        attempt()
    except OSError as refusal:
        return refusal.errno in REFUSALS
    except (MemoryError, Held):
        return True
    return False


def _raw(name_or_number: str | int, *arguments: object) -> None:
    """A system call by number: returns if the kernel accepted it, or looked at its arguments."""
    number = name_or_number
    if isinstance(number, str):
        number = _NUMBERS.get(platform.machine(), {}).get(number, -1)
    words = [each if isinstance(each, bytes) else ctypes.c_long(each) for each in arguments]  # type: ignore[arg-type]  # numbers
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(ctypes.c_long(number), *words) < 0:
        raise OSError(ctypes.get_errno(), "refused")


def _close(descriptor: int) -> None:
    os.close(descriptor)


def _open(path: str) -> None:
    _close(os.open(path, os.O_RDONLY))


def _leave_a_file() -> None:
    """Where anybody may. Taken away again at once if it succeeds."""
    refusal: OSError | None = None
    for folder in ("/tmp", "/dev/shm", "/var/tmp"):
        path = f"{folder}/self-test-{os.getpid()}"
        try:
            _close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except OSError as e:
            if e.errno not in REFUSALS:
                raise
            refusal = e
        else:
            os.unlink(path)
            return
    assert refusal is not None
    raise refusal


def _socket(family: int, kind: int) -> None:
    with socket.socket(family, kind):
        pass


def _connect() -> None:
    with socket.socket() as connection:
        connection.connect(("127.0.0.1", 9))


def _fork() -> None:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


def _execute() -> None:
    """If it succeeds this process is another, which never says that the wall held."""
    os.execv(sys.executable, [sys.executable, "-S", "-c", ""])


def _shared_memory() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    key = libc.shmget(0, 4096, 0o600)
    if key < 0:
        raise OSError(ctypes.get_errno(), "refused")
    libc.shmctl(key, 0, None)


def _own_limits() -> None:
    # Said of a limit that nobody needs: 0 stays 0 where it succeeds.
    _raw_prlimit = ctypes.CDLL(None, use_errno=True).prlimit
    if _raw_prlimit(0, 4, (ctypes.c_ulong * 2)(0, 0), None) < 0:
        raise OSError(ctypes.get_errno(), "refused")


def _dumpable() -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(4, 1, 0, 0, 0) < 0:
        raise OSError(ctypes.get_errno(), "refused")


def _x32() -> None:
    if not _X86:
        raise Held
    _raw(_X32_GETPID)


def _driver() -> None:
    """A request of a GPU's driver, to a descriptor that is none of its."""
    fcntl.ioctl(0, 0x46D6, b"")


PROBES: dict[str, Callable[[], object]] = {
    "read other files": lambda: _open("/etc/passwd"),
    "list directories": lambda: os.listdir("/"),
    "write files": _leave_a_file,
    "change permissions": lambda: os.fchmod(RESULT, 0o600),
    "look into its parent": lambda: _open(f"/proc/{os.getppid()}/environ"),
    "look at other processes": lambda: _open("/proc/1/status"),
    "connect": _connect,
    "open a UDP socket": lambda: _socket(socket.AF_INET, socket.SOCK_DGRAM),
    "open a Unix socket": lambda: _socket(socket.AF_UNIX, socket.SOCK_STREAM),
    "start a process": _fork,
    "start a process by clone3": lambda: _raw(_CLONE3, 0, 0),
    "signal its parent": lambda: os.kill(os.getppid(), 0),
    "signal its group": lambda: os.kill(0, 0),
    "get a handle of its parent": lambda: _raw(_PIDFD_OPEN, os.getppid(), 0),
    "trace": lambda: _raw("ptrace", 0, 0, 0, 0),
    "read its parent's memory": lambda: _raw("process_vm_readv", os.getppid(), 0, 0, 0, 0, 0),
    "take any amount of memory": lambda: bytearray(ASKED_BYTES),
    "share memory": lambda: mmap.mmap(-1, 4096),
    "call the driver of a GPU": _driver,
    "open the driver of a GPU": lambda: _open("/dev/nvidiactl"),
    "share memory by System V": _shared_memory,
    "set its own limits": _own_limits,
    "become dumpable": _dumpable,
    "use io_uring": lambda: _raw(_IO_URING_SETUP, 1, 0),
    "use userfaultfd": lambda: _raw("userfaultfd", 0),
    "use bpf": lambda: _raw("bpf", 0, 0, 0),
    "make a user namespace": lambda: _raw("unshare", _CLONE_NEWUSER),
    "make system calls of x32": _x32,
    "execute another program": _execute,
}
"""What a confined process could do if the probe does not hold. `execute` is last: see there."""

OPEN_FOR_CUDA = frozenset({"share memory", "call the driver of a GPU", "open the driver of a GPU"})
"""Those that need not hold in a profile that leads to a GPU."""

LAST_OF_ALL = "make system calls of a 32-bit program"
"""Ends the process where the wall stands."""

ENDED_BY = (-signal.SIGSYS, -signal.SIGSEGV)
"""How: by the filter; or by the kernel, where it has no 32-bit programs."""


def call_as_i386() -> bool:
    """Ask for the pid by int 0x80. Whether the wall stands, where the process still does."""
    if not _X86:
        return True
    page = mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, 7)
    page.write(_GETPID_OF_I386)
    function = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
    return bool(function() < 0)
