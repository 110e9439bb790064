"""Sentences about a step's data and metadata: values written, storages made, shared and freed, views.

Autograd and devices have modules of their own.
"""

from ..schema import Sentence, TensorView
from .holding import counted, kept, kept_for_backward, resized, saved_by_nodes, way_of
from .moment import Moment, Write
from .traits import is_uninitialized, trait_sentences
from .wording import dtype_text, say, storage_label, storage_labels, tuple_text

_SAID_ONE_BY_ONE = 2


def data_sentences(moment: Moment) -> list[Sentence]:
    """Say what a step did to values and storages.

    Args:
        moment: The step.

    Returns:
        At least one sentence.
    """
    said = [
        *_writes(moment),
        *_made(moment),
        *_other_storages(moment),
        *resized(moment),
        *_freed(moment),
        *trait_sentences(moment, "data"),
    ]
    if said:
        return said
    if moment.lit("data"):
        return [say("data", "data.touched", names=list(moment.changed_tensors.values()))]
    return [_no_data(moment)]


def _no_data(moment: Moment) -> Sentence:
    for tensor, names in moment.bound.items():
        state = moment.state(tensor)
        if state is None or state.storage is None:
            continue
        others = [n for n in moment.names_on(state.storage) if n not in names]
        if others and moment.before(tensor) is None:
            return say(
                "data", "data.none-view", names=names, storage=storage_label(state.storage), others=others
            )
    return kept(moment) or say("data", "data.none")


def _writes(moment: Moment) -> list[Sentence]:
    recounted = [
        say("data", "data.version-only", storage=storage_label(storage), before=before, after=after)
        for storage, before, after in moment.recounted[:_SAID_ONE_BY_ONE]
    ]
    return [*_overwritten(moment), *recounted]


def _overwritten(moment: Moment) -> list[Sentence]:
    writes = moment.writes
    if len(writes) > _SAID_ONE_BY_ONE:
        names = [n for w in writes for n in moment.names_on(w.storage)[:1]]
        storages = storage_labels(w.storage for w in writes)
        return [say("data", "data.overwritten-many", n=len(writes), storages=storages, names=names)]
    return [sentence for write in writes for sentence in _write(moment, write)]


def _write(moment: Moment, write: Write) -> list[Sentence]:
    names = moment.names_on(write.storage)
    storage = storage_label(write.storage)
    if write.by_op:
        how = "data.overwritten" if write.elements is not None and write.total else "data.overwritten-some"
        if write.total and write.elements == write.total:
            how = "data.overwritten-all"
        said = [say("data", how, n=write.elements, total=write.total, storage=storage, names=names)]
    else:
        how = "data.outside" if write.elements is not None and write.total else "data.outside-some"
        way = way_of(moment, write.storage)
        said = [say("data", how, n=write.elements, total=write.total, storage=storage, names=names, **way)]
    return [*said, *counted(moment, write)]


def _made(moment: Moment) -> list[Sentence]:
    """Storages made by the step: those of named tensors, those kept for backward, others."""
    chronicle = moment.chronicle
    named = {s: moment.names_on(s) for s in moment.new_storages}
    said: list[Sentence] = []
    over = {
        s: other
        for s in moment.new_storages
        if named[s] and (other := chronicle.over(s, moment.end)) is not None
    }
    own = [s for s in moment.new_storages if named[s] and s not in over]
    said.extend(
        say("data", "data.over-memory", names=named[s], storage=storage_label(s), other=storage_label(o))
        for s, o in over.items()
    )
    if len(own) > _SAID_ONE_BY_ONE:
        total = sum(chronicle.nbytes(s, moment.end) for s in own)
        names = [named[s][0] for s in own]
        said.append(say("data", "data.own-storages", n=len(own), nbytes=total, names=names))
    else:
        said.extend(
            say(
                "data",
                _kind_of_storage(moment, s),
                names=named[s],
                storage=storage_label(s),
                nbytes=chronicle.nbytes(s, moment.end),
            )
            for s in own
        )
    said.extend(_without_storage(moment))
    saved = saved_by_nodes(moment, [s for s in moment.new_storages if not named[s]])
    said.extend(kept_for_backward(moment, saved))
    unnamed = [s for s in moment.new_storages if not named[s] and s not in saved]
    total = sum(chronicle.nbytes(s, moment.end) for s in unnamed)
    if total:
        said.append(_unnamed(moment, unnamed, total))
    return said


