"""Walks the database under a profile: each entry plain and watched, and what came of it.

Entries run in forked children, two dozen each, so that no mode, seed or once-only warning of a watched run
leaks into a plain one. Where the two differ, two more runs say why: another plain one (does the entry read
memory that nobody wrote?) and one under modes that do nothing (does any mode change what PyTorch computes?).
Children begin with freed memory filled with another byte each, so that what is uninitialised shows as such.
"""

import ctypes
import gc
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch

from .comparing import Count, Difference, changes_by_watching, lies_in, said_otherwise
from .running import Run, in_a_child, run
from .samples import Entry, entry_of, name_of

_ENTRIES_PER_CHILD = 24
_M_PERTURB = -6


@dataclass
class Result:
    """What an entry showed."""

    name: str
    samples: int = 0
    count: Count = field(default_factory=Count)
    lies: list[tuple[str, Difference]] = field(default_factory=list)
    """Sample, and what the trace told otherwise than PyTorch."""
    changed: list[tuple[str, Difference]] = field(default_factory=list)
    """Sample, and what watching changed."""
    unsteady: set[str] = field(default_factory=set)
    """Kinds in which two plain runs differ."""
    by_any_mode: set[str] = field(default_factory=set)
    """Kinds in which modes that do nothing change all that watching changes."""
    raised: str = ""
    """The plain program ended with this exception."""
    broken: str = ""
    """The rig or the tracer failed."""

    def excuses(self) -> set[tuple[str, str]]:
        """Kinds in which watching changed something, each with why: `unsteady`, `any mode` or `watching`."""
        found = set()
        for _, (kind, _) in self.changed:
            why = (
                "unsteady"
                if kind in self.unsteady
                else "any mode"
                if kind in self.by_any_mode
                else "watching"
            )
            found.add((kind, why))
        return found


def walk(infos: Iterable[Any], profile: str) -> Iterator[Result]:
    """Results of entries, in order."""
    torch.set_num_threads(1)
    infos = list(infos)
    for start in range(0, len(infos), _ENTRIES_PER_CHILD):
        yield from _walk_some(infos[start : start + _ENTRIES_PER_CHILD], profile)


def _walk_some(infos: list[Any], profile: str) -> Iterator[Result]:
    entries: list[Entry] = []
    for info in infos:
        try:
            entry = entry_of(info, profile)
        except Exception as error:
            yield Result(name_of(info), broken=f"its samples: {type(error).__name__}: {error}")
            continue
        if entry.calls:
            entries.append(entry)
        else:
            yield Result(entry.name)
    plain = _in_children(entries, lambda entry: run(entry, profile, how="plain"), 0x11)
    watched = _in_children(entries, lambda entry: _watched(entry, profile), 0xFF)
    for entry in entries:
        yield _result(entry, profile, plain[entry.name], watched[entry.name])


def _in_children(entries: list[Entry], work: Callable[[Entry], Any], fill: int) -> dict[str, Any]:
    """Name → whether it worked, and the result. One child for all, or one each when that one dies."""

    def all_of_them() -> dict[str, Any]:
        gc.freeze()  # as the sandbox does: what was there before is not the program's
        _fill_freed_memory(fill)
        answers = {}
        for entry in entries:
            try:
                answers[entry.name] = (True, work(entry))
            except Exception as error:
                answers[entry.name] = (False, f"{type(error).__name__}: {error}")
        return answers

    made, answers = in_a_child(all_of_them)
    if made or len(entries) == 1:
        return answers if made else {entries[0].name: (False, answers)}
    one_by_one: dict[str, Any] = {}
    for entry in entries:
        one_by_one.update(_in_children([entry], work, fill))
    return one_by_one


def _fill_freed_memory(byte: int) -> None:
    """From now on memory given back is filled with a byte; the C library of other systems may not."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_PERTURB, byte)


def _result(entry: Entry, profile: str, plain: Any, watched: Any) -> Result:
    result = Result(entry.name, samples=len(entry.calls))
    if not plain[0] or not watched[0]:
        result.broken = str(watched[1] if plain[0] else plain[1])
        return result
    run_watched, lies, result.count = watched[1]
    if plain[1].outcome["kind"] != "finished":
        result.raised = f"{plain[1].outcome['type']}: {plain[1].outcome['message']}"
    result.broken = "; ".join(run_watched.faults[:3])
    result.lies = [(call.label, d) for call, found in zip(entry.calls, lies, strict=False) for d in found]
    result.changed = _labelled(entry, plain[1], run_watched)
    if result.changed:
        _explain(entry, profile, plain[1], run_watched, result)
    return result


def _explain(entry: Entry, profile: str, plain: Run, watched: Run, result: Result) -> None:
    """Run it again, plain and under modes that do nothing."""
    kinds = {kind for _, (kind, _) in result.changed}
    made, again = _in_children([entry], lambda e: run(e, profile, how="plain"), 0xFF)[entry.name]
    if made:
        result.unsteady = {kind for _, (kind, _) in _labelled(entry, plain, again)} & kinds
    made, under_modes = _in_children([entry], lambda e: run(e, profile, how="modes"), 0xFF)[entry.name]
    if made:
        left = {kind for _, (kind, _) in _labelled(entry, under_modes, watched)}
        result.by_any_mode = kinds - left - result.unsteady


def _labelled(entry: Entry, plain: Run, other: Run) -> list[tuple[str, Difference]]:
    labels = [call.label for call in entry.calls] + ["calls"]
    per_call = changes_by_watching(plain, other)
    found = [(label, d) for label, differences in zip(labels, per_call, strict=False) for d in differences]
    return [*found, *(("run", d) for d in said_otherwise(plain, other))]


def _watched(entry: Entry, profile: str) -> tuple[Run, list[list[Difference]], Count]:
    watched = run(entry, profile, how="watched")
    count = Count()
    lies = lies_in(watched, profile, count)
    for noted in watched.notes:
        noted.ops, noted.apis, noted.values = [], [], {}
    watched.payloads = []
    return watched, lies, count
