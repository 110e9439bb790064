"""The autograd graph: nodes, their edges, and the tensors saved for backward.

Nodes are never removed by an event: a node is alive while a live tensor leads to it (`replay.py`).
"""

from typing import Any, Literal

from .base import Record


class SavedTensor(Record):
    """A tensor a node keeps for backward."""

    field: str
    """The node's name for it: `self`, `result`, `mat1`, `tensors[0]`."""

    tensor: int | None
    """Id of the saved tensor object; a saved output is an object of its own."""

    storage: int | None
    """The storage it views; equal ids are one memory, whatever their nodes."""

    version: int | None
    """The version it was saved at; backward refuses when it has moved on. Null when it has no counter."""


class GraphNode(Record):
    """A node of the autograd graph came to be known."""

    kind: Literal["node"]
    id: int
    """Stable within a trace."""

    name: int
    """Index into `names`: `type(grad_fn).__name__`."""

    line: int | None
    """First line of the statement that made it; null when it was there before it was seen."""

    next_functions: tuple[tuple[int | None, int], ...]
    """Where gradients flow: pairs of node id (null for none) and input number."""

    variable: int | None
    """For AccumulateGrad the id of its leaf; null otherwise."""

    saved: tuple[SavedTensor, ...]
    """Tensors kept for backward, in the order of the node's fields."""

    modules: tuple[int, ...] = ()
    """The modules during whose calls it was made, outermost first: indices into `names`, as in
    `model[0]: Linear`, or the class alone where no variable of the program leads to it."""


class SavedTensorChanged(Record):
    """A saved tensor's version moved away from the saved one, or came back."""

    kind: Literal["saved"]
    node: int
    """The node's id."""

    slot: int
    """Index into the node's `saved`."""

    stale: bool
    """True: backward through this node will raise."""


class SavedTensorsFreed(Record):
    """Nodes whose saved tensors were released, by a backward pass that did not retain the graph."""

    kind: Literal["saved-freed"]
    nodes: tuple[int, ...]
    """Ids of the nodes."""


class NodeRan(Record):
    """The ops that follow run in a backward pass, until the next event of this kind in the step."""

    kind: Literal["ran"]
    node: int | None
    """The node that the engine runs; null for what it does between nodes, as adding up the gradients that
    arrive at one, and for the program's hooks. A node that hands on what it gets runs no op."""

    task: int
    """Number of the backward pass, from 1: one may run inside another."""


class GradientSeen(Record):
    """A tensor as an op of a backward pass left it. Only some are read."""

    kind: Literal["gradient"]
    tensor: int
    """Id of the tensor."""

    values: Any
    """Its values as a nested list when it is small; null otherwise."""

    norm: float | str | None
    """The root of the sum of its squared values; null when it is too large to be read."""
