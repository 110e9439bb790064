"""A trace: what a program did, statement by statement, and how it ended.

Delta-encoded: a step carries the events observed since the step before it ended. From any trace the
state after step k is a pure fold (`replay.py`). Steps are in the order they end: the lines inside a
call come before the line of the call. The child of the sandbox sends `Chunk`s; the server puts them
together and adds what it derives: explanation, notes, sentences, coordinates.
"""

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from .autograd import GradientSeen, GraphNode, NodeRan, SavedTensorChanged, SavedTensorsFreed
from .base import Layer, NameChange, Record, Sentence
from .circumstances import (
    BlockLeft,
    EntriesLeftOut,
    ExceptionRaised,
    OpsUnheard,
    ProcessForked,
    Resumed,
    SiteInside,
    ThreadRan,
    TracingTurnedOff,
)
from .comparison import NEVER_COMPARED, Comparison, Fingerprint, ObserverEffect
from .compiler import Compilation, CompiledRun, FxDrawing
from .devices import AllocatorFigures, Transfer
from .drawing import GraphDrawing
from .ops import ApiCall, DispatchRoute, OpCall, OpSite
from .storage import (
    StorageBytes,
    StorageFreed,
    StorageHeld,
    TensorsGone,
    TensorState,
    TensorTraits,
    TensorValues,
    TensorView,
    UntypedStorage,
)
from .tiles import StorageTiles


class Environment(Record):
    """What ran the program."""

    torch: str
    """`torch.__version__`."""

    python: str
    """Version of Python."""

    device: str
    """The device programs may use besides the CPU: `cpu` for none, `cuda`, `simulated-cuda`; of a script of
    one's own also `mps`."""

    simulated: bool
    """The device is simulated."""

    seed: int | None
    """Seed of the random generators; None when nobody set one, as for a script of one's own."""


class SourceRange(Record):
    """A piece of the program. Lines from 1, columns from 0 in characters, the end exclusive."""

    line: int
    """First line."""

    column: int
    """First column."""

    end_line: int
    """Last line."""

    end_column: int
    """Column after the last."""


class Statement(Record):
    """A statement of the program. A compound statement owns its header only."""

    kind: str
    """Class of its syntax tree node: `Assign`, `For`, `ExceptHandler`."""

    range: SourceRange
    """Where it stands."""


class NamesBound(Record):
    """What a name of a frame leads to, whenever that changed. No paths: it leads to no tensor any more."""

    kind: Literal["names"]
    frame: int
    """0 for the module's globals, else the frame's id."""

    root: str
    """The variable."""

    paths: dict[str, int]
    """Python expressions that start with the variable, each with the id of the tensor it gives."""


class FrameEntered(Record):
    """A function of the program was called."""

    kind: Literal["call"]
    frame: int
    """Id of the new frame."""

    function: str
    """Its qualified name."""


class FrameLeft(Record):
    """A function returned, yielded for good, or was left by an exception."""

    kind: Literal["return"]
    frame: int
    """Id of the frame."""


class StdoutWritten(Record):
    """The program printed; stderr is merged in."""

    kind: Literal["stdout"]
    text: str
    """Lone surrogates are escaped with backslashes."""


class WarningIssued(Record):
    """A warning was shown."""

    kind: Literal["warning"]
    line: int | None
    """Line of the program it points at; null when it points elsewhere."""

    category: str
    """Class of the warning."""

    message: str
    """Its text."""


Event = Annotated[
    UntypedStorage
    | StorageBytes
    | StorageTiles
    | StorageFreed
    | StorageHeld
    | TensorState
    | TensorValues
    | TensorTraits
    | TensorsGone
    | OpCall
    | ApiCall
    | GraphNode
    | SavedTensorChanged
    | SavedTensorsFreed
    | NodeRan
    | GradientSeen
    | Transfer
    | AllocatorFigures
    | NamesBound
    | FrameEntered
    | FrameLeft
    | StdoutWritten
    | WarningIssued
    | BlockLeft
    | Resumed
    | ExceptionRaised
    | ThreadRan
    | ProcessForked
    | OpsUnheard
    | TracingTurnedOff
    | EntriesLeftOut
    | SiteInside
    | Compilation
    | CompiledRun,
    Field(discriminator="kind"),
]
"""Anything observed."""


