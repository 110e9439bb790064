"""What happens beside the tensors: a block left, an exception, code that runs where nobody watches.

Facts of a step that no change of a tensor tells. A caught exception leaves no other trace than this one.
"""

from typing import Literal

from .base import Record


class BlockLeft(Record):
    """The step runs the header of a `with` statement again, to leave its block."""

    kind: Literal["block-left"]


class Resumed(Record):
    """The step goes on with a statement that a `yield` or an `await` had suspended."""

    kind: Literal["resumed"]


class ExceptionRaised(Record):
    """An exception was raised in the running statement, caught later or not."""

    kind: Literal["exception"]
    type: str
    """Its class."""

    message: str
    """The beginning of its text."""

    range: int | None
    """Index into `ranges`: the sub-expression that raised; null when unknown."""


class ThreadRan(Record):
    """A thread began to run code of the program. What runs in it is not watched: no lines, no ops."""

    kind: Literal["thread"]
    name: str
    """Name of the thread."""

    function: str
    """The first function of the program that ran in it."""


class ProcessForked(Record):
    """The program started another process by fork. What runs in it is not part of the trace."""

    kind: Literal["process"]


class OpsUnheard(Record):
    """`torch.jit.trace` recorded: to leave that alone, the ops of that time were not listened to."""

    kind: Literal["ops-unheard"]


class TracingTurnedOff(Record):
    """The program took the trace function away: lines after this step were not seen."""

    kind: Literal["tracing-off"]


class EntriesLeftOut(Record):
    """A container is too large for a name to be made for each entry."""

    kind: Literal["entries"]
    frame: int
    """0 for the module's globals, else the frame's id."""

    root: str
    """The variable that leads to it."""

    path: str
    """The expression that gives the container."""

    named: int
    """Entries that were looked at."""

    count: int
    """Entries it has."""


class SiteInside(Record):
    """Ops of a site run inside library code that the program called: `o.step()` runs inside `torch.optim`."""

    kind: Literal["inside"]
    site: int
    """Index into `sites`."""

    module: str
    """The library."""
