"""How a run ended: from the kernel's wait status and from what we did, last from what the child said.

Pure. A child that was killed cannot talk itself out of it, and one that ends without
having said its last word crashed, whatever status it chose.
"""

import os
import re
import signal
from dataclasses import dataclass
from typing import Literal

from ..schema import Limits, Outcome

KillReason = Literal["time-limit", "memory-limit", "output-limit", "invalid-reply"]
"""Why the server itself ends a child."""

Reason = Literal["time-limit", "memory-limit", "output-limit", "signal", "invalid-reply"]


_FILE_REFUSED = re.compile(
    r"inline_container\.cc.*open file|PytorchStreamWriter failed|^Parent directory .* does not exist",
    re.DOTALL,
)
"""How PyTorch says that it could not open a file: an error of its own, not one of the system."""


@dataclass(frozen=True, kw_only=True)
class Ending:
    """What is known of a child that has ended."""

    status: int
    """Wait status, as from waitpid(2)."""

    cpu_s: float
    """Processor time it used."""

    killed_for: KillReason | None
    """The server killed it, and why."""

    too_much: str = ""
    """The limit that the watchdog saw passed, in words, where it was killed for `memory-limit`."""

    fault: str | None
    """What was wrong with its reply."""

    ran_out_of_memory: bool
    """The kernel took a process for want of memory while it ran, or C++ gave up for that reason."""

    said: Outcome | None
    """The outcome in its own last chunk."""

    line: int | None
    """The line that was running when it was last heard of."""


def verdict(ending: Ending, limits: Limits) -> Outcome:
    """Decide how a run ended."""
    if ending.killed_for == "time-limit":
        if ending.said is not None and (ending.said.kind, ending.said.reason) == ("stopped", "time-limit"):
            return ending.said  # it had just stopped by itself, and knows where
        return _stopped(ending, "time-limit", _wall(limits))
    if ending.killed_for == "memory-limit":
        return _stopped(ending, "memory-limit", ending.too_much)
    if ending.killed_for == "output-limit":
        return _stopped(ending, "output-limit", f"{limits.stdout_bytes:,} bytes of output")
    if ending.fault is not None:
        return _crashed(ending, "invalid-reply", f"The program's trace made no sense: {ending.fault}.")
    if os.WIFSIGNALED(ending.status):
        return _signalled(ending, limits)
    if ending.said is None or ending.status != 0:
        code = os.waitstatus_to_exitcode(ending.status)
        return _crashed(
            ending, "invalid-reply", f"The process ended with exit status {code} before the program did."
        )
    return _seen_from_outside(ending.said, limits)


def _seen_from_outside(said: Outcome, limits: Limits) -> Outcome:
    """What the child said, with what it cannot know: that the sandbox was in the way, and its limits."""
    if said.kind != "raised":
        return said
    if said.reason == "memory-limit" and said.limit is None:
        return said.model_copy(update={"limit": _memory(limits)})
    no_file = said.type == "FileNotFoundError" or _FILE_REFUSED.search(said.message or "")
    if said.reason is None and no_file:
        return said.model_copy(update={"reason": "denied"})
    return said


def _signalled(ending: Ending, limits: Limits) -> Outcome:
    number = os.WTERMSIG(ending.status)
    used_up = number == signal.SIGKILL and ending.cpu_s >= limits.cpu_s
    if number == signal.SIGXCPU or used_up:
        return _stopped(ending, "time-limit", f"{limits.cpu_s} s of processor time")
    if ending.ran_out_of_memory and number in (signal.SIGKILL, signal.SIGABRT):
        return _stopped(ending, "memory-limit", _memory(limits))
    return _crashed(ending, "signal", f"The process was ended by {_signal_name(number)}.")


def _memory(limits: Limits) -> str:
    return f"{limits.memory_bytes >> 20:,} MiB of memory"


def _wall(limits: Limits) -> str:
    return f"{limits.wall_s:g} s"


def _signal_name(number: int) -> str:
    try:
        known = signal.Signals(number)
    except ValueError:
        return f"signal {number}"
    words = signal.strsignal(number)
    return f"{known.name} ({words.lower()})" if words else known.name


def _stopped(ending: Ending, reason: Reason, limit: str) -> Outcome:
    return _outcome(
        "stopped", ending, reason, f"The program was stopped: it met the limit of {limit}.", limit
    )


def _crashed(ending: Ending, reason: Reason, message: str) -> Outcome:
    return _outcome("crashed", ending, reason, message, None)


def _outcome(
    kind: Literal["stopped", "crashed"], ending: Ending, reason: Reason, message: str, limit: str | None
) -> Outcome:
    return Outcome(
        kind=kind,
        line=ending.line,
        type=None,
        message=message,
        reason=reason,
        limit=limit,
        range=None,
        traceback=(),
        failure=None,
    )
