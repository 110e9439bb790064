"""Errors of saved tensors: which tensor a node saved, who wrote to it since, and how to write instead.

A tensor is named as the reader names it when the program failed; one that only a function knew which has
returned, as that function named it. Other classes of error are in `operands`.
"""

from .advice import Advice
from .failure import FailedCall
from .rewriting import out_of_place


def _name_then(call: FailedCall, tensor: int, event: int) -> str | None:
    """A tensor's name now; else the one it had in the function that ran at an event."""
    chronicle = call.chronicle
    found = chronicle.name(tensor, call.moment, call.frame)
    step = chronicle.step_at(event)
    if found is None and 1 <= step <= len(chronicle.trace.steps):
        found = chronicle.name(tensor, event, chronicle.step(step).frame)
    return found


def saved_tensor_modified(call: FailedCall) -> Advice:
    """What was saved, who wrote to it, and how to write instead."""
    version, expected = int(call.group("version")), int(call.group("expected"))
    found = call.stale(call.group("node"), version, expected)
    if found is None:
        versions = {"version": version, "saved_version": expected}
        return Advice(None, (), {"node": "?", "name": "?", **versions, "how": "other", "rewrite": "?"})
    event, node, slot = found
    storage = call.chronicle.nodes[node].saved[slot].storage
    names: list[str] = []
    written_to: int | None = None
    line = call.line_of(event)
    if storage is not None:
        writer = call.writer(storage, event + 1)
        if writer is not None:
            at, written_to = writer
            line = call.line_of(at)
            name = None if written_to is None else _name_then(call, written_to, at)
            names = [name] if name else []
        names = names or call.chronicle.names_on(storage, call.moment, call.frame)[:1]
    saved = call.chronicle.nodes[node].saved[slot]
    on_it = [] if storage is None else call.chronicle.names_on(storage, call.moment, call.frame)
    # What a node saved need not have a name any more: of those on its storage, the oldest is the nearest.
    name = call.name(saved.tensor) or next(iter([*on_it, *names]), None)
    name = name or (None if saved.tensor is None else _name_then(call, saved.tensor, event + 1)) or "?"
    written = names[0] if names else name
    how, rewrite = out_of_place(call.chronicle.trace.source, line, written, is_view=written != name)
    if call.is_leaf(written_to):
        # A parameter is not to be replaced by what was computed from it.
        how, rewrite = "other", "?"
    return Advice(
        line,
        tuple(names),
        {
            "node": call.chronicle.node_name(node),
            "node_line": call.chronicle.nodes[node].line,
            "name": name,
            "written": written,
            "how": how,
            "rewrite": rewrite,
            "version": version,
            "saved_version": expected,
        },
    )


def pack_hook(call: FailedCall) -> Advice:
    """The write that a pack hook did."""
    write = call.last_write()
    return Advice(call.chronicle.line_at(write) if write is not None else None, ())
