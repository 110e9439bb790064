"""Makes a second unobserved run differ from the first in all that no program may rely on.

Two runs forked from one process find their memory laid out and filled alike: what a program reads of
uninitialised memory, or prints of an address, would agree by chance and be taken for a fact. Here new memory
is filled with a pattern and every address moves.

Source: mallopt(3), M_PERTURB.
"""

import ctypes

_M_PERTURB = -6
_PATTERN = 0x5A
_SMALL_BLOCKS = 3000
_LARGE_BYTES = 5 << 20


def disturb_memory() -> list[object]:
    """Fill memory that is handed out from now on, and move its addresses.

    Returns:
        What moves the addresses, as long as it is held.
    """
    libc = ctypes.CDLL(None)
    if hasattr(libc, "mallopt"):  # glibc
        libc.mallopt(_M_PERTURB, _PATTERN)
    ballast: list[object] = [bytes(16 * (i % 40) + 1) for i in range(_SMALL_BLOCKS)]
    ballast.append(bytearray(_LARGE_BYTES))
    return ballast
