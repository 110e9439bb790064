"""Steps past the limit: one step per statement, with what all its executions did.

The final state stays exact: of the events of folded steps those are kept that still say something at the
end. Pure functions on event dictionaries.
"""

from typing import Any

from .changes import LAYERS
from .stream import Event


class Folded:
    """Executions that are no longer told one by one."""

    MOST_EVENTS = 4000

    def __init__(self) -> None:
        self._rows: dict[int, Event] = {}

    def add(self, step: Event, *, again: bool = False) -> None:
        """A step ended that is not kept: union it with the others of its statement.

        Args:
            step: The step.
            again: It left a block or went on after a suspension, and is no execution to be counted.
        """
        statement = step["statement"]
        if again and statement in self._rows:
            step["executions"] = 0
        known = self._rows.pop(statement, None)
        if known is not None:
            step["executions"] += known["executions"]
            step["changed"] = _union(known["changed"], step["changed"])
            lit = set(known["lamps"]) | set(step["lamps"])
            step["lamps"] = [layer for layer in LAYERS if layer in lit]
            peak = known["peak_bytes"]
            for device, n in step["peak_bytes"].items():
                peak[device] = max(peak.get(device, 0), n)
            step["peak_bytes"] = peak
        self._rows[statement] = step

    def __bool__(self) -> bool:
        return bool(self._rows)

    def take(self) -> list[Event]:
        """One step per statement, in the order of their last executions; then start anew."""
        rows, self._rows = list(self._rows.values()), {}
        return rows


def _union(a: dict[str, list[str]], b: dict[str, list[str]]) -> dict[str, list[str]]:
    union = {name: list(changes) for name, changes in a.items()}
    for name, changes in b.items():
        known = union.setdefault(name, [])
        known.extend(c for c in changes if c not in known)
    return union


def compact(events: list[Event]) -> list[Event]:
    """The events that still matter after all of them: the last word on each thing that is left."""
    gone: set[int] = set()
    freed: set[int] = set()
    left: set[int] = set()
    born: set[int] = set()
    allocated: set[int] = set()
    entered: set[int] = set()
    for event in events:
        match event["kind"]:
            case "gone":
                gone.update(event["tensors"])
            case "freed":
                freed.update(event["storages"])
            case "return":
                left.add(event["frame"])
            case "tensor":
                born.add(event["id"])
            case "storage":
                allocated.add(event["id"])
            case "call":
                entered.add(event["frame"])
    kept: dict[Any, Event] = {}
    for event in events:
        key = _last_word_key(event, gone & born, freed & allocated, left & entered)
        if key is not None:
            kept.pop(key, None)
            kept[key] = event
    return [e for e in _with_live_nodes(list(kept.values()))]


def _last_word_key(event: Event, gone: set[int], freed: set[int], left: set[int]) -> Any:
    """What an event is the last word on; None when it no longer matters."""
    kind = event["kind"]
    match kind:
        case "tensor":
            return None if event["id"] in gone else (kind, event["id"])
        case "values":
            return None if event["tensor"] in gone else (kind, event["tensor"])
        case "storage":
            return None if event["id"] in freed else (kind, event["id"])
        case "bytes":
            return None if event["storage"] in freed else (kind, event["storage"])
        case "names":
            return None if event["frame"] in left else (kind, event["frame"], event["root"])
        case "call" | "return":
            return None if event["frame"] in left else (kind, event["frame"])
        case "gone":
            event["tensors"] = [t for t in event["tensors"] if t not in gone]
            return (kind, id(event)) if event["tensors"] else None
        case "freed":
            event["storages"] = [s for s in event["storages"] if s not in freed]
            return (kind, id(event)) if event["storages"] else None
        case "saved":
            return (kind, event["node"], event["slot"])
        case "op" | "api" | "transfer" | "block-left" | "resumed":
            return None
        case "exception":
            return (kind, event["type"], event["range"])
        case "thread":
            return (kind, event["function"])
        case "process":
            return kind
        case "entries":
            return None if event["frame"] in left else (kind, event["frame"], event["path"])
        case _:
            return (kind, id(event))


def _with_live_nodes(events: list[Event]) -> list[Event]:
    """Without the graph nodes that no tensor named in `events` leads to any more."""
    nodes = {e["id"]: e for e in events if e["kind"] == "node"}
    alive: set[int] = set()
    todo = [e["grad_fn"] for e in events if e["kind"] == "tensor" and e["grad_fn"] is not None]
    while todo:
        node_id = todo.pop()
        if node_id in alive or node_id not in nodes:
            continue
        alive.add(node_id)
        todo.extend(n for n, _ in nodes[node_id]["next_functions"] if n is not None)
    kept = []
    for event in events:
        if event["kind"] == "node" and event["id"] not in alive:
            continue
        if event["kind"] == "saved" and event["node"] in nodes and event["node"] not in alive:
            continue
        if event["kind"] == "saved-freed":
            event["nodes"] = [n for n in event["nodes"] if n not in nodes or n in alive]
            if not event["nodes"]:
                continue
        kept.append(event)
    return kept
