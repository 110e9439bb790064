"""Refuses every system call that is not on the list.

Processes, sockets, exec, signals to others, ptrace, io_uring, bpf, SysV IPC, chmod,
and calls of another architecture never reach the kernel's code. Which file may be
opened is not decided here: a filter sees numbers, not paths (`landlock`). Without
Landlock the process is sealed: no call that names a path.

The filter is compiled once, before any jail, because pyseccomp finds libseccomp
through /sbin/ldconfig. Signals are allowed to oneself only, so the compiled filter
carries a stand-in for the pid, which each child replaces.
"""

import ctypes
import errno
import importlib
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from . import gpu, kernel, syscalls
from .layers import Confinee

_STAND_IN = 0x5AFEB0B0
"""Where a filter holds this number, a child writes its pid. No call's argument is equal to it."""

_JUDGES_TRUNCATION = 3
"""The ABI since which Landlock does."""

_UNKNOWN = -1
"""libseccomp's answer for a call that it or the processor does not know."""

_INSTRUCTION = struct.Struct("<HBBI")
"""struct sock_filter: code, jump if true, jump if false, operand."""


_REFUSE_X32 = b"".join(
    _INSTRUCTION.pack(*instruction)
    for instruction in (
        (0x20, 0, 0, 4),  # load the architecture
        (0x15, 0, 3, 0xC000003E),  # if it is not x86-64, skip the next three
        (0x20, 0, 0, 0),  # load the number of the call
        (0x45, 0, 1, 0x40000000),  # if it has the bit of x32 …
        (0x06, 0, 0, 0x00050000 | errno.EPERM),  # … answer EPERM
    )
)
"""Goes before the compiled filter. libseccomp ends the process for x32, as for any foreign architecture,
but these are calls of our own architecture that are not on the list, and they answer as such."""


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


