"""What must hold of every trace, whatever the program: the contract, and every derivation of it.

Each oracle yields sentences about what is wrong. Nothing here knows what a program should have done.
"""

import io
import json
import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from tensor_anatomy.drawing import draw
from tensor_anatomy.explaining import explain
from tensor_anatomy.messages import LANGUAGES, catalogue, text_of
from tensor_anatomy.schema import Sentence, Trace
from tensor_anatomy.schema.packing import packed_json, unpack
from tensor_anatomy.schema.replay import LAYER_ORDER, state_document
from tensor_anatomy.schema.state import StateDocument
from tensor_anatomy.terminal import Manner, print_trace
from tensor_anatomy.web.figures import step_figure

MOST_STEPS = 24
"""Steps of a trace that are looked at, spread evenly."""

REASONS = {
    "finished": {None},
    "raised": {None, "denied", "memory-limit"},
    "stopped": {"time-limit", "step-limit", "memory-limit", "output-limit"},
    "crashed": {"signal", "invalid-reply"},
}
"""Outcome → the reasons it may have."""

_MUST_BE_SAME = ("outcome", "exception", "line", "traceback", "stdout", "warnings")
"""What an unobserved run must have alike."""

_KNOWN_EFFECTS = ("Creating a new Tensor subclass",)
"""What PyTorch itself does otherwise below any dispatch mode: `Subclass()` of a class of tensors raises."""

_PLACEHOLDER = re.compile(r"\{[a-z_]+\}")
_IDS = frozenset(catalogue("en"))
_DOTTED = re.compile(r"[a-z]+(?:\.[a-z0-9-]+)+")
_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def faults_of(source: str, trace: Trace) -> Iterator[str]:
    """Everything that is wrong with a trace as the pool gave it, and with what is derived from it."""
    yield from _outcome(trace)
    if trace.source != source:
        yield "the trace is of another program"
    with _complaints() as complaints:
        explained = draw(explain(trace))
    yield from complaints
    yield from _packing(explained)
    yield from _states(explained)
    yield from _words(explained)
    yield from _observation(explained)


def _outcome(trace: Trace) -> Iterator[str]:
    outcome = trace.outcome
    if outcome.reason not in REASONS[outcome.kind]:
        yield f"it {outcome.kind} for {outcome.reason}"
    if outcome.kind == "stopped" and outcome.limit is None:
        yield "it was stopped and no limit is named"
    if outcome.kind != "finished" and not outcome.message and outcome.type is None:
        yield f"it {outcome.kind} and nothing is said"
    if outcome.kind == "raised" and outcome.type is None:
        yield "it raised nothing"
    if outcome.reason == "invalid-reply":
        yield f"its reply was no trace: {outcome.message}"
    lines = len(re.split(r"\r\n|\r|\n", trace.source)) + 1
    if outcome.line is not None and not 0 < outcome.line <= lines:
        yield f"it ended at line {outcome.line} of {lines}"


@contextmanager
def _complaints() -> Iterator[list[str]]:
    """What our own modules log meanwhile: a derivation that failed is left out with a line in the log."""
    found: list[str] = []

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            told = "" if record.exc_info is None else f": {record.exc_info[1]!r}"
            found.append(f"logged: {record.getMessage()}{told}")

    logger, handler = logging.getLogger("tensor_anatomy"), Handler(logging.WARNING)
    propagates, logger.propagate = logger.propagate, False
    logger.addHandler(handler)
    try:
        yield found
    finally:
        logger.removeHandler(handler)
        logger.propagate = propagates


def _packing(trace: Trace) -> Iterator[str]:
    sent = json.loads(packed_json(trace), parse_constant=_refuse)
    plain = json.loads(trace.model_dump_json(by_alias=True), parse_constant=_refuse)
    if unpack(sent) != plain:
        yield "it does not come out of its packing as it went in"
    elif Trace.model_validate(plain) != trace:
        yield "it does not survive JSON"


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def _states(trace: Trace) -> Iterator[str]:
    count = len(trace.steps)
    for step in sorted({round(count * i / MOST_STEPS) for i in range(MOST_STEPS + 1)}):
        state = state_document(trace, step)
        for fault in _state(trace, state):
            yield f"step {step}: {fault}"
        json.loads(state.model_dump_json(by_alias=True), parse_constant=_refuse)


