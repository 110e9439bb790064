"""Makes the CUDA context of a sandbox's process, before there is a program, and bounds its memory.

Called in the child, within its walls: in a process that forks, a context would break every child. The memory
that a program may take is a fraction of the device's, which PyTorch's allocator keeps; it is no wall. No
memory of the device is taken here, so a program finds the allocator as fresh as in a process of its own.
"""

import torch


class NoDevice(Exception):
    """There is no CUDA device to be had; the message says why, in a sentence without a full stop."""


def open_cuda(fraction: float) -> None:
    """Make contexts on all devices there are, and bound what may be taken of each.

    Args:
        fraction: Of the memory of each, between 0 and 1.

    Raises:
        NoDevice: There is none, or it does not answer.
    """
    if not torch.backends.cuda.is_built():
        raise NoDevice("this PyTorch was built without CUDA")
    try:
        torch.cuda.init()
        count = torch.cuda.device_count()
        for index in range(count):
            torch.cuda.set_per_process_memory_fraction(fraction, index)
            torch.cuda.synchronize(index)
    except (RuntimeError, AssertionError, OSError) as error:
        raise NoDevice(str(error).splitlines()[0].rstrip(".")) from error
    if count == 0:
        raise NoDevice("no CUDA device is visible")
