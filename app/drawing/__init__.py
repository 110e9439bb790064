"""Facts → coordinates: pure functions on a trace. No colours, no words, no torch."""

import logging

import graphlay

from ..schema import Trace
from .autograd import draw_graph
from .compiler import draw_fx_graphs

__all__ = ["draw", "draw_fx_graphs", "draw_graph"]

log = logging.getLogger(__name__)


def draw(trace: Trace) -> Trace:
    """Give a trace its coordinates.

    Args:
        trace: A trace as put together from what the sandbox sent.

    Returns:
        The same trace with `graph` and `fx_graphs` filled; without where there is none, or a forged one that
        cannot be laid out.
    """
    try:
        fx_graphs = draw_fx_graphs(trace)
    except (graphlay.GraphlayError, LookupError, ValueError, RecursionError):
        log.exception("the compiled graphs of a trace could not be laid out")
        fx_graphs = ()
    try:
        graph = draw_graph(trace)
    except (graphlay.GraphlayError, LookupError, ValueError, RecursionError):
        log.exception("the graph of a trace could not be laid out")
        graph = None
    return trace.model_copy(update={"graph": graph, "fx_graphs": fx_graphs})
