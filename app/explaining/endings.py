"""Why a program was stopped or crashed: the limit it met, with its value, or the signal; and what to do.

A class is the outcome's reason and has the messages `error.REASON` and `error.REASON.fix`. The limit is
read back from the outcome's own words, because a program may have written them: what is not one of ours is
said without a value. Exceptions are for `errors`.
"""

import re
from typing import Any

from ..schema import Explanation, Outcome
from .wording import say

_LIMIT = re.compile(
    r"([\d,]+(?:\.\d+)?(?:e\+\d+)?) "
    r"(s of processor time|s|MiB of memory|bytes of output|executed statements|threads)"
)

_WHAT = {
    "s of processor time": "processor",
    "s": "wall",
    "MiB of memory": "memory",
    "bytes of output": "output",
    "executed statements": "statements",
    "threads": "threads",
}

_SIGNAL = re.compile(r"\bended by (SIG[A-Z0-9]+)\b")


def explain_ending(outcome: Outcome) -> Explanation | None:
    """Explain why a program was stopped or crashed; None when it ended by itself."""
    if outcome.kind not in ("stopped", "crashed") or outcome.reason is None:
        return None
    args = {"line": outcome.line, **_about(outcome)}
    return Explanation(
        class_=outcome.reason,
        line=outcome.line,
        caused_by=None,
        operands=(),
        sentences=(
            say(None, f"error.{outcome.reason}", **args),
            say(None, f"error.{outcome.reason}.fix", **args),
        ),
    )


def limit_of(text: str | None) -> dict[str, Any]:
    """What was bounded and how: `what` and `amount`.

    >>> limit_of("512 MiB of memory")
    {'what': 'memory', 'amount': '512'}
    >>> limit_of("a lot of patience")
    {'what': 'other', 'amount': ''}
    """
    found = _LIMIT.fullmatch(text or "")
    if found is None:
        return {"what": "other", "amount": ""}
    return {"what": _WHAT[found[2]], "amount": found[1].replace(",", "")}


def _about(outcome: Outcome) -> dict[str, Any]:
    if outcome.reason == "signal":
        signal = _SIGNAL.search(outcome.message or "")
        return {"signal": "unknown" if signal is None else signal[1]}
    limit = limit_of(outcome.limit)
    if limit["what"] in ("output", "statements", "threads"):
        limit["amount"] = int(float(limit["amount"]))
    return limit
