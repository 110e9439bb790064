"""Sentences about a step's autograd layer: nodes, saved tensors, gradients, leaves.

The version counter is told with the data it counts writes of; here only what a write does to the
tensors saved for backward.
"""

from ..schema import Sentence
from .chronicle import Chronicle
from .moment import Moment, count
from .traits import trait_sentences
from .wording import say, storage_label

_SAID_ONE_BY_ONE = 2


def autograd_sentences(moment: Moment) -> list[Sentence]:
    """Say what a step did to the graph and to gradients.

    Args:
        moment: The step.

    Returns:
        At least one sentence.
    """
    said = [
        *_stale(moment),
        *_new_results(moment),
        *_new_leaves(moment),
        *_outside(moment),
        *_changed_results(moment),
        *_gradients(moment),
        *_hooks(moment),
        *_freed(moment),
        *trait_sentences(moment, "autograd"),
    ]
    if said:
        return said
    if moment.lit("autograd"):
        return [_new_nodes(moment)]
    if moment.chronicle.requires_grad_anywhere >= moment.end:
        return [say("autograd", "autograd.none-recorded")]
    return [say("autograd", "autograd.none")]


def _new_nodes(moment: Moment) -> Sentence:
    """Nodes of a step that nothing else is said of: still there, or gone with what led to them."""
    made = {event.id for event in moment.events if event.kind == "node"}
    if not made:
        return say("autograd", "autograd.touched")
    states = (moment.state(event.id) for event in moment.events if event.kind == "tensor")
    todo = [s.grad_fn for s in states if s is not None and s.grad_fn is not None and s.grad_fn in made]
    kept = set(todo)
    for node in todo:  # only what the step made leads to them
        fresh = {n for n, _ in moment.chronicle.nodes[node].next_functions if n in made} - kept
        kept |= fresh
        todo.extend(fresh)
    if not kept:
        return say("autograd", "autograd.nodes-gone", n=len(made))
    return say("autograd", "autograd.nodes", n=len(kept))


def _stale(moment: Moment) -> list[Sentence]:
    """Saved tensors that a write of the step made useless, or that came to be right again."""
    chronicle = moment.chronicle
    said: list[Sentence] = []
    for event in moment.events:
        if event.kind != "saved" or event.node not in chronicle.nodes:
            continue
        node = chronicle.nodes[event.node]
        slot = node.saved[event.slot]
        if not event.stale or slot.storage is None:
            said.append(say("autograd", "autograd.saved-right-again", node=chronicle.node_name(node.id)))
            continue
        name = saved_name(chronicle, event.node, event.slot, moment.end, moment.frame)
        said.append(
            say(
                "autograd",
                "autograd.stale",
                node=chronicle.node_name(node.id),
                name=name,
                storage=storage_label(slot.storage),
                saved_version=slot.version,
                version=_version_on(moment, slot.storage),
            )
        )
    if len(said) > _SAID_ONE_BY_ONE:
        return [
            *said[:_SAID_ONE_BY_ONE],
            say("autograd", "autograd.stale-more", n=len(said) - _SAID_ONE_BY_ONE),
        ]
    return said


def saved_name(chronicle: Chronicle, node: int, slot: int, moment: int, frame: int) -> str:
    """What a reader may call a saved tensor: its own name, else one of the same storage, else its field."""
    saved = chronicle.nodes[node].saved[slot]
    if saved.tensor is not None:
        name = chronicle.name(saved.tensor, moment, frame)
        if name is not None:
            return name
    if saved.storage is not None:
        names = chronicle.names_on(saved.storage, moment, frame)
        if names:
            return names[0]
        return f"{saved.field} ({storage_label(saved.storage)})"
    return saved.field


def _version_on(moment: Moment, storage: int) -> int | None:
    versions = [
        state.version
        for tensor in moment.chronicle.tensors_on(storage, moment.end)
        if (state := moment.state(tensor)) is not None and state.version is not None
    ]
    return max(versions, default=None)


def _new_results(moment: Moment) -> list[Sentence]:
    """Tensors with a grad_fn that got a name."""
    chronicle = moment.chronicle
    made = []
    for tensor, names in moment.bound.items():
        state = moment.state(tensor)
        if state is not None and state.grad_fn is not None and moment.before(tensor) is None:
            made.append((names[0], state.grad_fn))
    if len(made) > _SAID_ONE_BY_ONE:
        return [say("autograd", "autograd.results", names=[name for name, _ in made])]
    said: list[Sentence] = []
    for name, node in made:
        leaves = [moment.name(leaf) for leaf in chronicle.leaves([node])]
        named = [leaf for leaf in leaves if leaf is not None]
        said.append(
            say("autograd", "autograd.result", name=name, node=chronicle.node_name(node), leaves=named)
        )
        if chronicle.node_born.get(node, 0) >= moment.begin:
            said.extend(_saved(moment, node))
    return said


def _saved(moment: Moment, node: int) -> list[Sentence]:
    """What a new node keeps for backward."""
    saved = moment.chronicle.nodes[node].saved
    kept: list[str] = []
    scalars: list[str] = []
    for i, slot in enumerate(saved):
        number = moment.chronicle.scalar(slot.tensor)
        if number is not None:
            scalars.append(number)
        elif slot.storage is not None:
            kept.append(saved_name(moment.chronicle, node, i, moment.end, moment.frame))
    if not kept and not scalars:
        return []
    name = moment.chronicle.node_name(node)
    return [say("autograd", "autograd.saves", node=name, names=list(dict.fromkeys(kept)), scalars=scalars)]


def _new_leaves(moment: Moment) -> list[Sentence]:
    leaves = []
    for tensor, names in moment.bound.items():
        state = moment.state(tensor)
        fresh = state is not None and moment.before(tensor) is None
        if fresh and moment.look(tensor).requires_grad and moment.look(tensor).is_leaf:
            leaves.append(names[0])
    return [say("autograd", "autograd.leaves", names=leaves)] if leaves else []


