"""Holds the end of an observed run against unobserved runs of the same program.

Without torch. A difference counts only if a second unobserved run agrees with the first: what
differs between those is the program's own doing (uninitialised memory, addresses, the clock). What the
unobserved run has instead is put where the reader looks for it: graph nodes, contents of storages.
Everything here comes from processes that ran a stranger's program: what does not fit is left out. It may be
large, so it is looked at in a thread, and others have their turns.
"""

import asyncio
import base64
import binascii
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass

from ..schema import (
    Comparison,
    Fingerprint,
    ObserverEffect,
    Outcome,
    PlainContents,
    PlainNode,
    RunRequest,
    TensorContents,
    Trace,
)
from ..schema.comparison import FACTS, SAME, not_compared
from ..schema.replay import World, fold
from ..schema.values import values_of

MOST_EFFECTS = 50
_MOST_UNSTEADY = 20
_LONGEST_TEXT = 160
_ABSENT = "–"

Place = tuple[str, str | None]
"""What differs, and the name it concerns."""


@dataclass(frozen=True, kw_only=True)
class Ended:
    """A run that came to its end."""

    outcome: Outcome
    fingerprint: Fingerprint
    stdout: str
    """What is kept of it."""

    warnings: tuple[str, ...]
    """Each with its category, its text and the line it points at."""


Facts = dict[Place, str]


def facts_of(run: Ended) -> Facts:
    """Everything that is compared, as text."""
    said, prints = run.outcome, run.fingerprint
    facts: Facts = {("outcome", None): said.kind}
    facts["exception", None] = prints.error or _ABSENT
    facts["line", None] = _ABSENT if said.line is None else str(said.line)
    facts["traceback", None] = str(list(said.traceback))
    facts["stdout", None] = f"{run.stdout}\0{prints.stdout}"
    facts["warnings", None] = "\n".join(run.warnings)
    facts["sharing", None] = "\n".join(", ".join(group) for group in prints.sharing)
    for name, checksum in prints.generators.items():
        facts["generator", name] = f"{checksum:08x}"
    for name, values in prints.tensors.items():
        facts["names", name] = "a tensor"
        for what, value in zip(FACTS, values, strict=False):
            facts[what, name] = value
    for place, name in prints.graph.items():
        facts["grad_fn", place] = name
    return facts


def differing(observed: Facts, plain: Facts) -> tuple[Place, ...]:
    """Where two runs differ, what a reader would look at first in front."""
    places = [place for place in {**observed, **plain} if observed.get(place) != plain.get(place)]
    # Of a tensor that only one run has, that it exists says it all.
    alone = {name for what, name in places if what == "names"}
    return tuple(place for place in places if place[0] == "names" or place[1] not in alone)


def names_to_report(places: tuple[Place, ...]) -> tuple[str, ...]:
    """Names of tensors whose values differ."""
    return tuple(name for what, name in places if what == "values" and name is not None)[:MOST_EFFECTS]


def _to_report(observed: Ended, plain: Ended) -> tuple[str, ...] | None:
    """The same for two runs; None when nothing at all differs."""
    places = differing(facts_of(observed), facts_of(plain))
    return names_to_report(places) if places else None


def why_not(outcome: Outcome, ended: Ended | None) -> str | None:
    """Why a run that ended so is not held against an unobserved one; None when it is."""
    if outcome.kind in ("stopped", "crashed"):
        return outcome.kind
    if outcome.reason is not None:  # the sandbox's doing, and not the tracer's
        return "denied" if outcome.reason == "denied" else "stopped"
    return "nothing-ran" if ended is None else None