def _unnamed(moment: Moment, storages: list[int], nbytes: int) -> Sentence:
    """New storages without a name: the pieces of the program whose values they are, if they are."""
    origins = [moment.origin(s) for s in storages]
    codes = [origin.code for origin in origins if origin is not None and origin.kind == "result"]
    if len(codes) == len(storages):
        return say(
            "data", "data.unnamed-of", n=len(storages), nbytes=nbytes, codes=list(dict.fromkeys(codes))
        )
    return say("data", "data.unnamed", n=len(storages), nbytes=nbytes)


def _kind_of_storage(moment: Moment, storage: int) -> str:
    if moment.chronicle.storage_device[storage] == "meta":
        return "data.meta-storage"
    tensors = moment.chronicle.tensors_on(storage, moment.end)
    traits = (trait.id for t in tensors for trait in moment.chronicle.recorded_traits(t, moment.end))
    return "data.foreign-storage" if "foreign-memory" in traits else "data.own-storage"


def _without_storage(moment: Moment) -> list[Sentence]:
    """New tensors without a storage: of a layout that keeps others, or wrappers."""
    layouts: list[str] = []
    wrappers: list[str] = []
    for tensor, names in moment.bound.items():
        state = moment.state(tensor)
        if state is not None and state.storage is None:
            strided = moment.look(tensor).layout == "torch.strided"
            (wrappers if strided else layouts).append(names[0])
    said = [say("data", "data.no-storage", names=layouts)] if layouts else []
    return [*said, say("data", "data.no-storage-here", names=wrappers)] if wrappers else said


def _other_storages(moment: Moment) -> list[Sentence]:
    """Tensors that look at another storage than before: `.data =`, `set_`, `Module.to`."""
    said = []
    for tensor, name in moment.changed_tensors.items():
        before, after = moment.before(tensor), moment.state(tensor)
        if before is None or after is None or before.storage == after.storage:
            continue
        if before.storage is not None and after.storage is not None:
            old, new = storage_label(before.storage), storage_label(after.storage)
            said.append(say("data", "data.other-storage", name=name, storage=new, old=old))
    return said[:_SAID_ONE_BY_ONE]


def _freed(moment: Moment) -> list[Sentence]:
    chronicle = moment.chronicle
    said: list[Sentence] = []
    if moment.freed:
        total = sum(chronicle.nbytes(s, moment.begin) for s in moment.freed)
        labels = storage_labels(moment.freed)
        said.append(say("data", "data.freed", n=len(labels), storages=labels, nbytes=total))
    if moment.temporaries:
        total = sum(chronicle.nbytes(s, moment.end) for s in moment.temporaries)
        said.append(say("data", "data.temporary", n=len(moment.temporaries), nbytes=total))
    return said


def metadata_sentences(moment: Moment) -> list[Sentence]:
    """Say what a step did to shapes, strides, offsets and dtypes.

    Args:
        moment: The step.

    Returns:
        At least one sentence.
    """
    made = [t for t in moment.bound if moment.before(t) is None and moment.state(t) is not None]
    made = [t for t in made if not is_uninitialized(moment, t)]
    owners = {t: parts for t in made if (parts := _parts(moment, t))}
    made = [t for t in made if not any(t in parts for parts in owners.values())]
    said: list[Sentence] = []
    if len(made) > _SAID_ONE_BY_ONE:
        names = [moment.bound[t][0] for t in made]
        shapes = [tuple_text(moment.look(t).shape) for t in made]
        said.append(say("metadata", "metadata.many", names=names, shapes=shapes))
    else:
        said.extend(_new_tensor(moment, t) for t in made)
    for tensor, parts in list(owners.items())[:_SAID_ONE_BY_ONE]:
        told = [
            f"{moment.bound[p][0]} {tuple_text(view.shape)} {dtype_text(view.dtype)}"
            for p in parts
            for view in (moment.look(p),)
        ]
        said.append(say("metadata", "metadata.parts", name=moment.bound[tensor][0], parts=told))
    for tensor, name in moment.changed_tensors.items():
        before, after = moment.before(tensor), moment.state(tensor)
        if before is not None and after is not None and before.view != after.view:
            old, new = moment.chronicle.trace.views[before.view], moment.look(tensor)
            if _differences(new, old):
                said.append(say("metadata", "metadata.changed", name=name, **_compared(new, old)))
    said.extend(trait_sentences(moment, "metadata"))
    if said:
        return said
    if moment.lit("metadata"):
        return [say("metadata", "metadata.touched")]
    return [say("metadata", "metadata.none")]


