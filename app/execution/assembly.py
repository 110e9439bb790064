"""Chunks → a trace: in order, checked, complete or cut short at any point.

Whatever is wrong with a chunk, the chunks before it stand. Fields that are derived
from a trace (explanation, notes, sentences, graph) are left empty: roots fill them.
"""

from ..errors import ReplyInvalid
from ..schema import (
    SCHEMA_VERSION,
    Chunk,
    Closing,
    DispatchRoute,
    Environment,
    Event,
    Opening,
    OpSite,
    Outcome,
    SourceRange,
    Statement,
    StdoutWritten,
    Step,
    Steps,
    TensorView,
    Trace,
)
from ..schema.comparison import not_compared
from .references import References


class Assembly:
    """A trace in the making."""

    def __init__(self, source: str, environment: Environment) -> None:
        self._source = source
        self._environment = environment
        self._statements: tuple[Statement, ...] = ()
        self._names: list[str] = []
        self._views: list[TensorView] = []
        self._ranges: list[SourceRange] = []
        self._sites: list[OpSite] = []
        self._routes: list[DispatchRoute] = []
        self._steps: list[Step] = []
        self._running: int | None = None
        self._references: References | None = None
        self.closing: Closing | None = None

    def add(self, chunk: Chunk) -> None:
        """Take the next chunk.

        Raises:
            ReplyInvalid: It does not belong here, or refers to what is not there.
        """
        if self.closing is not None:
            raise ReplyInvalid("something follows the last chunk")
        if (self._references is None) != (chunk.kind == "opening"):
            raise ReplyInvalid(f"a chunk of kind {chunk.kind!r} is out of place")
        match chunk:
            case Opening():
                self._references = References(self._source, chunk.statements)
                self._environment, self._statements = chunk.environment, chunk.statements
            case Steps():
                self._add_steps(chunk)
            case Closing():
                assert self._references is not None
                self._references.check_last(chunk)
                self.closing = chunk

    def _add_steps(self, chunk: Steps) -> None:
        assert self._references is not None
        self._references.check(chunk)
        self._names += chunk.names
        self._views += chunk.views
        self._ranges += chunk.ranges
        self._sites += chunk.sites
        self._routes += chunk.routes
        self._steps += chunk.steps
        self._running = chunk.running

    @property
    def running_line(self) -> int | None:
        """The line that was running when the last steps were sent."""
        return None if self._running is None else self._statements[self._running].range.line

    def trace(self, outcome: Outcome, late_output: str) -> Trace:
        """The trace so far.

        Args:
            outcome: How the run ended.
            late_output: What was written past Python, by C code or a forgotten flush. It
                belongs to no step that we know of, so it ends the last one's output.
        """
        late: list[Event] = [] if self.closing is None else list(self.closing.events)
        if late_output:
            late.append(StdoutWritten(kind="stdout", text=late_output))
        steps = tuple(self._steps)
        if late and steps:
            last = steps[-1].model_copy(update={"events": (*steps[-1].events, *late)})
            steps = (*steps[:-1], last)
        return Trace(
            schema_version=SCHEMA_VERSION,
            source=self._source,
            environment=self._environment,
            statements=self._statements,
            names=tuple(self._names),
            views=tuple(self._views),
            ranges=tuple(self._ranges),
            sites=tuple(self._sites),
            routes=tuple(self._routes),
            steps=steps,
            outcome=outcome,
            observer_effects=(),
            comparison=not_compared("off"),
            explanation=None,
            notes=(),
            sentences=(),
            said=(),
            graph=None,
        )