def _outside(moment: Moment) -> list[Sentence]:
    """New tensors that do not require grad, made from one that does: `detach`, `no_grad`, `argmax`."""
    said = []
    for tensor, names in moment.bound.items():
        state = moment.state(tensor)
        if state is None or moment.before(tensor) is not None or moment.look(tensor).requires_grad:
            continue
        base = moment.made_from(tensor)
        if base is None and state.storage is not None:
            base = moment.shown_before(state.storage)
        view = None if base is None else moment.chronicle.view(base, moment.begin)
        if base is not None and view is not None and view.requires_grad:
            base_name = moment.chronicle.name(base, moment.begin, moment.frame)
            said.append(say("autograd", "autograd.outside", name=names[0], base=base_name))
    return said[:_SAID_ONE_BY_ONE]


def _changed_results(moment: Moment) -> list[Sentence]:
    """Tensors that kept their name and changed their place in the graph."""
    chronicle = moment.chronicle
    said: list[Sentence] = []
    for tensor, name in moment.changed_tensors.items():
        before, after = moment.before(tensor), moment.state(tensor)
        if before is None or after is None:
            continue
        old, new = chronicle.trace.views[before.view], moment.look(tensor)
        if before.grad_fn != after.grad_fn and after.grad_fn is not None:
            node = chronicle.node_name(after.grad_fn)
            if before.grad_fn is None:
                said.append(say("autograd", "autograd.became-result", name=name, node=node))
            else:
                was = chronicle.node_name(before.grad_fn)
                said.append(say("autograd", "autograd.other-node", name=name, node=node, old=was))
        elif before.grad_fn is not None and after.grad_fn is None and new.is_leaf is None:
            continue  # told with its traits: PyTorch refuses to say
        elif before.grad_fn is not None and after.grad_fn is None:
            said.append(say("autograd", "autograd.detached", name=name))
        elif old.requires_grad != new.requires_grad:
            now = "yes" if new.requires_grad else "no"
            said.append(say("autograd", "autograd.requires-grad", name=name, now=now))
    if len(said) > _SAID_ONE_BY_ONE:
        more = say("autograd", "autograd.changed-more", n=len(said) - _SAID_ONE_BY_ONE)
        return [*said[:_SAID_ONE_BY_ONE], more]
    return said


def _gradients(moment: Moment) -> list[Sentence]:
    """Gradients that came, went or changed, of any tensor with a name."""
    chronicle = moment.chronicle
    came: dict[str, int] = {}
    gone: list[str] = []
    added: list[str] = []
    written = {write.storage for write in moment.writes}
    for tensor in _grad_owners(moment):
        name = moment.name(tensor)
        before, after = moment.before(tensor), moment.state(tensor)
        if name is None or after is None:
            continue
        had = before.grad if before is not None else None
        if after.grad is not None and after.grad != had:
            view = chronicle.view(after.grad, moment.end)
            came[name] = count(view) if view is not None else 0
        elif after.grad is None and had is not None:
            gone.append(name)
        elif after.grad is not None:
            grad = moment.state(after.grad)
            if grad is not None and grad.storage in written:
                added.append(name)
    said: list[Sentence] = []
    if len(came) > _SAID_ONE_BY_ONE:
        said.append(say("autograd", "autograd.grads-came", names=[f"{n}.grad" for n in came]))
    else:
        said.extend(say("autograd", "autograd.grad-came", name=f"{n}.grad", n=k) for n, k in came.items())
    if added:
        backward = any(op.node is not None for op in moment.ops)
        how = "autograd.grad-added" if backward else "autograd.grad-changed"
        said.append(say("autograd", how, names=[f"{n}.grad" for n in added]))
    if gone:
        said.append(say("autograd", "autograd.grad-gone", names=[f"{n}.grad" for n in gone]))
    return said


def _grad_owners(moment: Moment) -> dict[int, None]:
    """Tensors whose `.grad` the step may have changed, in the order of their names."""
    owners: dict[int, None] = {}
    for event in moment.events:
        if event.kind == "tensor":
            owners[event.id] = None
    for write in moment.writes:
        for tensor in moment.chronicle.tensors_on(write.storage, moment.end):
            owners.update(moment.chronicle.grad_of.get(tensor, {}))
    return owners


_HOOKS = {
    "register_hook": "autograd.hook",
    "register_post_accumulate_grad_hook": "autograd.hook-after",
    "retain_grad": "autograd.retains",
}


def _hooks(moment: Moment) -> list[Sentence]:
    """Hooks that a tensor got, and results that will keep their gradient."""
    trace = moment.chronicle.trace
    said: list[Sentence] = []
    for event in moment.events:
        if event.kind != "api" or not event.inputs or (id := _HOOKS.get(trace.names[event.api])) is None:
            continue
        tensor = event.inputs[0]
        name = moment.name(tensor)
        leaf = moment.state(tensor) is not None and moment.look(tensor).is_leaf
        if name is not None and not (leaf and id == "autograd.retains"):
            said.append(say("autograd", id, name=name))
    return said[: 2 * _SAID_ONE_BY_ONE]


def _freed(moment: Moment) -> list[Sentence]:
    nodes = [n for event in moment.events if event.kind == "saved-freed" for n in event.nodes]
    with_saved = [n for n in nodes if n in moment.chronicle.nodes and moment.chronicle.nodes[n].saved]
    if not with_saved:
        return []
    tensors = sum(len(moment.chronicle.nodes[n].saved) for n in with_saved)
    return [say("autograd", "autograd.freed", n=tensors, nodes=len(with_saved))]
