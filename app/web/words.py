"""The words a page carries for its script: of the catalogue, those it can come to say.

What a recorded run will say is known beforehand, and an embed is to be light. Templates have words of
their own (`languages`); how a message is put together is in `messages`.
"""

import re
from collections.abc import Iterator

from ..messages import Language, catalogue
from ..schema import Outcome, Trace
from ..schema.traits import overlap

_NOT_IN_PAGES = ("terminal.", "cli.")
_FOR_PROGRAMS_NOT_RUN_YET = (
    "ui.allocator.",
    "ui.analyse.",
    "ui.backward.",
    "ui.calls.",
    "ui.changes.changed",
    "ui.changes.names",
    "ui.changes.ops",
    "ui.changes.output",
    "ui.code.legend",
    "ui.compare.",
    "ui.compiled.",
    "ui.controls.first",
    "ui.controls.last",
    "ui.controls.pause",
    "ui.controls.play",
    "ui.controls.speed",
    "ui.device.",
    "ui.devices.",
    "ui.dispatch.",
    "ui.edges.",
    "ui.editor.",
    "ui.examples.",
    "ui.fold.",
    "ui.graph.large",
    "ui.graph.map",
    "ui.guide.",
    "ui.held.",
    "ui.help.analyse",
    "ui.help.difference",
    "ui.help.graph",
    "ui.help.guide",
    "ui.help.held",
    "ui.help.into",
    "ui.help.lens",
    "ui.help.open-line",
    "ui.help.out",
    "ui.help.over",
    "ui.help.run",
    "ui.help.text",
    "ui.help.turns",
    "ui.help.writes",
    "ui.keys.",
    "ui.ladder.",
    "ui.ledger.",
    "ui.lens.",
    "ui.life.",
    "ui.memory.noTiles",
    "ui.memory.ofTile",
    "ui.memory.tile",
    "ui.node.",
    "ui.ops.",
    "ui.outcome.go-call",
    "ui.output.",
    "ui.problem.",
    "ui.question.",
    "ui.rule.",
    "ui.run.",
    "ui.share.",
    "ui.step.exit",
    "ui.step.iterations",
    "ui.step.number",
    "ui.step.pass",
    "ui.step.resumed",
    "ui.step.times",
    "ui.text.",
    "ui.timeline.",
    "ui.verdict.",
)
_OF_NO_FIGURE = (
    "ui.analyse.",
    "ui.compare.",
    "ui.editor.",
    "ui.examples.",
    "ui.guide.",
    "ui.problem.",
    "ui.question.",
    "ui.run.",
)
_OF_LESSONS = ("ui.player.not-loaded", "ui.question.")
_ON_A_PRESS = ("ui.analyse.", "ui.compare.", "ui.lens.")
_BEFORE_THE_PRESS = re.compile(r"ui\.(analyse|compare)\.(button|fix)\b.*|ui\.lens\.(label|\w+\.about)")
_ENDS = {
    "crashed",
    "denied",
    "invalid-reply",
    "memory-limit",
    "output-limit",
    "raised",
    "signal",
    "step-limit",
    "stopped",
    "time-limit",
}
_OF_RUNS_CUT_SHORT = {"busiest", "crashed-line", "kept"}


def words_of_pages(language: Language) -> dict[str, str]:
    """All messages that some page can show."""
    return {id: text for id, text in catalogue(language).items() if not id.startswith(_NOT_IN_PAGES)}


def words_of_playground(language: Language) -> dict[str, str]:
    """Those without what only lessons and embeds can show, and what the charts say once they are opened."""
    charts = words_of_charts(language)
    return {
        id: text
        for id, text in words_of_pages(language).items()
        if not id.startswith(_OF_LESSONS) and id not in charts
    }


def words_of_charts(language: Language) -> dict[str, str]:
    """What charts, lenses and two programs side by side say, which comes with them."""
    words = catalogue(language)
    lenses = {
        id.removesuffix(".about") for id in words if id.startswith("ui.lens.") and id.endswith(".about")
    }
    return {
        id: text
        for id, text in words.items()
        if id.startswith(_ON_A_PRESS) and not _BEFORE_THE_PRESS.fullmatch(id) and id not in lenses
    }


def words_of_figures(language: Language) -> dict[str, str]:
    """What a player with all its features can say beside the sentences of its trace."""
    return {
        id: text
        for id, text in words_of_pages(language).items()
        if id.startswith("ui.") and not id.startswith(_OF_NO_FIGURE)
    }


def words_of_recording(trace: Trace, language: Language) -> dict[str, str]:
    """The messages that a player of this trace, and of no other, can show."""
    said = {*_sentences(trace), *_traits(trace)}
    unsaid = set(_unsaid(trace))
    return {
        id: text
        for id, text in words_of_pages(language).items()
        if id in said
        or (
            id.startswith(("ui.", "list.", "origin."))
            and not id.startswith(_FOR_PROGRAMS_NOT_RUN_YET)
            and not _is_of_another_end(id, trace.outcome)
            and id not in unsaid
        )
    }


def _is_of_another_end(id: str, outcome: Outcome) -> bool:
    if not id.startswith("ui.outcome."):
        return False
    end = id.rpartition(".")[2]
    if end in _OF_RUNS_CUT_SHORT:
        return outcome.kind in ("finished", "raised")
    return end in _ENDS and end not in (outcome.kind, outcome.reason)


def _unsaid(trace: Trace) -> Iterator[str]:
    """What is never said of a trace like this one."""
    events = [event for step in trace.steps for event in step.events]
    devices = {event.device for event in events if event.kind == "storage"}
    if not trace.observer_effects:
        yield from ("ui.graph.plain", "ui.memory.unobserved", "ui.outcome.observed")
    if trace.graph is None or trace.graph.omitted == 0:
        yield "ui.graph.omitted"
    if trace.graph is not None:
        yield from ("ui.graph.none", "ui.graph.none-ran", "ui.graph.none-recorded")
    if len(devices) < 2:
        yield "ui.memory.willCopy"
    if "meta" not in devices:
        yield from ("ui.memory.metaLane", "ui.memory.metaValue")
    if all(view.layout == "torch.strided" for view in trace.views):
        yield "ui.memory.noStorage"
    summaries = [event.summary for event in events if event.kind == "values" and event.summary is not None]
    if all(summary.looked_at == summary.elements for summary in summaries):
        yield "ui.memory.sampled"
    if not summaries:
        yield "ui.memory.summary"


def _traits(trace: Trace) -> Iterator[str]:
    """Labels of what the trace's tensors are beside their views."""
    for step in trace.steps:
        for event in step.events:
            if event.kind == "traits":
                yield from (f"trait.{trait.id}" for trait in event.traits)
            elif event.kind == "tensor" and event.quantizer is not None:
                yield "trait.quantized"
    if any(overlap(view) for view in trace.views):
        yield "trait.overlap"


def _sentences(trace: Trace) -> Iterator[str]:
    yield from (sentence.id for sentence in trace.sentences)
    yield from (note.sentence.id for note in trace.notes)
    yield from (sentence.id for sentence in trace.comparison.sentences)
    if trace.explanation is not None:
        yield from (sentence.id for sentence in trace.explanation.sentences)
