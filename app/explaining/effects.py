"""What watching changed, and why, as far as the cause is known.

The differences were measured (`execution/comparison.py`); here each gets its sentence. A cause is named
only where a fact of the trace points at it: an op, an API call, a pair of names.
"""

from ..schema import ObserverEffect, Sentence, Trace
from .wording import say

_RESHAPES = {"ReshapeAliasBackward0", "ViewBackward0", "UnsafeViewBackward0", "AsStridedBackward0"}
_CTC = {"CtcLossBackward0", "CtcLossBackward1"}
_FAST_PATHS = ("TransformerEncoderLayer", "TransformerEncoder", "MultiheadAttention")
_WITH_NAME = {"values", "version", "grad_fn", "generator", "names"}
_ALONE = {"stdout", "warnings", "exception", "line", "traceback", "outcome", "sharing"}


def comparison_sentences(trace: Trace) -> tuple[Sentence, ...]:
    """Say what watching changed, one sentence for each effect, or why that is not known.

    Args:
        trace: Compared, or not.
    """
    comparison = trace.comparison
    if comparison.state == "not-compared":
        return (say(None, f"compare.{comparison.reason}"),)
    said = [_sentence(trace, effect) for effect in trace.observer_effects]
    if comparison.unsteady:
        said.append(say(None, "compare.unsteady", facts=list(comparison.unsteady)))
    return tuple(said)


def _sentence(trace: Trace, effect: ObserverEffect) -> Sentence:
    args = {"name": effect.name or "", "observed": effect.observed, "plain": effect.plain}
    cause = _cause(trace, effect)
    if cause is not None:
        return say(None, f"effect.{cause}", **args)
    if effect.what in _WITH_NAME or effect.what in _ALONE:
        return say(None, f"effect.{effect.what}", **args)
    return say(None, "effect.metadata", what=effect.what, **args)


def _cause(trace: Trace, effect: ObserverEffect) -> str | None:
    pair = {effect.observed, effect.plain}
    if effect.what == "grad_fn" and pair <= _RESHAPES:
        return "grad_fn-reshape"
    if effect.what == "grad_fn" and pair <= _CTC:
        return "grad_fn-ctc"
    if effect.what == "version" and (effect.name or "").endswith(".grad"):
        return "version-grad"
    if effect.what == "values" and any("::linalg_" in name or "::_linalg_" in name for name in trace.names):
        return "values-linalg"
    if effect.what in ("values", "grad_fn") and any(name in trace.source for name in _FAST_PATHS):
        return f"{effect.what}-fast-path"
    if effect.what in ("exception", "stdout") and "recursion" in (trace.source + effect.observed).lower():
        return f"{effect.what}-recursion"
    return None