class Fold(Record):
    """Iterations of a loop that were not kept one by one."""

    loop: int | None
    """The statement that heads the loop, as an index into `statements`. Null for calls that one statement
    makes again and again, and for what repeats without either, as a recursion does."""

    first: int
    """Number of the first of them, from 1."""

    last: int
    """Number of the last."""


class Step(Record):
    """One execution of one statement, or many of them folded."""

    statement: int
    """Index into `statements`."""

    frame: int
    """The frame it ran in; 0 for the module."""

    depth: int
    """Calls of the program's own functions around it."""

    began: int
    """How many steps had ended when it began."""

    first_event: int
    """Where its own events begin, counted from the first event of the trace. Events of the steps in between
    belong to calls it made, and so to it as well."""

    executions: int
    """1; of a folded step, how often the statement was executed in the iterations that were folded."""

    fold: Fold | None
    """The iterations it stands for, each statement of theirs with one step; null for a step of one execution.
    The last of these steps holds the events that count after all of them."""

    raised: bool
    """It was left by an exception."""

    changed: dict[str, tuple[NameChange, ...]]
    """What it did to the names of its frame."""

    lamps: tuple[Layer, ...]
    """The layers it touched."""

    peak_bytes: dict[str, int]
    """Most bytes alive at once during the step, per device."""

    events: tuple[Event, ...]
    """What was observed since the step before it ended."""


class Operand(Record):
    """An argument of a call that failed."""

    tensor: int | None
    """Id of the tensor; null when it is not one."""

    name: str | None
    """The reader's name or expression for it; null when it has none."""

    text: str
    """Its shape and dtype, or its value."""


class Failure(Record):
    """What was being done when the program raised: facts, no explanation."""

    api: str | None
    """The API call."""

    op: str | None
    """The aten op, when one had been dispatched."""

    operands: tuple[Operand, ...]
    """Its arguments."""

    node: str | None
    """The backward node that was running."""


class Outcome(Record):
    """How a run ended. A program that raises, loops or crashes is a result."""

    kind: Literal["finished", "raised", "stopped", "crashed"]
    """`stopped` is a limit of ours; `crashed` a process that died or whose bytes made no sense."""

    line: int | None
    """Innermost line of the program in the traceback, or the line that was running."""

    type: str | None
    """Class of the exception."""

    message: str | None
    """Its text, or what happened in one sentence."""

    reason: (
        Literal[
            "time-limit",
            "step-limit",
            "memory-limit",
            "output-limit",
            "denied",
            "signal",
            "invalid-reply",
        ]
        | None
    )
    """Why, when the sandbox was the cause."""

    limit: str | None
    """The limit that was met, with its value, in words."""

    range: SourceRange | None
    """The sub-expression that raised."""

    traceback: tuple[int, ...]
    """Lines of the program in the traceback, outermost first."""

    failure: Failure | None
    """What was being done."""


class Edit(Record):
    """A change of the program's text, on one line of it."""

    range: SourceRange
    """What is replaced; nothing, where it begins and ends at one place."""

    text: str
    """What stands there instead. It may hold line breaks."""


class Fix(Record):
    """A change of the program that an explanation offers."""

    kind: str
    """Says what it does: a message `ui.compare.fix.<kind>` words it."""

    edits: tuple[Edit, ...]
    """In no order; they do not overlap."""


class Explanation(Record):
    """Why a program failed, from the facts of its trace."""

    class_: str = Field(alias="class")
    """The class of error: `saved-tensor-modified`, `view-stride`, `matmul-shape` and so on."""

    line: int | None
    """The line that raised."""

    caused_by: int | None
    """The line that made it fail, when it is another one."""

    operands: tuple[str, ...]
    """Names of the tensors concerned."""

    sentences: tuple[Sentence, ...]
    """The explanation and what to do."""

    fixes: tuple[Fix, ...] = ()
    """Changes that may keep it from failing so, the likeliest first. None of them has been tried."""


