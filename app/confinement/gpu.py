"""What the walls leave open for a program that may use a real GPU: the profiles `cuda` and `cuda+bwrap`.

Nothing here counts unless the operator asks for such a profile. Then a program may talk to the driver:
its nodes are opened and answer ioctl(2), their memory is mapped and shared, and address space is not bounded,
because CUDA reserves hundreds of gigabytes of it. In its place the kernel bounds private memory, the server
resident memory. The driver is a large piece of code in the kernel that no filter sees into, memory of the
GPU is not erased between programs, and how much of it one takes is bounded by PyTorch alone, inside the
program's own process. So this is for people who are trusted: see SECURITY.md.

The context is made within the walls, not before them: it starts threads, which a wall put up later would
not hold.

Source: the ioctl numbers of NVIDIA's open kernel modules (nv-ioctl-numbers.h, uvm_ioctl.h).
"""

import os
import re
import resource
from collections.abc import Iterator
from dataclasses import dataclass

from .layers import Confinee
from .rlimits import bound_all, data_bytes, limit

LIBRARY_FILES = (
    "/proc/devices",
    "/proc/driver/nvidia",
    "/proc/sys/vm/overcommit_memory",
    "/etc/nvidia",
    "/usr/share/nvidia",
    "/sys/devices/system/memory",
    "/sys/devices/system/node",
    "/sys/module/nvidia",
    "/usr/local/nvidia/lib64",
    "/usr/lib/wsl/lib",
)
"""Files and folders that the driver's library reads, where they are; nothing in them is private."""

OWN_MEMORY_BYTES = 512 << 20
"""Private memory that a context and its libraries take on the host, beside the program's."""

START_CPU_S = 10
"""Processor time for making a context, beside the program's."""

DESCRIPTORS = 512
"""The driver's library holds some per device, more per mapping."""

MAGIC = 0x46
"""Second byte of the requests that the nodes of a GPU understand: 'F'."""

UVM_REQUESTS = (*range(1, 100), 0x30000001, 0x30000002)
"""Requests of unified memory's node: plain numbers, the last two to begin and to end."""

_NODE = re.compile(r"nvidia(\d+|ctl|-uvm|-uvm-tools)")


def nodes(folder: str = "/dev") -> Iterator[str]:
    """The device nodes of the driver, those of parts of a GPU (MIG) included."""
    with os.scandir(folder) as entries:
        names = sorted(entry.name for entry in entries)
    for name in names:
        if _NODE.fullmatch(name):
            yield f"{folder}/{name}"
    caps = f"{folder}/nvidia-caps"
    if os.path.isdir(caps):
        yield from (f"{caps}/{name}" for name in sorted(os.listdir(caps)))


@dataclass(frozen=True)
class RlimitsWithoutAddressSpace:
    """As `Rlimits`, with private memory bounded in the place of address space."""

    name = "rlimits for cuda"

    def enter(self, child: Confinee) -> None:
        """Set every limit; a lower one that is already in force stays."""
        bound_all(child.cpu_s + START_CPU_S, DESCRIPTORS)
        limit(resource.RLIMIT_DATA, data_bytes() + child.memory_bytes + OWN_MEMORY_BYTES)
