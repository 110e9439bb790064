"""What one run tells the layers, and what a layer is.

The order of the layers is in `jail`; what each stops is in its own module.
"""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, kw_only=True)
class Confinee:
    """One child about to be confined: its descriptors and its bounds."""

    null: int
    """Descriptor of /dev/null, to become standard input."""

    output: int
    """Write end of the pipe that becomes standard output and standard error."""

    result: int
    """Write end of the pipe that becomes descriptor 3."""

    zygote_pid: int
    """The parent. A child whose parent has already gone must not run."""

    slot: int
    """Which of the places for simultaneous runs this is, from 0; it decides the uid."""

    memory_bytes: int
    """Address space that the program may add to what the zygote already maps."""

    cpu_s: int
    """Processor time, whole seconds."""


class Layer(Protocol):
    """One wall. `enter` returns with the wall standing, or raises."""

    @property
    def name(self) -> str:
        """Short name, as the status page shows it."""

    def enter(self, child: Confinee) -> None:
        """Confine the calling process; called once, in the child, before any user code."""
