"""Facts → coordinates: pure functions on a trace. No colours, no words, no torch."""

import logging

import graphlay

from ..schema import FxDrawing, GraphDrawing, Trace
from .autograd import MOST_NODES, draw_graph
from .compiler import draw_fx_graphs

__all__ = ["draw", "draw_fx_graphs", "draw_graph", "undrawn"]

log = logging.getLogger(__name__)


_FAULTS = (graphlay.GraphlayError, LookupError, ValueError, RecursionError)
"""What the engine, or a graph that contradicts itself, may raise."""


def draw(trace: Trace) -> Trace:
    """Give a trace its coordinates.

    Args:
        trace: A trace as put together from what the sandbox sent.

    Returns:
        The same trace with `graph` and `fx_graphs` filled; without where there is none, or a forged one that
        cannot be laid out.
    """
    return trace.model_copy(update={"graph": draw_autograd(trace), "fx_graphs": draw_compiled(trace)})


def draw_compiled(trace: Trace) -> tuple[FxDrawing, ...]:
    """The graphs of `torch.compile`, as of `draw`."""
    try:
        return draw_fx_graphs(trace)
    except _FAULTS:
        log.exception("the compiled graphs of a trace could not be laid out")
        return ()


def draw_autograd(trace: Trace, *, most: int = MOST_NODES) -> GraphDrawing | None:
    """The graph of autograd, as of `draw`.

    Args:
        trace: The trace.
        most: Boxes in one picture.
    """
    try:
        return draw_graph(trace, most=most)
    except _FAULTS:
        log.exception("the graph of a trace could not be laid out")
        return None


def undrawn(trace: Trace) -> Trace:
    """A trace whose graph is said to be left out, as one that is too large to be laid out in time."""
    count = len({event.id for step in trace.steps for event in step.events if event.kind == "node"})
    graph = GraphDrawing(width=0, height=0, nodes=(), edges=(), omitted=count) if count else None
    return trace.model_copy(update={"graph": graph, "fx_graphs": ()})
