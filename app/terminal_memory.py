"""The memory part of a trace in a terminal: which messages, with which arguments. Prints nothing."""

from typing import Any

from .messages import Language, text_of
from .schema import Trace
from .schema.origins import Origin, Origins
from .schema.replay import UNNAMED_HOLDERS, fold
from .schema.state import StateDocument
from .terminal_text import visible

_MOST_WITHOUT_A_NAME = 8
_MOST_HOLDERS = 4

Line = tuple[str, dict[str, Any]]
"""A message id and its arguments."""


def memory_lines(trace: Trace, state: StateDocument, language: Language) -> list[Line]:
    """What is said of memory after a step.

    Args:
        trace: The trace.
        state: Its state after the step.
        language: Of what made a tensor, which is part of a line.

    Returns:
        Storages that names share, storages without a name with who keeps each, and bytes alive.
    """
    sharers: dict[int, list[str]] = {}
    for name, tensor_id in {**state.bindings, **state.locals}.items():
        storage = state.tensors[str(tensor_id)].storage
        if storage is not None:
            sharers.setdefault(storage, []).append(visible(name))
    lines: list[Line] = []
    for storage, names in sharers.items():
        if len(names) > 1:
            nbytes = state.storages[str(storage)].nbytes
            lines.append(("terminal.shared", {"storage": f"S{storage}", "nbytes": nbytes, "names": names}))
    for group in _over_one_memory(state, sharers):
        found = [name for storage in group for name in sharers[storage]]
        lines.append(("terminal.overlapping", {"names": found, "storages": [f"S{s}" for s in group]}))
    lines.extend(_without_a_name(trace, state, sharers, language))
    for device, nbytes in state.bytes.alive.items():
        peak = state.bytes.peak.get(device, nbytes)
        lines.append(("terminal.bytes", {"device": device, "nbytes": nbytes, "peak": peak}))
    return lines


def _without_a_name(
    trace: Trace, state: StateDocument, named: dict[int, list[str]], language: Language
) -> list[Line]:
    """Storages that no variable here leads to, what made each and who keeps it."""
    left = [int(i) for i, s in state.storages.items() if not s.freed and s.nbytes and int(i) not in named]
    if not left:
        return []
    first_on = fold(trace, state.step).first_on
    origins = Origins(trace)
    lines: list[Line] = []
    for storage in left[:_MOST_WITHOUT_A_NAME]:
        now = state.storages[str(storage)]
        made = _words(origins.of(first_on.get(storage)), language)
        args = {"storage": f"S{storage}", "nbytes": now.nbytes, "what": made}
        holders = [visible(holder) for holder in now.held_by]
        kind = next((k for k, text in UNNAMED_HOLDERS.items() if [text] == holders), None)
        if kind is not None or not holders:
            lines.append((f"terminal.kept-{kind or 'unknown'}", args))
        else:
            lines.append(("terminal.kept", {**args, "holders": holders[:_MOST_HOLDERS]}))
    if len(left) > _MOST_WITHOUT_A_NAME:
        lines.append(("terminal.more-storages", {"n": len(left) - _MOST_WITHOUT_A_NAME}))
    return lines


def _words(origin: Origin | None, language: Language) -> str:
    if origin is None:
        return ""
    args = {"code": visible(origin.code), "line": origin.line, "api": visible(origin.api)}
    return text_of(language, "terminal.made", {"what": text_of(language, f"origin.{origin.kind}", args)})


def _over_one_memory(state: StateDocument, sharers: dict[int, list[str]]) -> list[list[int]]:
    """Storages with names that lie over the same bytes: NumPy and DLPack make such."""
    groups: list[list[int]] = []
    reached = 0
    now = {i: state.storages[str(i)] for i in sharers}
    spans = sorted((int(s.address, 16), s.nbytes, i) for i, s in now.items() if s.nbytes)
    for start, nbytes, storage in (span for span in spans if span[0]):
        if start < reached:
            groups[-1].append(storage)
        else:
            groups.append([storage])
        reached = max(reached, start + nbytes)
    return [sorted(group) for group in groups if len(group) > 1]
