"""Facts → meaning: pure functions on a trace. What changed, why it failed, what went quietly wrong.

Says everything by message id, so that a page, a terminal and an alternative text say the same in
each language. Knows no torch: what is not in the trace is not claimed.
"""

from ..schema import Trace
from .chronicle import Chronicle
from .errors import explain_failure
from .notes import find_notes
from .sentences import step_sentences

__all__ = ["explain"]


def explain(trace: Trace) -> Trace:
    """Add to a trace what it means.

    Args:
        trace: A trace as put together from what the sandbox sent.

    Returns:
        The same trace with `explanation`, `notes` and `sentences` filled.
    """
    chronicle = Chronicle(trace)
    return trace.model_copy(
        update={
            "explanation": explain_failure(trace, chronicle),
            "notes": find_notes(chronicle),
            "sentences": tuple(step_sentences(chronicle, n) for n in range(1, len(trace.steps) + 1)),
        }
    )