class Note(Record):
    """A quiet mistake that was noticed."""

    line: int
    """Where."""

    class_: str = Field(alias="class")
    """The class of mistake."""

    sentence: Sentence
    """What it is."""

    fix: Fix | None = None
    """A change that would undo it."""


class Opening(Record):
    """The first chunk of a run."""

    kind: Literal["opening"]
    environment: Environment
    """What runs the program."""

    statements: tuple[Statement, ...]
    """Its statements."""


class Steps(Record):
    """Steps that ended, with the rows they add to the tables."""

    kind: Literal["steps"]
    names: tuple[str, ...]
    """New rows of `names`."""

    views: tuple[TensorView, ...]
    """New rows of `views`."""

    ranges: tuple[SourceRange, ...]
    """New rows of `ranges`."""

    sites: tuple[OpSite, ...]
    """New rows of `sites`."""

    routes: tuple[DispatchRoute, ...] = ()
    """New rows of `routes`."""

    steps: tuple[Step, ...]
    """The steps."""

    running: int | None
    """Index of the statement that begins now; null when none does. Where a crash happened."""


class Closing(Record):
    """The last chunk of a run."""

    kind: Literal["closing"]
    events: tuple[Event, ...]
    """What was observed after the last step ended; part of that step."""

    outcome: Outcome
    """How it ended."""

    fingerprint: Fingerprint | None
    """The final state in a form that can be compared with that of another run; null when nothing ran."""


Chunk = Annotated[Opening | Steps | Closing, Field(discriminator="kind")]
"""What the child of the sandbox sends, as it goes."""


class Trace(Record):
    """A whole run."""

    schema_version: Literal[1]
    """Version of this format."""

    source: str
    """The program, as it was run."""

    environment: Environment
    """What ran it."""

    statements: tuple[Statement, ...]
    """Its statements."""

    names: tuple[str, ...]
    """Names of API calls, aten ops and graph nodes; events hold indices."""

    views: tuple[TensorView, ...]
    """How tensors look at their storages; events hold indices."""

    ranges: tuple[SourceRange, ...]
    """Sub-expressions; events hold indices."""

    sites: tuple[OpSite, ...]
    """Ops at their places in the program; events hold indices."""

    routes: tuple[DispatchRoute, ...] = ()
    """Ways of ops through the dispatcher; sites hold indices."""

    steps: tuple[Step, ...]
    """In the order they ended; step 1 is the first of them."""

    outcome: Outcome
    """How it ended."""

    observer_effects: tuple[ObserverEffect, ...]
    """What watching changed."""

    comparison: Comparison
    """Whether it was held against a run that nobody watched, and what that run had instead."""

    explanation: Explanation | None
    """Why it failed. Derived."""

    notes: tuple[Note, ...]
    """Quiet mistakes. Derived."""

    sentences: tuple[Sentence, ...]
    """Sentences about steps, each once: a loop says the same again and again. Derived."""

    said: tuple[tuple[int, ...], ...]
    """What changed, per step: indices into `sentences`, at least one per layer. Derived."""

    graph: GraphDrawing | None
    """Coordinates of the final autograd graph; null when there is none. Derived."""

    fx_graphs: tuple[FxDrawing, ...] = ()
    """Coordinates of the graphs that `torch.compile` made. Derived."""

    @property
    def is_final(self) -> bool:
        """Nothing more is to come: it is not being held against an unobserved run just now."""
        return self.comparison.state != "pending"

    @model_validator(mode="before")
    @classmethod
    def _older(cls, data: Any) -> Any:
        """A trace recorded before traces were compared says that it was not."""
        if isinstance(data, dict) and "comparison" not in data:
            return {**data, "comparison": NEVER_COMPARED}
        return data
