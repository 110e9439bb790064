"""Programs that a naive tracer gets wrong, by id, and what our trace of each says, in words too.

Each program is traced once, in a forked child: some of them change global state of torch. The tests beside
this file hold one sentence per program. Runs through the sandbox are in the tests that need one.
"""

import io
import json
from functools import cache
from pathlib import Path
from typing import Any

import torch._dynamo  # the forked children need it; importing it in each would cost a second  # noqa: F401
from rich.console import Console
from tensor_anatomy.explaining import explain
from tensor_anatomy.messages import Language, text_of
from tensor_anatomy.schema import Op, Trace, op_of
from tensor_anatomy.schema.replay import own_events, sentences_of, state_document, step_line
from tensor_anatomy.terminal import Manner, print_trace

from ..conftest import record
from ..tracing.children import in_child

PROGRAMS: dict[str, str] = {
    row["id"]: row["source"]
    for row in map(
        json.loads,
        (Path(__file__).parent.parent / "data" / "pitfalls.jsonl").read_text("utf-8").splitlines(),
    )
}
"""Id → source."""


def traced(program: str) -> Trace:
    """The trace of a program, given by its id or its source, explained."""
    return _traced(PROGRAMS.get(program, program))


@cache
def _traced(source: str) -> Trace:
    return explain(Trace.model_validate_json(in_child(lambda: record(source).model_dump_json(by_alias=True))))


def state(program: str, step: int | None = None) -> dict[str, Any]:
    """The state document after a step, the last one if None, as plain JSON data."""
    return state_of(traced(program), step)


def state_of(trace: Trace, step: int | None = None) -> dict[str, Any]:
    """The same of a trace."""
    return state_document(trace, step).model_dump(mode="json", by_alias=True)


def lines(trace: Trace) -> list[int]:
    """First lines of the statements executed, in the order their steps ended."""
    return [step_line(trace, step) for step in trace.steps]


def steps_of(trace: Trace, line: int) -> list[int]:
    """Numbers of the steps that executed the statement that begins on a line."""
    return [number for number, at in enumerate(lines(trace), 1) if at == line]


def ops(trace: Trace, step: int) -> list[Op]:
    """Aten ops of a step and of the calls it made, in order."""
    _, events = list(own_events(trace))[step - 1]
    return [op_of(trace, event) for event in events if event.kind == "op"]


def op_names(trace: Trace, step: int) -> list[str]:
    """Names of the aten ops of a step, as in `aten::mul_.Tensor`."""
    return [trace.names[op.op] for op in ops(trace, step)]


def said(trace: Trace, step: int, language: Language = "en") -> list[str]:
    """What a reader is told of a step, as plain text."""
    return [text_of(language, s.id, s.args) for s in sentences_of(trace, step)]


def noted(trace: Trace, language: Language = "en") -> list[tuple[int, str]]:
    """What a reader is told of a line beside its steps: line and text."""
    return [(note.line, text_of(language, note.sentence.id, note.sentence.args)) for note in trace.notes]


def printed(
    trace: Trace, language: Language = "en", step: int | None = None, *, verbose: bool = False
) -> str:
    """What a terminal shows."""
    out = io.StringIO()
    console = Console(file=out, width=200, force_terminal=False, color_system=None)
    print_trace(trace, console, Manner(language=language, step=step, verbose=verbose))
    return out.getvalue()