def _state(trace: Trace, state: StateDocument) -> Iterator[str]:
    if (state.step == 0) != (state.line is None):
        yield f"its line is {state.line}"
    for name, tensor_id in {**state.bindings, **state.locals}.items():
        if str(tensor_id) not in state.tensors:
            yield f"{name} is tensor {tensor_id}, which is not there"
    for each, tensor in state.tensors.items():
        if tensor.storage is not None and str(tensor.storage) not in state.storages:
            yield f"tensor {each} is in storage {tensor.storage}, which is not there"
        elif tensor.grad_fn is not None and str(tensor.grad_fn) not in state.nodes:
            yield f"tensor {each} is of node {tensor.grad_fn}, which is not there"
        elif tensor.grad is not None and str(tensor.grad) not in state.tensors:
            yield f"the gradient of tensor {each} is {tensor.grad}, which is not there"
    for each, node in state.nodes.items():
        for target, _ in node.next_functions:
            if target is not None and str(target) not in state.nodes:
                yield f"node {each} leads to {target}, which is not there"
        for slot in node.saved:
            if slot.storage is not None and str(slot.storage) not in state.storages:
                yield f"node {each} saves storage {slot.storage}, which is not there"
    if state.bytes.alive != _alive(state):
        yield f"{state.bytes.alive} bytes are alive, the storages have {_alive(state)}"
    for device, alive in state.bytes.alive.items():
        if not 0 <= alive <= state.bytes.peak.get(device, -1):
            yield f"{alive} bytes of {device} are alive, at most {state.bytes.peak}"
    if any(set(lamps) - set(LAYER_ORDER) for lamps in state.lamps.values()):
        yield f"lamps {state.lamps}"
    ever = {event.root for step in trace.steps for event in step.events if event.kind == "names"}
    for line, names in state.changed.items():
        for name in names:
            if re.split(r"[.\[]", name)[0] not in ever:
                yield f"line {line} changed {name}, which never was a name"


def _alive(state: StateDocument) -> dict[str, int]:
    """Bytes per device by a way of its own: intervals merged one into the other."""
    intervals: dict[str, list[tuple[int, int]]] = {}
    alive: dict[str, int] = {}
    for storage in state.storages.values():
        if storage.freed:
            continue
        alive.setdefault(storage.device, 0)
        start = int(storage.address, 16)
        if start == 0:
            alive[storage.device] += storage.nbytes
            continue
        low, high, rest = start, start + storage.nbytes, []
        for a, b in intervals.get(storage.device, ()):
            if a <= high and low <= b:
                low, high = min(a, low), max(b, high)
            else:
                rest.append((a, b))
        intervals[storage.device] = [*rest, (low, high)]
    for device, merged in intervals.items():
        alive[device] += sum(b - a for a, b in merged)
    return alive


def _words(trace: Trace) -> Iterator[str]:
    """Every sentence and the terminal's picture, in each language."""
    told: list[Sentence] = [*trace.sentences, *(note.sentence for note in trace.notes)]
    told += [*trace.comparison.sentences, *(trace.explanation.sentences if trace.explanation else ())]
    for language in LANGUAGES:
        for sentence in told:
            text = text_of(language, sentence.id, sentence.args)
            given = json.dumps(sentence.args, ensure_ascii=False)
            raw = [each for each in _PLACEHOLDER.findall(text) if each not in given]
            raw += [each for each in _DOTTED.findall(text) if each in _IDS and each not in given]
            if raw or not text.strip():
                yield f"{sentence.id} in {language} shows {raw or 'nothing'}"
        last = len(trace.steps) if language == "en" else len(trace.steps) * 2 // 3
        yield from _terminal(trace, Manner(language=language, step=last, verbose=language == "en"))
        step_figure(trace, last, language)


def _terminal(trace: Trace, manner: Manner) -> Iterator[str]:
    file = io.StringIO()
    print_trace(trace, Console(file=file, width=80, no_color=True, color_system=None), manner)
    control = _CONTROL.search(file.getvalue())
    if control:
        yield f"the terminal gets {control[0]!r}"


def _observation(trace: Trace) -> Iterator[str]:
    if any(known in effect.observed for effect in trace.observer_effects for known in _KNOWN_EFFECTS):
        return
    for effect in trace.observer_effects:
        if effect.what in _MUST_BE_SAME:
            yield f"watched, its {effect.what} is {effect.observed!r}, else {effect.plain!r}"
