"""What `torch.compile` did in a step, in sentences; and compiled programs that quietly gain nothing.

PyTorch's own words are quoted where they say what happened; what to do about a graph break is ours, for the
kinds that people meet.
"""

import re
from collections.abc import Iterator

from ..schema import Compilation, CompiledRun, FailedGuard, GraphBreak, Note, Sentence
from .chronicle import Chronicle
from .moment import Moment
from .program import Program
from .wording import say

RECOMPILE_LIMIT = "recompile limit"
_MANY = 3
_MOST_SAID = 8
_KINDS = (
    ("print", re.compile(r"builtin operator `print`|logging")),
    ("branch", re.compile(r"data-dependent|Data-dependent", re.IGNORECASE)),
    ("item", re.compile(r"\bitem\b|\.tolist|scalar", re.IGNORECASE)),
    ("disabled", re.compile(r"torch\.compiler\.disable|_dynamo\.disable|disable\(\)", re.IGNORECASE)),
    ("asked", re.compile(r"torch\._dynamo\.graph_break")),
    ("numpy", re.compile(r"numpy", re.IGNORECASE)),
    ("builtin", re.compile(r"builtin|C/C\+\+|skipped|inline", re.IGNORECASE)),
)
"""Kinds of graph breaks that have advice of ours, by PyTorch's name and reason."""


def compiler_sentences(moment: Moment) -> list[Sentence]:
    """What was compiled in a step, and which compiled code ran."""
    chronicle = moment.chronicle
    said: list[Sentence] = []
    fresh: set[str] = set()
    for event in chronicle.circumstances.get(moment.number, ()):
        if isinstance(event, Compilation):
            fresh.add(event.id)
            said += _compiled(event)
        elif isinstance(event, CompiledRun) and event.compilation not in fresh:
            said += _ran(chronicle, event)
    each = {repr((sentence.id, sentence.args)): sentence for sentence in said}
    return list(each.values())[:_MOST_SAID]


def _compiled(event: Compilation) -> Iterator[Sentence]:
    about = {"function": event.function, "part": _part(event), "line": event.line}
    if event.recompiled:
        yield _again(event, event.recompiled)
    match event.outcome:
        case "graph":
            yield say(
                None,
                "compiled.graph",
                **about,
                backend=event.backend or "?",
                n=event.graphs[0].calls if event.graphs else 0,
                guards=event.guard_count,
                id=event.id,
            )
            if any(graph.stage == "backward" for graph in event.graphs):
                yield say(None, "compiled.backward", function=event.function, n=_backward_calls(event))
        case "no-graph":
            yield say(None, "compiled.no-graph", **about)
        case "skipped":
            yield say(None, "compiled.skipped", **about, reason=event.reason or "none")
        case "eager":
            yield say(None, "compiled.eager", **about, reason=_reason(event))
        case "failed":
            yield say(None, "compiled.failed", **about, backend=event.backend or "?")
    for each in event.breaks:
        yield _broke(each, "rest" if event.outcome in ("graph", "no-graph") else "stop")


def _part(event: Compilation) -> str:
    return "rest" if event.resumes else "whole"


def _backward_calls(event: Compilation) -> int:
    return next(graph.calls for graph in event.graphs if graph.stage == "backward")


def _reason(event: Compilation) -> str:
    """Why a function runs as written; where its graph would break says so itself."""
    return "none" if event.breaks else (event.reason or "none").partition(": ")[2] or event.reason or "none"


def _broke(event: GraphBreak, then: str) -> Sentence:
    kind = break_kind(event)
    hint = event.hints[0] if event.hints and kind == "other" else "none"
    line = "none" if event.line is None else event.line
    return say(None, "compiled.break", line=line, then=then, reason=event.reason, advice=kind, hint=hint)


def break_kind(event: GraphBreak) -> str:
    """Which advice of ours fits a graph break; `other` for none."""
    text = f"{event.type} {event.reason}"
    return next((kind for kind, pattern in _KINDS if pattern.search(text)), "other")


def _again(event: Compilation, failed: tuple[FailedGuard, ...]) -> Sentence:
    first = failed[0]
    return say(
        None,
        "compiled.recompiled",
        function=event.function,
        what=first.what,
        source=first.source or "?",
        index="none" if first.index is None else str(first.index),
        expected=first.expected or "?",
        actual=first.actual or "none",
        text=first.text,
        others=len(failed) - 1,
    )


def _ran(chronicle: Chronicle, event: CompiledRun) -> Iterator[Sentence]:
    compilation = chronicle.compilations.get(event.compilation)
    if compilation is None or compilation.outcome != "graph":
        return
    yield say(
        None,
        "compiled.ran",
        function=compilation.function,
        part=_part(compilation),
        line=compilation.line,
        n=compilation.graphs[0].calls,
        id=event.compilation,
        again="again" if event.again else "first",
    )


def compiled_for_nothing(program: Program) -> Iterator[Note]:
    """Functions that are compiled over and over, or not any more."""
    compiled: dict[str, list[tuple[int, Compilation]]] = {}
    for number, events in program.chronicle.circumstances.items():
        for event in events:
            if isinstance(event, Compilation):
                key = event.id.rpartition("/")[0]
                compiled.setdefault(key, []).append((program.chronicle.line_of_step(number), event))
    for attempts in compiled.values():
        line, last = attempts[-1]
        again = [event for _, event in attempts if event.recompiled]
        if last.outcome == "eager" and RECOMPILE_LIMIT in (last.reason or ""):
            said = say(None, "note.recompile-limit", function=last.function, n=len(attempts) - 1)
            yield Note(line=line, class_="recompile-limit", sentence=said)
        elif len(again) >= _MANY:
            sources = list(dict.fromkeys(e.recompiled[0].source or "?" for e in again))
            said = say(None, "note.recompiles", function=last.function, n=len(again), sources=sources)
            yield Note(line=line, class_="recompiles", sentence=said)
