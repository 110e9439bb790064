"""Facts → meaning: pure functions on a trace. What changed, why it failed, what went quietly wrong.

Says everything by message id, so that a page, a terminal and an alternative text say the same in
each language. Knows no torch: what is not in the trace is not claimed.
"""

import logging
from collections.abc import Callable
from typing import TypeVar

from ..schema import Note, Sentence, Trace
from .chronicle import Chronicle
from .errors import explain_failure
from .notes import find_notes
from .sentences import step_sentences

__all__ = ["explain"]

log = logging.getLogger(__name__)

T = TypeVar("T")


def explain(trace: Trace) -> Trace:
    """Add to a trace what it means.

    Args:
        trace: A trace as put together from what the sandbox sent. A program can forge one whose parts
            contradict each other; what cannot be derived from it is left out.

    Returns:
        The same trace with `explanation`, `notes` and `sentences` filled.
    """
    chronicle = _derive("facts", lambda: Chronicle(trace), None)
    if chronicle is None:
        return trace
    steps = range(1, len(trace.steps) + 1)
    no_notes: tuple[Note, ...] = ()
    no_sentences: tuple[tuple[Sentence, ...], ...] = ()
    return trace.model_copy(
        update={
            "explanation": _derive("explanation", lambda: explain_failure(trace, chronicle), None),
            "notes": _derive("notes", lambda: find_notes(chronicle), no_notes),
            "sentences": _derive(
                "sentences", lambda: tuple(step_sentences(chronicle, n) for n in steps), no_sentences
            ),
        }
    )


def _derive(what: str, find: Callable[[], T], otherwise: T) -> T:
    """What `find` finds: facts without their meaning are better than neither."""
    try:
        return find()
    except Exception:
        log.exception("the %s of a trace could not be derived", what)
        return otherwise
