"""When the tracer itself runs: neither its own calls nor its own lines are the program's.

Python calls the trace function for every frame entered, ours and PyTorch's included, and that is a good part
of what watching costs. So it is taken away while we work, and stays away through a call that runs no Python
code of anybody: `ops.Operands.plain` tells which those are.
"""

import sys
from collections.abc import Callable
from typing import Any

from . import torch_private


def _nothing() -> None:
    """Do nothing."""


def leave_recording() -> Any:
    """Make `torch.jit.trace` record nothing: even the size of a tensor would become an op of its graph.

    Returns:
        What to put back with `set_recording_state`; None when it was not recording.
    """
    state: Any = torch_private.recording_state()
    if state is not None:
        torch_private.set_recording_state(None)
    return state


class Quiet:
    """Whose code runs: `hush` begins ours, `speak` the program's."""

    def __init__(self) -> None:
        self.busy = False
        """We run: calls and ops are not the program's."""
        self.still = False
        """The program runs, but no Python code does: the trace function is away."""
        self.may_be_still = True
        """The program does nothing by which Python code runs where none is seen."""
        self.minds_inference = False
        """The program may make inference tensors."""
        self.trace_lines: Any = None
        """The trace function while lines are heard, unless the program sets one of its own."""
        self.trace_function: Any = None
        """Ours."""
        self.lines_heard: Any = None
        """The trace function as long as it is there, whoever sets it."""
        self.when_lost: Callable[[], None] = _nothing
        """Called when the program takes the trace function away."""
        self.minds_jit = False
        """`torch.jit.trace` may be recording: what we read must not become part of its graph."""
        self._recording: Any = None
        """Its state while we work."""

    def hush(self, heard: Any) -> None:
        """From now on what runs is ours. The caller took away the trace function `heard`."""
        if heard is not self.lines_heard and not self.busy and not self.still:
            self._lost(heard)
        self.busy = True
        if self.minds_jit:
            self._recording = leave_recording()

    def _lost(self, heard: Any) -> None:
        """Lines are not heard any more: the program took the trace function away, or put its own in place."""
        if heard is None and self.trace_lines is not None:
            return  # Python dropped it, at the recursion limit
        self.lines_heard = heard
        if heard is self.trace_function:
            return  # the program put it back
        self.when_lost()

    def speak(self, heard: Any) -> None:
        """What runs from now on is the program's.

        Python drops a trace function that meets the recursion limit; the program goes on, and so do we.
        """
        if self._recording is not None:
            torch_private.set_recording_state(self._recording)
            self._recording = None
        self.busy = False
        if not self.still:
            sys.settrace(self.trace_lines if heard is None else heard)
