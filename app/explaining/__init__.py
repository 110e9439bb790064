"""Facts → meaning: pure functions on a trace. What changed, why it failed, what went quietly wrong.

Says everything by message id, so that a page, a terminal and an alternative text say the same in
each language. Knows no torch: what is not in the trace is not claimed.
"""

import logging
import time
from collections.abc import Callable
from typing import TypeVar

from ..schema import Comparison, Note, Sentence, Trace
from .chronicle import Chronicle
from .effects import comparison_sentences
from .endings import explain_ending
from .errors import explain_failure
from .moment import Moments
from .notes import find_notes
from .sentences import step_sentences
from .wording import say

__all__ = ["explain", "unexplained", "with_comparison"]

log = logging.getLogger(__name__)

T = TypeVar("T")


def explain(trace: Trace, *, within_s: float | None = None) -> Trace:
    """Add to a trace what it means.

    Args:
        trace: A trace as put together from what the sandbox sent. A program can forge one whose parts
            contradict each other; what cannot be derived from it is left out.
        within_s: Processor time after which the steps that are left are not put into words any more; they
            say so. None: as long as it takes.

    Returns:
        The same trace with `explanation`, `notes` and `sentences` filled.
    """
    deadline = None if within_s is None else time.thread_time() + within_s
    chronicle = _derive("facts", lambda: Chronicle(trace), None)
    if chronicle is None:
        return unexplained(trace)
    moments = Moments(chronicle)
    no_notes: tuple[Note, ...] = ()
    nothing: list[tuple[Sentence, ...]] = []
    per_step = _derive("sentences", lambda: _of_each_step(moments, deadline), nothing)
    if not per_step:
        per_step = [(_UNEXPLAINED,)] * len(trace.steps)
    sentences, said = _each_once(per_step)
    return trace.model_copy(
        update={
            "explanation": _derive(
                "explanation",
                lambda: explain_ending(trace.outcome) or explain_failure(trace, chronicle),
                None,
            ),
            "notes": _derive("notes", lambda: find_notes(moments), no_notes),
            "sentences": sentences,
            "said": said,
            "comparison": _said(trace),
        }
    )


def with_comparison(explained: Trace, compared: Trace) -> Trace:
    """An explained trace with what holding it against an unobserved run has brought since.

    Args:
        explained: As of `explain`, while the comparison was pending.
        compared: The same trace, compared.
    """
    update = {"observer_effects": compared.observer_effects, "comparison": _said(compared)}
    return explained.model_copy(update=update)


def unexplained(trace: Trace) -> Trace:
    """A trace that says of each step that it is not put into words."""
    said = tuple((0,) for _ in trace.steps)
    sentences = (_UNEXPLAINED,) if said else ()
    return trace.model_copy(update={"sentences": sentences, "said": said, "comparison": _said(trace)})


_UNEXPLAINED = say(None, "names.not-in-words")


def _of_each_step(moments: Moments, deadline: float | None) -> list[tuple[Sentence, ...]]:
    """The sentences of each step, as long as there is time."""
    found: list[tuple[Sentence, ...]] = []
    steps = len(moments.chronicle.trace.steps)
    for number in range(1, steps + 1):
        if deadline is not None and time.thread_time() > deadline:
            return [*found, *[(_UNEXPLAINED,)] * (steps - len(found))]
        found.append(step_sentences(moments.of(number)))
    return found


def _said(trace: Trace) -> Comparison:
    nothing: tuple[Sentence, ...] = ()
    sentences = _derive("comparison", lambda: comparison_sentences(trace), nothing)
    return trace.comparison.model_copy(update={"sentences": sentences})


def _each_once(
    per_step: list[tuple[Sentence, ...]],
) -> tuple[tuple[Sentence, ...], tuple[tuple[int, ...], ...]]:
    """The sentences without repetition, and per step which of them."""
    index: dict[str, int] = {}
    table: list[Sentence] = []
    said = []
    for sentences in per_step:
        numbers = []
        for sentence in sentences:
            key = repr((sentence.layer, sentence.id, sentence.args))
            if key not in index:
                index[key] = len(table)
                table.append(sentence)
            numbers.append(index[key])
        said.append(tuple(numbers))
    return tuple(table), tuple(said)


def _derive(what: str, find: Callable[[], T], otherwise: T) -> T:
    """What `find` finds: facts without their meaning are better than neither."""
    try:
        return find()
    except Exception:
        log.exception("the %s of a trace could not be derived", what)
        return otherwise
