"""Sentences about memory that stays or moves: who counts a write, by which way it came, who keeps a storage.

`storage` tells what a step did to storages it wrote or made; here is what else holds on to them.
"""

from typing import Any

from ..schema import Sentence
from .moment import Moment, Write
from .wording import say, storage_label

_SAID_ONE_BY_ONE = 2


def counted(moment: Moment, write: Write) -> list[Sentence]:
    """What the version counters made of a write: tensors on one storage may have several."""
    storage = storage_label(write.storage)
    moved = {versions: tensors for versions, tensors in write.counters.items() if versions[0] != versions[1]}
    still = {versions: tensors for versions, tensors in write.counters.items() if versions[0] == versions[1]}
    if moved and still:
        (before, after), movers = next(iter(moved.items()))
        (version, _), others = next(iter(still.items()))
        names = [name for t in movers if (name := moment.name(t)) is not None]
        other_names = [name for t in others if (name := moment.name(t)) is not None]
        if names and other_names:
            facts = {"before": before, "after": after, "version": version}
            return [say("data", "data.version-split", moved=names, still=other_names, **facts)]
    for before, after in moved:
        return [say("data", "data.version", storage=storage, before=before, after=after)]
    for version, _ in still:
        return [say("data", "data.version-same", storage=storage, version=version)]
    tensors = moment.chronicle.tensors_on(write.storage, moment.end)
    kinds = [moment.chronicle.recorded_traits(t, moment.end) for t in tensors]
    if kinds and all(any(trait.id == "inference" for trait in traits) for traits in kinds):
        return [say("data", "data.version-none")]
    return []


def way_of(moment: Moment, storage: int) -> dict[str, Any]:
    """By which way a storage was written that no op on its tensors wrote."""
    chronicle = moment.chronicle
    written = {write.storage for write in moment.writes if write.by_op}
    for other in chronicle.overlapping(storage, moment.end):
        if other in written:
            return {"how": "storage", "other": storage_label(other), "api": None, "line": None}
    export = chronicle.exported(storage, moment.end)
    if export is not None:
        number, api = export
        return {"how": "api", "other": None, "api": api, "line": chronicle.line_at(number)}
    tensors = chronicle.tensors_on(storage, moment.end)
    traits = {trait.id for t in tensors for trait in chronicle.recorded_traits(t, moment.end)}
    how = "foreign" if "foreign-memory" in traits else "memory"
    return {"how": how, "other": None, "api": None, "line": None}


def resized(moment: Moment) -> list[Sentence]:
    """Storages that got another size: `resize_`."""
    chronicle = moment.chronicle
    written = {write.storage for write in moment.writes}
    said = {}
    for event in moment.events:
        if event.kind != "storage" or chronicle.storage_born[event.id] >= moment.begin:
            continue
        before = chronicle.nbytes(event.id, moment.begin)
        if before == event.nbytes:
            continue
        label = storage_label(event.id)
        if event.nbytes == 0:
            said[event.id] = say("data", "data.emptied", storage=label, before=before)
            continue
        added = max(0, event.nbytes - before) if event.id not in written else 0
        moved = "yes" if chronicle.address(event.id, moment.begin) != event.address else "no"
        facts = {"before": before, "nbytes": event.nbytes, "added": added, "moved": moved}
        said[event.id] = say("data", "data.resized", storage=label, **facts)
    return list(said.values())


def saved_by_nodes(moment: Moment, storages: list[int]) -> dict[int, tuple[int, int | None]]:
    """Of these storages, those that a node made by the step saved: the node and the saved tensor."""
    wanted = set(storages)
    found: dict[int, tuple[int, int | None]] = {}
    for event in moment.events:
        if event.kind == "node":
            for slot in event.saved:
                if slot.storage is not None and slot.storage in wanted:
                    found.setdefault(slot.storage, (event.id, slot.tensor))
    return found


def kept_for_backward(moment: Moment, saved: dict[int, tuple[int, int | None]]) -> list[Sentence]:
    """Storages without a name that nodes keep: numbers that were made tensors, and others."""
    chronicle = moment.chronicle
    numbers = {s: value for s, (_, t) in saved.items() if (value := chronicle.scalar(t)) is not None}
    said = []
    for storages, scalars in (([s for s in saved if s not in numbers], False), (list(numbers), True)):
        if not storages:
            continue
        total = sum(chronicle.nbytes(s, moment.end) for s in storages)
        nodes = list(dict.fromkeys(chronicle.node_name(saved[s][0]) for s in storages))
        facts: dict[str, Any] = {"n": len(storages), "nbytes": total, "nodes": nodes}
        if scalars:
            values = list(dict.fromkeys(numbers.values()))
            said.append(say("data", "data.kept-scalars", values=values, **facts | {"n": len(nodes)}))
        else:
            said.append(say("data", "data.kept-for-backward", **facts))
    return said


def kept(moment: Moment) -> Sentence | None:
    """A name was deleted and the storage it led to stays: who keeps it."""
    chronicle = moment.chronicle
    before = chronicle.bindings(moment.frame, moment.begin) if moment.deleted else {}
    for name in moment.deleted:
        state = moment.before(before[name]) if name in before else None
        storage = None if state is None else state.storage
        if storage is None or not chronicle.alive(storage, moment.end):
            continue
        names = moment.names_on(storage)
        saved = [] if names else _saved_slots(moment, storage)
        if names or saved:
            label, nbytes = storage_label(storage), chronicle.nbytes(storage, moment.end)
            return say("data", "data.kept", storage=label, nbytes=nbytes, names=names, saved=saved)
    return None


def _saved_slots(moment: Moment, storage: int) -> list[str]:
    """Saved tensors on a storage, as PyTorch names them: `ExpBackward0._saved_result`."""
    chronicle = moment.chronicle
    found = []
    for node in chronicle.nodes.values():
        if chronicle.node_born[node.id] < moment.end:
            name = chronicle.node_name(node.id)
            found += [f"{name}._saved_{slot.field}" for slot in node.saved if slot.storage == storage]
    return list(dict.fromkeys(found))[:_SAID_ONE_BY_ONE]
