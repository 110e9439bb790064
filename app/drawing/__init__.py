"""Facts → coordinates: pure functions on a trace. No colours, no words, no torch."""

from ..schema import Trace
from .autograd import draw_graph

__all__ = ["draw", "draw_graph"]


def draw(trace: Trace) -> Trace:
    """Give a trace its coordinates.

    Args:
        trace: A trace as put together from what the sandbox sent.

    Returns:
        The same trace with `graph` filled.
    """
    return trace.model_copy(update={"graph": draw_graph(trace)})