def _parts(moment: Moment, tensor: int) -> list[int]:
    """The tensors that a new sparse or nested tensor is made of, as far as they have names."""
    view = moment.look(tensor)
    if view.layout == "torch.strided" and view.shape is not None:
        return []
    name = moment.bound[tensor][0]
    return [
        t
        for t, names in moment.bound.items()
        if t != tensor and names[0].startswith((f"{name}.", f"{name}["))
    ]


def _new_tensor(moment: Moment, tensor: int) -> Sentence:
    """Describe a tensor that got its first name, against what it was made from."""
    name, view = moment.bound[tensor][0], moment.look(tensor)
    state = moment.state(tensor)
    storage = None if state is None else state.storage
    base = moment.made_from(tensor)
    if storage is not None and moment.chronicle.storage_born.get(storage, moment.end) < moment.begin:
        base_state = moment.before(base) if base is not None else None
        if base_state is None or base_state.storage != storage:
            base = moment.shown_before(storage)
        if base is not None:
            return _view_of(moment, tensor, base, storage)
    if view.shape is None or view.stride is None:
        return say(
            "metadata",
            "metadata.new-layout",
            name=name,
            shape=tuple_text(view.shape),
            layout=dtype_text(view.layout),
            dtype=dtype_text(view.dtype),
        )
    old = None if base is None else moment.chronicle.view(base, moment.begin)
    if base is not None and old is not None and not _differences(view, old):
        base_name = moment.chronicle.name(base, moment.begin, moment.frame)
        return say(
            "metadata",
            "metadata.like",
            name=name,
            base=base_name,
            shape=tuple_text(view.shape),
            stride=tuple_text(view.stride),
        )
    if old is not None and view.is_contiguous and _differences(view, old) == ["stride"]:
        return say(
            "metadata",
            "metadata.ordered",
            name=name,
            base=moment.chronicle.name(base or 0, moment.begin, moment.frame),
            stride=tuple_text(view.stride),
            old_stride=tuple_text(old.stride),
        )
    return say(
        "metadata",
        "metadata.new",
        name=name,
        shape=tuple_text(view.shape),
        stride=tuple_text(view.stride),
        offset=view.storage_offset,
        dtype=dtype_text(view.dtype),
        contiguous="yes" if view.is_contiguous else "no",
    )


def _view_of(moment: Moment, tensor: int, base: int, storage: int) -> Sentence:
    name, view = moment.bound[tensor][0], moment.look(tensor)
    old = moment.chronicle.view(base, moment.begin)
    base_name = moment.chronicle.name(base, moment.begin, moment.frame)
    label = storage_label(storage)
    if old is None or not _differences(view, old):
        return say("metadata", "metadata.view-same", name=name, base=base_name, storage=label)
    return say("metadata", "metadata.view", name=name, base=base_name, storage=label, **_compared(view, old))


def _differences(new: TensorView, old: TensorView) -> list[str]:
    facts = ("shape", "stride", "storage_offset", "dtype", "layout", "is_conj", "is_neg")
    return [fact for fact in facts if getattr(new, fact) != getattr(old, fact)]


def _compared(new: TensorView, old: TensorView) -> dict[str, object]:
    """The facts that differ, with what they were; `same` for the others."""
    differing = _differences(new, old)

    def fact(key: str, now: object) -> object:
        return now if key in differing else "same"

    return {
        "shape": fact("shape", tuple_text(new.shape)),
        "old_shape": tuple_text(old.shape),
        "stride": fact("stride", tuple_text(new.stride)),
        "old_stride": tuple_text(old.stride),
        "offset": fact("storage_offset", "?" if new.storage_offset is None else str(new.storage_offset)),
        "old_offset": "?" if old.storage_offset is None else str(old.storage_offset),
        "dtype": fact("dtype", dtype_text(new.dtype)),
        "old_dtype": dtype_text(old.dtype),
        "layout": fact("layout", dtype_text(new.layout)),
        "old_layout": dtype_text(old.layout),
        "conj": "same" if new.is_conj == old.is_conj else ("on" if new.is_conj else "off"),
        "neg": "same" if new.is_neg == old.is_neg else ("on" if new.is_neg else "off"),
    }
