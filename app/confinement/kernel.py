"""The few kernel calls that Python's `os` does not offer: prctl, capset.

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


def _word(value: int | ctypes.c_void_p) -> ctypes.c_void_p | ctypes.c_ulong:
    """A full machine word: prctl is variadic, so a C int would leave the upper half undefined."""
    return value if isinstance(value, ctypes.c_void_p) else ctypes.c_ulong(value)
