"""The state document: everything about a program after one step, as one JSON object.

It is what checks from outside and every view agree on. Built from a trace by `replay.py`.
"""

from typing import Any, Literal

from pydantic import Field

from .base import Layer, NameChange, Record
from .comparison import ObserverEffect
from .storage import TensorTrait
from .trace import Environment


class StateOutcome(Record):
    """How the run ended."""

    kind: Literal["finished", "raised", "stopped", "crashed"]
    """How."""

    line: int | None
    """Innermost line of the program in the traceback."""

    type: str | None
    """Class of the exception."""

    message: str | None
    """Its text."""

    reason: str | None
    """The limit or the sandbox's refusal, if that was the cause."""

    explanation: dict[str, Any] | None
    """`class`, `line`, `caused_by`, `operands` and the message ids of its sentences."""


class StateWarning(Record):
    """A warning."""

    line: int | None
    """The line it points at."""

    category: str
    """Its class."""

    message: str
    """Its text."""


class StateNote(Record):
    """A quiet mistake."""

    line: int
    """Where."""

    class_: str = Field(alias="class")
    """What."""


class StateTensor(Record):
    """A tensor."""

    storage: int | None
    """Id of the storage it views."""

    shape: tuple[int, ...] | None
    """Sizes."""

    stride: tuple[int, ...] | None
    """Elements to skip per dimension."""

    storage_offset: int | None
    """Elements from the start of the storage."""

    dtype: str
    """Data type."""

    layout: str
    """Layout."""

    device: str
    """Device."""

    is_contiguous: bool | None
    """`is_contiguous()`."""

    is_conj: bool
    """Conjugate bit."""

    is_neg: bool
    """Negative bit."""

    requires_grad: bool
    """Recorded by autograd."""

    is_leaf: bool | None
    """A leaf of the graph."""

    grad_fn: int | None
    """Node that made it."""

    grad: int | None
    """Id of the tensor in `.grad`."""

    version: int | None
    """Version counter."""

    values: Any
    """Nested list; null when large, unreadable or not recorded at this step."""

    traits: tuple[TensorTrait, ...]
    """What the other fields do not say, as message ids `trait.<id>` with their arguments."""

    unobserved: bool
    """The values are those of the unobserved run, because watching changed them."""


class StateStorage(Record):
    """An untyped storage."""

    nbytes: int
    """Size in bytes."""

    address: str
    """`data_ptr()` in hexadecimal."""

    device: str
    """Where its bytes are."""

    freed: bool
    """Its bytes were given back."""

    freed_line: int | None
    """The line that freed it."""

    held_by: tuple[str, ...]
    """Who keeps it alive."""


class StateSaved(Record):
    """A saved tensor of a node."""

    field: str
    """The node's name for it."""

    storage: int | None
    """The storage it views."""

    version: int | None
    """The version it was saved at."""

    stale: bool
    """Its version has moved on: backward will raise."""

    freed: bool
    """It was released."""

    scalar: str | None
    """The number it was made from, as in `w * 2`; null when it was a tensor all along."""


class StateNode(Record):
    """A node of the autograd graph that a live tensor leads to."""

    name: str
    """`type(grad_fn).__name__`."""

    line: int | None
    """The line that made it."""

    next_functions: tuple[tuple[int | None, int], ...]
    """Node id and input number of each edge."""

    variable: int | None
    """The leaf of an AccumulateGrad."""

    saved: tuple[StateSaved, ...]
    """What it keeps for backward."""


class StateBytes(Record):
    """Bytes per device."""

    alive: dict[str, int]
    """Now."""

    peak: dict[str, int]
    """Most so far."""


class StateDocument(Record):
    """A program after step `step`."""

    schema_version: Literal[1]
    """Version of this format."""

    environment: Environment
    """What ran the program."""

    step: int
    """The step; 0 is before the first."""

    steps: int
    """How many there are."""

    line: int | None
    """First line of the step's statement."""

    outcome: StateOutcome
    """How the run ended, whatever the step."""

    stdout: str
    """Printed so far."""

    warnings: tuple[StateWarning, ...]
    """Warned so far."""

    notes: tuple[StateNote, ...]
    """Quiet mistakes noticed so far."""

    observer_effects: tuple[ObserverEffect, ...]
    """What watching changed."""

    bindings: dict[str, int]
    """Global names, each with its tensor's id."""

    locals: dict[str, int]
    """Names of the innermost function, empty outside one."""

    tensors: dict[str, StateTensor]
    """Live tensors by id."""

    storages: dict[str, StateStorage]
    """Storages by id, freed ones too."""

    nodes: dict[str, StateNode]
    """Graph nodes that live tensors lead to, by id."""

    changed: dict[str, dict[str, tuple[NameChange, ...]]]
    """Line → name → what was done to it, by all executions so far."""

    lamps: dict[str, tuple[Layer, ...]]
    """Line → layers touched."""

    ops: dict[str, tuple[str, ...]]
    """Line → aten ops, in order, all executions."""

    bytes: StateBytes
    """Memory."""
