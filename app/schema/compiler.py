"""What `torch.compile` did: which function it captured, as which graphs, under which guards, and why again.

A compiled function runs as one step: its graph has no lines. What was captured is told here, once per
compilation; each later run only names the compilation it uses. A graph break cuts a function in two, and
the rest of it is a compilation of its own.
"""

from typing import Literal

from .base import Record
from .drawing import GraphDrawing

GraphStage = Literal["captured", "joint", "forward", "backward", "inference"]
"""What a graph is: as dynamo captured it from Python, or what AOTAutograd made of that."""


class FxNode(Record):
    """A node of an FX graph."""

    name: str
    """Its name in the graph: `mul`, `l_x_`."""

    op: Literal["placeholder", "call_function", "call_method", "call_module", "get_attr", "output"]
    """What FX calls its kind."""

    target: str
    """What it calls, or where it comes from: `operator.mul`, `Tensor.relu`, `aten.mul.Tensor`, `self.w`."""

    arguments: str
    """Its arguments as text, other nodes by name."""

    inputs: tuple[int, ...]
    """The nodes among its arguments, as indices into `nodes`."""

    shape: tuple[int | str, ...] | None
    """Shape of its result as the compiler knew it; symbolic sizes as texts. Null when that is no tensor."""

    dtype: str | None
    """Dtype of its result, or the type of a result that is no tensor; null when unknown."""

    line: int | None
    """Line of the program that it was captured from; null when PyTorch does not say."""


class FxGraph(Record):
    """An FX graph."""

    stage: GraphStage
    """What it is."""

    calls: int
    """Nodes that call something, those left out included."""

    nodes: tuple[FxNode, ...]
    """Its nodes, in order."""

    omitted: int
    """Nodes left out because the graph is too large."""


class Guard(Record):
    """What must hold for a compiled graph to be used again."""

    what: Literal["tensor", "value", "length", "type", "identity", "size", "alias", "other"]
    """What it checks: all of a tensor's metadata, a value, the length of a container, a class, that it is the
    same object, a relation of sizes, that two arguments are the same."""

    source: str
    """The variable it checks, as an expression of the compiled function; empty when there is none."""

    scope: Literal["local", "global"] | None
    """Where the variable lives; null when it is neither."""

    text: str
    """What must hold."""


class GraphBreak(Record):
    """A place where dynamo could not go on, so that the graph ends."""

    line: int | None
    """Line of the program; null when it lies elsewhere."""

    type: str
    """PyTorch's name for this kind of break."""

    reason: str
    """PyTorch's explanation."""

    hints: tuple[str, ...]
    """What PyTorch says can be done."""


class FailedGuard(Record):
    """Why a graph that was there could not be used."""

    graph: str
    """Id of its compilation."""

    what: Literal[
        "size", "stride", "rank", "dtype", "requires-grad", "value", "length", "type", "mode", "other"
    ]
    """What differed; a mode is one of PyTorch's own, as `torch.no_grad` or autocast."""

    source: str | None
    """The variable, as an expression of the compiled function; the modes that differed."""

    index: int | None
    """The dimension, when a size or a stride differed."""

    expected: str | None
    """What the graph was compiled for; null when it is not known."""

    actual: str | None
    """What came; null when it is not known."""

    text: str
    """PyTorch's words."""


class Compilation(Record):
    """Dynamo compiled a function, or tried to."""

    kind: Literal["compiled"]
    id: str
    """PyTorch's id of the compilation: `0/1` is the second one of the first function."""

    function: str
    """Name of the function."""

    line: int | None
    """First line of the function; for the rest of one, where it goes on. Null when it is a library's."""

    resumes: bool
    """It is the rest of a function, after a graph break."""

    backend: str | None
    """Name of the backend; null when unknown."""

    outcome: Literal["graph", "no-graph", "skipped", "eager", "failed"]
    """A graph; a function without anything to capture; not compiled by PyTorch's choice; run as written,
    because it could not be compiled; an error that the program got."""

    reason: str | None
    """Why there is no graph, as PyTorch says."""

    graphs: tuple[FxGraph, ...]
    """The captured graph, then what AOTAutograd made of it, if it was asked."""

    breaks: tuple[GraphBreak, ...]
    """Where its graph ends too early."""

    guards: tuple[Guard, ...]
    """What is checked before its graph is used again: what depends on the program's own variables."""

    guard_count: int
    """All guards that PyTorch counts, those on its own modules and modes included."""

    recompiled: tuple[FailedGuard, ...]
    """Why graphs that were there could not be used, the newest first; none for a first compilation."""


class CompiledRun(Record):
    """Compiled code ran: all guards of its compilation held."""

    kind: Literal["compiled-run"]
    compilation: str
    """Id of the compilation."""

    again: bool
    """It had run before: its graph came from the cache."""


class FxDrawing(Record):
    """Coordinates of one FX graph. Derived."""

    compilation: str
    """Id of the compilation."""

    step: int
    """The step in which it was compiled, from 1."""

    stage: GraphStage
    """Which graph."""

    drawing: GraphDrawing
    """Boxes and edges; a box's `node` is the index of an FX node, and edges go from it to its users."""
