"""The few kernel calls that Python's `os` does not offer: prctl, capset, madvise.

Numbers are those of the kernel's own headers. What a call is for is said where
it is used, not here.
"""

import ctypes
import os

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_SECCOMP = 22
PR_SET_NO_NEW_PRIVS = 38
SECCOMP_MODE_FILTER = 2
_CAPABILITY_VERSION_3 = 0x20080522
_MADV_COLLAPSE = 25
_HUGE_PAGE = 2 << 20

_libc = ctypes.CDLL(None, use_errno=True)


def prctl(option: int, argument: int | ctypes.c_void_p, second: int | ctypes.c_void_p = 0) -> None:
    """Call prctl(2), or raise OSError with its errno."""
    if _libc.prctl(option, _word(argument), _word(second), _word(0), _word(0)) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def drop_capabilities() -> None:
    """Give up every capability of the calling thread, or raise OSError."""
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    nothing = (ctypes.c_uint32 * 6)()
    if _libc.capset(header, nothing) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def collapse_into_huge_pages() -> None:
    """Have the kernel put this process's memory into pages of 2 MiB, as far as it can.

    fork(2) copies one entry per page and exit(2) walks them again: with the 250 MB that torch
    and Python's objects take, this halves the life of a child. Linux 6.1 or later; elsewhere
    nothing happens.
    """
    with open("/proc/self/maps") as mappings:
        for line in mappings:
            span, rights, _, _, _, *name = line.split()
            if rights != "rw-p" or (name and name != ["[heap]"]):
                continue
            first, last = (int(address, 16) for address in span.split("-"))
            first = -(-first // _HUGE_PAGE) * _HUGE_PAGE
            last = last // _HUGE_PAGE * _HUGE_PAGE
            if first < last:
                _libc.madvise(ctypes.c_void_p(first), ctypes.c_size_t(last - first), _MADV_COLLAPSE)


def _word(value: int | ctypes.c_void_p) -> ctypes.c_void_p | ctypes.c_ulong:
    """A full machine word: prctl is variadic, so a C int would leave the upper half undefined."""
    return value if isinstance(value, ctypes.c_void_p) else ctypes.c_ulong(value)
