"""A question whose answer is computed from a recorded trace, never written by hand.

The reader predicts, locks in, and only then is the answer sent. Three things can be asked: which layers
a line lights, which layers of one name it changes, and which names share a tensor's storage.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

from ..schema import Layer, Trace
from ..schema.comparison import NEVER_COMPARED
from ..schema.replay import state_document, step_line

Kind = Literal["lamps", "changed", "sharing"]
LAYERS: tuple[Layer, ...] = get_args(Layer)


class QuestionInvalid(ValueError):
    """A question does not say what it asks, or asks what its trace cannot answer."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """A question about one line of a program. Texts are HTML, from the lesson's Markdown."""

    id: str
    """Unique in its lesson."""

    program: str
    """Name of the lesson's program it is about."""

    kind: Kind
    """What is asked."""

    line: int
    """The line whose effect is asked for."""

    hidden_from: int
    """The figure stops before this line until the reader locks in."""

    name: str | None
    """The name whose layers or storage are asked for."""

    choices: tuple[str, ...]
    """What the reader can tick: layers, or names."""

    ask: str
    """The question."""

    feedback: dict[str, str]
    """Per choice, why it is right or wrong."""

    explanation: str
    """Shown with the answer."""

    def reveal_step(self, trace: Trace) -> int:
        """The step after which the answer can be seen.

        Raises:
            QuestionInvalid: The line never ran.
        """
        return self._first_step(trace, self.line)

    def ask_step(self, trace: Trace) -> int:
        """The last step that gives nothing away.

        Raises:
            QuestionInvalid: The first hidden line never ran.
        """
        return self._first_step(trace, self.hidden_from) - 1

    def _first_step(self, trace: Trace, line: int) -> int:
        for number, step in enumerate(trace.steps, 1):
            if step_line(trace, step) == line:
                return number
        raise QuestionInvalid(f"question {self.id}: line {line} of {self.program} never ran")

    def answer(self, trace: Trace) -> tuple[str, ...]:
        """The right choices, in the order they are offered.

        Args:
            trace: The recorded trace of its program.

        Raises:
            QuestionInvalid: The trace does not hold what is asked.
        """
        step = self.reveal_step(trace)
        if self.kind == "lamps":
            right = set[str](trace.steps[step - 1].lamps)
        elif self.kind == "changed":
            right = set(trace.steps[step - 1].changed.get(self.name or "", ()))
        else:
            right = self._sharing(trace, step)
        return tuple(choice for choice in self.choices if choice in right)

    def _sharing(self, trace: Trace, step: int) -> set[str]:
        state = state_document(trace, step)
        missing = {self.name, *self.choices} - set(state.bindings)
        if missing:
            raise QuestionInvalid(f"question {self.id}: no tensor is called {missing} after line {self.line}")
        storage_of = {name: state.tensors[str(i)].storage for name, i in state.bindings.items()}
        return {name for name in self.choices if storage_of[name] == storage_of[self.name or ""]}


def question_of(identifier: str, fields: Any, render: Callable[[str], str]) -> Question:
    """Build a question from what its fence in the lesson says.

    Args:
        identifier: Its id.
        fields: The fence's YAML.
        render: Markdown → HTML.

    Raises:
        QuestionInvalid: A field is missing, unknown or of the wrong kind.
    """
    if not isinstance(fields, dict):
        raise QuestionInvalid(f"question {identifier}: it must be a list of `field: value`")
    known = {"program", "kind", "line", "hidden_from", "name", "choices", "ask", "feedback", "explanation"}
    if unknown := set(fields) - known:
        raise QuestionInvalid(f"question {identifier}: unknown fields {sorted(unknown)}")
    if missing := {"program", "kind", "line", "ask", "explanation"} - set(fields):
        raise QuestionInvalid(f"question {identifier}: missing fields {sorted(missing)}")
    if fields["kind"] not in get_args(Kind):
        raise QuestionInvalid(f"question {identifier}: kind must be one of {get_args(Kind)}")
    choices = LAYERS if fields["kind"] != "sharing" else tuple(map(str, fields.get("choices", ())))
    feedback = {str(choice): render(text) for choice, text in fields.get("feedback", {}).items()}
    if stray := set(feedback) - set(choices):
        raise QuestionInvalid(f"question {identifier}: feedback on {sorted(stray)}, which is no choice")
    line = int(fields["line"])
    return Question(
        id=identifier,
        program=str(fields["program"]),
        kind=fields["kind"],
        line=line,
        hidden_from=int(fields.get("hidden_from", line)),
        name=fields.get("name"),
        choices=choices,
        ask=render(fields["ask"]),
        feedback=feedback,
        explanation=render(fields["explanation"]),
    )


def until(trace: Trace, step: int) -> Trace:
    """The trace as if the program had stopped after `step` steps: what a reader may see before locking in.

    Raises:
        IndexError: There is no such step.
    """
    if not 0 <= step <= len(trace.steps):
        raise IndexError(f"There is no step {step}: the trace has steps 0 to {len(trace.steps)}.")
    if step == len(trace.steps):
        return trace
    outcome = trace.outcome.model_copy(
        update={
            "kind": "finished",
            "line": None,
            "type": None,
            "message": None,
            "reason": None,
            "limit": None,
            "range": None,
            "traceback": (),
            "failure": None,
        }
    )
    reached = {step_line(trace, each) for each in trace.steps[:step]}
    return trace.model_copy(
        update={
            "steps": trace.steps[:step],
            **_said_until(trace, step),
            "notes": tuple(note for note in trace.notes if note.line in reached),
            "outcome": outcome,
            "observer_effects": (),
            "comparison": NEVER_COMPARED,
            "explanation": None,
            "graph": _graph_until(trace, step),
        }
    )


def _said_until(trace: Trace, step: int) -> dict[str, Any]:
    """The sentences of the first steps, and no others: a later one may give an answer away."""
    said = trace.said[:step]
    used = sorted({i for numbers in said for i in numbers})
    place = {i: n for n, i in enumerate(used)}
    return {
        "sentences": tuple(trace.sentences[i] for i in used),
        "said": tuple(tuple(place[i] for i in numbers) for numbers in said),
    }


def _graph_until(trace: Trace, step: int) -> Any:
    if trace.graph is None:
        return None
    nodes = tuple(node for node in trace.graph.nodes if node.step <= step)
    kept = {node.node for node in nodes}
    edges = tuple(edge for edge in trace.graph.edges if {edge.source, edge.target} <= kept)
    return trace.graph.model_copy(update={"nodes": nodes, "edges": edges})