async def compared(
    trace: Trace,
    observed: Ended,
    request: RunRequest,
    run: Callable[[RunRequest], Awaitable[tuple[Trace, Ended | None]]],
) -> Trace:
    """Run a program unobserved, twice if the first differs, and say in its trace what differs.

    Args:
        trace: Of the observed run.
        observed: Its end.
        request: What was run.
        run: Runs a request in the same slot.

    Returns:
        As of `compare`.
    """
    plainly = request.model_copy(update={"observed": False})
    first, plain = await run(plainly)
    if plain is None or first.outcome.kind in ("stopped", "crashed"):
        return trace.model_copy(update={"comparison": not_compared("plain-stopped")})
    reports = await asyncio.to_thread(_to_report, observed, plain)
    again = None
    if reports is not None:
        _, again = await run(plainly.model_copy(update={"reports": reports}))
        if again is None:
            return trace.model_copy(update={"comparison": not_compared("plain-stopped")})
    return await asyncio.to_thread(compare, trace, observed, plain, again)


def compare(trace: Trace, observed: Ended, plain: Ended, again: Ended | None) -> Trace:
    """Put into a trace what came out otherwise when nobody watched.

    Args:
        trace: Of the observed run.
        observed: Its end.
        plain: The end of the unobserved run.
        again: That of a second one; None when the first did not differ from the observed run.

    Returns:
        The trace with its `observer_effects` and its `comparison`; these have no sentences yet.
    """
    watched, unwatched = facts_of(observed), facts_of(plain)
    places = differing(watched, unwatched)
    if not places or again is None:
        return trace.model_copy(update={"observer_effects": (), "comparison": SAME})
    repeated = facts_of(again)
    sure = tuple(place for place in places if unwatched.get(place) == repeated.get(place))
    agreed = set(sure)
    unsteady = tuple(_named(place) for place in places if place not in agreed)[:_MOST_UNSTEADY]
    shown = _Shown(trace, again.fingerprint.contents)
    effects = tuple(
        effect
        for place in sure[:MOST_EFFECTS]
        for effect in _effects(place, watched, unwatched, observed, plain, shown)
    )
    comparison = Comparison(
        state="differs" if effects else "same",
        reason=None,
        unsteady=unsteady,
        nodes=tuple(shown.nodes(sure, unwatched)),
        contents=tuple(shown.contents(sure)),
        sentences=(),
    )
    return trace.model_copy(update={"observer_effects": effects, "comparison": comparison})


def _named(place: Place) -> str:
    what, name = place
    return what if name is None else f"{name}: {what}"


def _effects(
    place: Place, watched: Facts, unwatched: Facts, observed: Ended, plain: Ended, shown: "_Shown"
) -> Iterator[ObserverEffect]:
    """The difference in words short enough to be read."""
    what, name = place
    before, after = watched.get(place, _ABSENT), unwatched.get(place, _ABSENT)
    if what == "stdout":
        before, after = _first_difference(observed.stdout, plain.stdout)
    elif what in ("warnings", "sharing"):
        before, after = _first_difference(before, after)
    elif what == "values" and name is not None:
        before, after = shown.values(name)
    yield ObserverEffect(what=what, name=name, observed=_short(before), plain=_short(after))


def _first_difference(one: str, other: str) -> tuple[str, str]:
    """The first line in which two texts differ."""
    ones, others = one.splitlines(), other.splitlines()
    for a, b in zip(ones, others, strict=False):
        if a != b:
            return a, b
    n = min(len(ones), len(others))
    return (ones[n] if n < len(ones) else _ABSENT), (others[n] if n < len(others) else _ABSENT)


def _short(text: str) -> str:
    clean = text.encode("utf-8", "backslashreplace").decode()
    return clean if len(clean) <= _LONGEST_TEXT else clean[: _LONGEST_TEXT - 1] + "…"