@dataclass(frozen=True)
class SyscallAllowList:
    """A compiled filter and where it holds the stand-in for the pid."""

    instructions: bytes

    pid_offsets: tuple[int, ...]

    name: str
    """`seccomp`, or `sealed seccomp` where no path may be named."""

    def enter(self, child: Confinee) -> None:
        """Write the child's pid into the filter and install it. Nothing lifts it again."""
        patched = bytearray(self.instructions)
        for offset in self.pid_offsets:
            struct.pack_into("<I", patched, offset, os.getpid())
        buffer = ctypes.create_string_buffer(bytes(patched), len(patched))
        program = _Program(len(patched) // _INSTRUCTION.size, ctypes.cast(buffer, ctypes.c_void_p).value)
        pointer = ctypes.cast(ctypes.pointer(program), ctypes.c_void_p)
        kernel.prctl(kernel.PR_SET_SECCOMP, kernel.SECCOMP_MODE_FILTER, pointer)


def build(*, sealed: bool, landlock_abi: int = 0, cuda: bool = False) -> SyscallAllowList:
    """Compile the allow-list.

    Args:
        sealed: Refuse every call that names a path.
        landlock_abi: What the kernel's Landlock can; what it cannot yet is refused here.
        cuda: Calls that the driver of a GPU needs are allowed as well.

    Raises:
        OSError: libseccomp is missing, or refused a rule that must stand.
    """
    library = _library()
    rules = library.SyscallFilter(library.ERRNO(errno.EPERM))
    rules.set_attr(library.Attr.ACT_BADARCH, library.KILL_PROCESS)
    # A binary tree instead of a list: a third of the time per call.
    rules.set_attr(library.Attr.CTL_OPTIMIZE, 2)

    def add(action: int, call: str, *conditions: tuple[int, ...]) -> None:
        number = library.resolve_syscall(library.Arch.NATIVE, call)
        if number != _UNKNOWN:
            rules.add_rule(action, number, *(library.Arg(*each) for each in conditions))

    opening = {"open": 1, "openat": 2} if landlock_abi < _JUDGES_TRUNCATION and not sealed else {}
    for call in syscalls.ALLOWED:
        if sealed and call in syscalls.BY_PATH:
            add(library.ERRNO(errno.EACCES), call)
        elif call in opening:
            add(library.ALLOW, call, (opening[call], library.MASKED_EQ, syscalls.O_TRUNC, 0))
        else:
            add(library.ALLOW, call)
    for call, answer in syscalls.REFUSED.items():
        add(library.ERRNO(answer), call)
    for call, *conditions in _by_argument(library.EQ, library.MASKED_EQ):
        add(library.ALLOW, call, *conditions)
    if cuda:
        for call, *conditions in _for_the_driver(library.EQ, library.MASKED_EQ):
            add(library.ALLOW, call, *conditions)
    return _compiled(rules, name_of(sealed=sealed, cuda=cuda))


def name_of(*, sealed: bool, cuda: bool = False) -> str:
    """The layer's name."""
    return "sealed seccomp" if sealed else "seccomp for cuda" if cuda else "seccomp"


def _library() -> ModuleType:
    """pyseccomp, imported here because it looks for libseccomp while it is imported."""
    try:
        return importlib.import_module("pyseccomp")
    except (ImportError, OSError, RuntimeError) as fault:
        raise OSError("libseccomp is not installed") from fault


def _by_argument(equal: int, masked: int) -> Iterator[tuple[Any, ...]]:
    """Calls allowed for some arguments only: the call, then (argument, comparison, values)."""
    # Threads, but no processes and no namespaces.
    thread_bits = syscalls.CLONE_THREAD | syscalls.CLONE_NEW_NAMESPACES
    yield "clone", (0, masked, thread_bits, syscalls.CLONE_THREAD)
    yield "mmap", (3, masked, syscalls.MAP_SHARED | syscalls.MAP_HUGETLB, 0)
    for call in syscalls.SIGNALS_TO_ITSELF:
        yield call, (0, equal, _STAND_IN)
    # Reads its own limits; may set none, nor see another's.
    yield "prlimit64", (0, equal, 0), (2, equal, 0)
    yield "sched_setaffinity", (0, equal, 0)
    for command in syscalls.FCNTL_COMMANDS:
        yield "fcntl", (1, equal, command)
    yield "fcntl", (1, equal, syscalls.F_SETFL), (2, masked, syscalls.O_ASYNC, 0)
    for option in syscalls.PRCTL_OPTIONS:
        yield "prctl", (0, equal, option)
    for request in syscalls.IOCTL_REQUESTS:
        yield "ioctl", (1, equal, request)


def _for_the_driver(equal: int, masked: int) -> Iterator[tuple[Any, ...]]:
    """What CUDA calls beside: as `_by_argument`."""
    yield "ioctl", (1, masked, 0xFF00, gpu.MAGIC << 8)
    for request in gpu.UVM_REQUESTS:
        yield "ioctl", (1, equal, request)
    yield "mmap", (3, masked, syscalls.MAP_SHARED | syscalls.MAP_HUGETLB, syscalls.MAP_SHARED)
    for call in syscalls.OF_CUDA:
        yield (call,)


def _compiled(rules: Any, name: str) -> SyscallAllowList:
    # A memory file: there may be no writable directory.
    with os.fdopen(os.memfd_create("filter"), "w+b") as file:
        rules.export_bpf(file)
        file.seek(0)
        instructions = file.read()
    if os.uname().machine == "x86_64":
        instructions = _REFUSE_X32 + instructions
    return of(instructions, name)


def of(instructions: bytes, name: str) -> SyscallAllowList:
    """A filter compiled before, perhaps by another process.

    Raises:
        OSError: It is not one of ours.
    """
    size = _INSTRUCTION.size
    found = tuple(
        start + size - 4
        for start in range(0, len(instructions), size)
        if _INSTRUCTION.unpack_from(instructions, start)[3] == _STAND_IN
    )
    # Fewer than there are such calls: libseccomp lets equal branches share their end.
    if not found:
        raise OSError("the compiled filter holds no place for the pid")
    return SyscallAllowList(instructions, found, name)
