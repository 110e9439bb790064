"""Quiet mistakes about devices: data that goes to and fro between host and device.

Proved by the copies and the ops between them, never by a name. A round trip is usual (a batch to the device,
a result back); what goes to the device a second time, computed from what was there, need not have left.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from ..schema import Note, Transfer
from .program import Program
from .wording import say

_TIMES = 3
"""So often the same values must be copied by one line to be worth a note."""


@dataclass(frozen=True)
class _Way:
    """Copies that led to a tensor, through whatever was computed in between: the last three."""

    hops: tuple[tuple[str, str, int], ...] = ()
    told: bool = False
    """There is a note about it: where it goes on is no news."""

    def then(self, hop: tuple[str, str, int]) -> "_Way":
        return _Way((*self.hops, hop)[-3:], self.told)


def device_ping_pong(program: Program) -> Iterator[Note]:
    """Values that came from a device are copied to it again, or the same ones over and over.

    Gradients go back the way the values came: what backward copies is no mistake.
    """
    ways: dict[int, _Way] = {}
    copied: dict[tuple[int, int, str], tuple[int | None, int]] = {}
    chronicle = program.chronicle
    if not any(event.kind == "transfer" for step in program.trace.steps for event in step.events):
        return
    versions: dict[int, int | None] = {}
    sites, backward = program.trace.sites, False
    for number, step in enumerate(program.trace.steps, 1):
        line = chronicle.line_of_step(number)
        for event in step.events:
            if event.kind == "tensor":
                versions[event.id] = event.version
            elif event.kind == "op":
                backward = sites[event.site].node is not None
                known = [ways[t] for t in event.inputs if t in ways]
                longest = max(known, key=lambda way: len(way.hops), default=None)
                if longest is not None:
                    ways.update((t, longest) for t in event.outputs if t not in ways)
            elif event.kind == "transfer" and not backward:
                way = ways.get(event.source, _Way()).then((event.source_device, event.target_device, line))
                returned = None if way.told else _returned(way, event, line)
                ways[event.target] = _Way(way.hops, way.told or returned is not None)
                if returned is not None:
                    yield returned
                key = (event.source, line, event.target_device)
                version, times = copied.get(key, (None, 0))
                now = versions.get(event.source)
                times = times + 1 if times == 0 or version == now else 1
                copied[key] = (now, times)
    yield from _repeated(program, copied)


def _returned(way: _Way, event: Transfer, line: int) -> Note | None:
    if len(way.hops) < 3:
        return None
    (start, away, first), (_, home, back), (_, again, _) = way.hops
    if start == home == event.source_device == "cpu" and away == again:
        return _note(line, how="back", first=first, back=back, source=event.source_device, target=again)
    return None


def _repeated(program: Program, copied: dict[tuple[int, int, str], tuple[int | None, int]]) -> Iterator[Note]:
    chronicle = program.chronicle
    for (source, line, target), (_, times) in copied.items():
        view = chronicle.view(source, chronicle.end)
        name = chronicle.name(source, chronicle.end)
        if times >= _TIMES and name is not None and view is not None and view.device != target:
            yield _note(line, how="again", name=name, n=times, source=view.device, target=target)


def _note(line: int, **args: object) -> Note:
    usual: dict[str, object] = {"name": "", "n": 0, "first": 0, "back": 0}
    sentence = say("device", "note.device-ping-pong", line=line, **{**usual, **args})
    return Note(line=line, class_="device-ping-pong", sentence=sentence)