class _Shown:
    """Where in a trace the reader meets what differs."""

    def __init__(self, trace: Trace, told: tuple[TensorContents, ...]) -> None:
        self._trace = trace
        self._told = {each.name: each for each in told}
        self._world: World = fold(trace, len(trace.steps))
        self._names = self._world.bindings(0)

    def tensor(self, name: str) -> int | None:
        """Id of the tensor a name leads to at the end of the observed run."""
        if name in self._names:
            return self._names[name]
        owner = self._names.get(name.removesuffix(".grad"))
        return None if owner is None or not name.endswith(".grad") else self._world.tensors[owner].grad

    def nodes(self, places: tuple[Place, ...], unwatched: Facts) -> Iterator[PlainNode]:
        """Graph nodes with another name, by id."""
        for what, place in places:
            if what == "grad_fn" and place is not None and (what, place) in unwatched:
                node = self._node(place)
                if node is not None:
                    yield PlainNode(node=node, name=_short(unwatched[what, place]))

    def _node(self, place: str) -> int | None:
        """`y.grad_fn.next_functions[0][0]` → the id of that node."""
        name, _, path = place.partition(".grad_fn")
        tensor = self.tensor(name)
        state = None if tensor is None else self._world.tensors.get(tensor)
        node_id = None if state is None else state.grad_fn
        for step in path.split(".next_functions[")[1:]:
            node = None if node_id is None else self._world.nodes.get(node_id)
            index = step.partition("]")[0]
            if node is None or not index.isdecimal() or int(index) >= len(node.next_functions):
                return None
            node_id = node.next_functions[int(index)][0]
        return node_id

    def contents(self, places: tuple[Place, ...]) -> Iterator[PlainContents]:
        """Contents that take the place of the observed ones, each storage once."""
        done: set[int] = set()
        for what, name in places:
            told = None if name is None or what != "values" else self._told.get(name)
            tensor = None if told is None or name is None else self.tensor(name)
            if told is None or tensor is None or tensor not in self._world.tensors:
                continue
            storage = self._world.tensors[tensor].storage
            if told.data is not None and storage is not None and storage not in done:
                done.add(storage)
                if self._fits(told.data, storage):
                    since = self._since("bytes", storage)
                    yield PlainContents(
                        storage=storage, tensor=None, since=since, data=told.data, values=None
                    )
            elif told.data is None and told.values is not None:
                since = self._since("values", tensor)
                yield PlainContents(storage=None, tensor=tensor, since=since, data=None, values=told.values)

    def _fits(self, data: str, storage: int) -> bool:
        """The bytes are as many as the storage has, and were recorded of it."""
        known = self._world.storages.get(storage)
        return known is not None and known.data is not None and len(_decoded(data)) == known.nbytes

    def _since(self, kind: str, which: int) -> int:
        """The step that last wrote these contents."""
        for number in range(len(self._trace.steps), 0, -1):
            for event in self._trace.steps[number - 1].events:
                if event.kind == kind and which == getattr(event, "storage", getattr(event, "tensor", None)):
                    return number
        return 0

    def values(self, name: str) -> tuple[str, str]:
        """Where the values of two runs differ most, in each."""
        told, tensor = self._told.get(name), self.tensor(name)
        now = None if tensor is None else self._world.tensors.get(tensor)
        if told is None or tensor is None or now is None:
            return "…", "…"
        view = self._trace.views[now.view]
        observed = self._world.values_of(tensor, view)
        plain = told.values if told.data is None else values_of(view, _decoded(told.data))
        if not isinstance(observed, list) and not isinstance(plain, list):
            return str(observed), str(plain)
        ours, others = dict(_numbers(observed)), dict(_numbers(plain))
        different = [index for index in ours if ours[index] != others.get(index)]
        if not different:
            return "…", "…"
        most = max(different, key=lambda index: _distance(ours[index], others.get(index)))
        return _at(most, ours), _at(most, others)


def _decoded(data: str) -> bytes:
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return b""


def _numbers(values: object, index: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], object]]:
    if isinstance(values, list) and len(index) < 30:
        for i, value in enumerate(values):
            yield from _numbers(value, (*index, i))
    else:
        yield index, values


def _distance(one: object, other: object) -> float:
    if isinstance(one, (int, float)) and isinstance(other, (int, float)):
        return abs(one - other)
    return float("inf")


def _at(index: tuple[int, ...], numbers: Mapping[tuple[int, ...], object]) -> str:
    return f"[{', '.join(map(str, index))}] = {numbers.get(index, _ABSENT)}"
