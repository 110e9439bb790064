"""What one step did, gathered from its events: names it bound, storages it wrote, made or freed.

Facts about one execution of one statement, with the calls it made. The modules of the four layers
put them into sentences; nothing is worded here.
"""

from dataclasses import dataclass
from functools import cached_property

from ..schema import Event, Layer, Op, TensorState, TensorView, op_of
from ..schema.origins import Origin
from ..schema.values import element_size
from .chronicle import Chronicle

_MOST_OFFSETS = 1 << 16

_LOOKS_ONLY = frozenset(
    f"aten::{name}_"
    for name in (
        "as_strided",
        "detach",
        "resize",
        "resize_as",
        "set",
        "squeeze",
        "swapaxes",
        "swapdims",
        "t",
        "transpose",
        "unsqueeze",
    )
)
"""In-place ops that change how a tensor looks at memory, and write none of it."""


@dataclass(frozen=True)
class Write:
    """A storage whose values or version a step changed."""

    storage: int
    elements: int | None
    """Elements written; None when unknown."""

    total: int | None
    """Elements the storage holds."""

    by_op: bool
    """Some op of the step wrote it; else memory shared with something that is no tensor was written."""

    counters: dict[tuple[int, int], list[int]]
    """Versions before and after → tensors that were there at both and counted so: `.data` makes a tensor
    with a counter of its own."""


class Moment:
    """One step, seen from its end."""

    def __init__(self, chronicle: Chronicle, number: int) -> None:
        self.chronicle = chronicle
        self.number = number
        self.step = chronicle.step(number)
        self.begin = self.step.first_event
        self.end = chronicle.lost_sight.get(number, chronicle.ends[number])
        self.frame = self.step.frame

    def lit(self, layer: Layer) -> bool:
        """The step's lamp of a layer is on."""
        return layer in self.step.lamps

    @cached_property
    def events(self) -> list[Event]:
        """Its events and those of the calls it made; in deep recursion, the last of them."""
        return self.chronicle.events[self.chronicle.affordable(self.begin, self.end) : self.end]

    @cached_property
    def ops(self) -> list[Op]:
        """Aten ops it ran."""
        return [op_of(self.chronicle.trace, event) for event in self.events if event.kind == "op"]

    def name(self, tensor: int) -> str | None:
        """The reader's short name for a tensor, after the step."""
        return self.chronicle.name(tensor, self.end, self.frame)

    def names_on(self, storage: int) -> list[str]:
        """Names that see a storage, after the step."""
        return self.chronicle.names_on(storage, self.end, self.frame)

    def origin(self, storage: int) -> Origin | None:
        """What made the first tensor on a storage."""
        first = next(iter(self.chronicle.on_storage.get(storage, ())), None)
        return self.chronicle.origins.of(first)

    def state(self, tensor: int) -> TensorState | None:
        """State of a tensor after the step."""
        return self.chronicle.tensor(tensor, self.end)

    def before(self, tensor: int) -> TensorState | None:
        """State of a tensor before the step; None when the step made it."""
        return self.chronicle.tensor(tensor, self.begin)

    def look(self, tensor: int) -> TensorView:
        """How a live tensor looks at its storage after the step."""
        view = self.chronicle.view(tensor, self.end)
        assert view is not None
        return view

    @cached_property
    def bound(self) -> dict[int, list[str]]:
        """Tensors that got a name of the step's frame, each with those names."""
        names = [n for n, changes in self.step.changed.items() if "new" in changes or "rebound" in changes]
        now = self.chronicle.bindings(self.frame, self.end) if names else {}
        found: dict[int, list[str]] = {}
        for name in names:
            if name in now:
                found.setdefault(now[name], []).append(name)
        return found

    @cached_property
    def deleted(self) -> list[str]:
        """Names that were deleted, or lead to no tensor any more."""
        return [name for name, changes in self.step.changed.items() if "deleted" in changes]

    @cached_property
    def changed_tensors(self) -> dict[int, str]:
        """Tensors with a name before and after whose layers the step changed."""
        layers = {"data", "metadata", "autograd", "device"}
        names = [n for n, changes in self.step.changed.items() if layers.intersection(changes)]
        now = self.chronicle.bindings(self.frame, self.end) if names else {}
        found: dict[int, str] = {}
        for name in sorted(names, key=len):
            if name in now:
                found.setdefault(now[name], name)
        return found

    @cached_property
    def new_storages(self) -> list[int]:
        """Storages that came to be and are still there."""
        return [s for s in self._born if self.chronicle.alive(s, self.end)]

    @cached_property
    def temporaries(self) -> list[int]:
        """Storages that came to be and were freed."""
        return [s for s in self._born if not self.chronicle.alive(s, self.end)]

    @cached_property
    def _born(self) -> list[int]:
        born = (event.id for event in self.events if event.kind == "storage")
        return [s for s in dict.fromkeys(born) if self.chronicle.storage_born[s] >= self.begin]

    @cached_property
    def freed(self) -> list[int]:
        """Storages that were there before the step and are not after it."""
        freed = (s for event in self.events if event.kind == "freed" for s in event.storages)
        return [s for s in dict.fromkeys(freed) if self.chronicle.storage_born.get(s, self.end) < self.begin]

    @cached_property
    def writes(self) -> list[Write]:
        """Storages that were there before and after the step and were written by it."""
        touched: dict[int, None] = {}
        by_op: set[int] = set()
        for op in self.ops:
            if self.chronicle.op_name(op).partition(".")[0] in _LOOKS_ONLY:
                continue
            for tensor in op.writes:
                storage = self.chronicle.memory(tensor, self.end)
                if storage is not None and not op.failed:
                    touched[storage] = None
                    by_op.add(storage)
        touched.update((e.storage, None) for e in self.events if e.kind == "bytes" and not e.late)
        unheard = self._changed_unheard()
        touched.update(unheard)
        return [
            self._write(storage, storage in by_op)
            for storage in touched
            if self._was_there(storage)
            and (storage in by_op or storage in unheard or self._bytes_differ(storage))
        ]

    def _changed_unheard(self) -> dict[int, None]:
        """Storages too large for their bytes to be told, whose values changed while no counter moved."""
        found: dict[int, None] = {}
        for tensor, name in self.changed_tensors.items():
            before, after = self.before(tensor), self.state(tensor)
            if (
                before is None
                or after is None
                or after.storage is None
                or "data" not in self.step.changed[name]
            ):
                continue
            same = before.storage == after.storage and before.version == after.version
            if after.storage is None:
                continue
            sizes = {self.chronicle.nbytes(after.storage, moment) for moment in (self.begin, self.end)}
            if same and len(sizes) == 1 and after.storage not in self.chronicle.bytes:
                found[after.storage] = None
        return found

    @cached_property
    def recounted(self) -> list[tuple[int, int, int]]:
        """Storages whose version moved though nothing was written: id, version before and after."""
        written = {write.storage for write in self.writes}
        found: dict[int, tuple[int, int, int]] = {}
        for event in self.events:
            if event.kind != "tensor" or event.storage is None or event.storage in written:
                continue
            before, after = self.before(event.id), self.state(event.id)
            if before is None or after is None or before.storage != after.storage or after.storage is None:
                continue
            if before.version is not None and after.version is not None and before.version != after.version:
                found[after.storage] = (after.storage, before.version, after.version)
        return list(found.values())

    def _was_there(self, storage: int) -> bool:
        return self.chronicle.alive(storage, self.begin) and self.chronicle.alive(storage, self.end)

    def _bytes_differ(self, storage: int) -> bool:
        timeline = self.chronicle.bytes.get(storage)
        if timeline is None or timeline.at(self.begin) is None:
            return False
        before = self.chronicle.storage_bytes(storage, self.begin)
        after = self.chronicle.storage_bytes(storage, self.end)
        if self.chronicle.nbytes(storage, self.begin) != self.chronicle.nbytes(storage, self.end):
            if before is None or after is None:
                return False  # resized; what was added was not written
            common = min(len(before), len(after))
            return before[:common] != after[:common]
        if before is None and after is not None:
            return storage in self._changed_storages  # seen again, and perhaps as it was all along
        return before is None or before != after

    @cached_property
    def _changed_storages(self) -> set[int]:
        """Storages of the named tensors whose data the step changed."""
        named = self.chronicle.bindings(self.frame, self.end)
        changed = [named[n] for n, layers in self.step.changed.items() if "data" in layers and n in named]
        states = [state for tensor in changed if (state := self.state(tensor)) is not None]
        return {state.storage for state in states if state.storage is not None}

    def _write(self, storage: int, by_op: bool) -> Write:
        tensors = self.chronicle.tensors_on(storage, self.end)
        sizes = [element_size(self.look(t).dtype) for t in tensors]
        size = min((s for s in sizes if s), default=None)
        nbytes = self.chronicle.nbytes(storage, self.end)
        elements = self._offsets_written(storage) if by_op else self._elements_changed(storage, size)
        counters: dict[tuple[int, int], list[int]] = {}
        for tensor in tensors:
            before, after = self.before(tensor), self.state(tensor)
            same = before is not None and after is not None and before.storage == after.storage
            if same and before and after and before.version is not None and after.version is not None:
                counters.setdefault((before.version, after.version), []).append(tensor)
        return Write(storage, elements, nbytes // size if size else None, by_op, counters)

    def _offsets_written(self, storage: int) -> int | None:
        """How many elements the ops of the step wrote; None when that is not known exactly."""
        written: set[int] = set()
        whole = 0
        for tensor in self._writing.get(storage, ()):
            view = self.chronicle.shape(tensor, self.end)
            if view is None:
                continue
            whole = max(whole, count(view))
            offsets = offsets_of(view)
            if offsets is None:
                return None
            written |= offsets
        return len(written) or whole or None

    @cached_property
    def _writing(self) -> dict[int, dict[int, None]]:
        """The tensors that the step's ops wrote through, by storage."""
        found: dict[int, dict[int, None]] = {}
        for op in self.ops:
            for tensor in op.writes:
                storage = self.chronicle.memory(tensor, self.end)
                if storage is not None:
                    found.setdefault(storage, {})[tensor] = None
        return found

    def _elements_changed(self, storage: int, size: int | None) -> int | None:
        before = self.chronicle.storage_bytes(storage, self.begin)
        after = self.chronicle.storage_bytes(storage, self.end)
        if before is None or after is None or not size or len(before) != len(after):
            return None
        return sum(before[i : i + size] != after[i : i + size] for i in range(0, len(after), size))

    def made_from(self, tensor: int) -> int | None:
        """The nearest tensor with a name before the step that `tensor` was computed from."""
        seen: set[int] = set()
        todo = [tensor]
        for candidate in todo:
            if candidate in seen:
                continue
            seen.add(candidate)
            if candidate != tensor and self.chronicle.name(candidate, self.begin, self.frame) is not None:
                return candidate
            made = self.chronicle.maker(candidate, self.end)
            if made is not None and made >= self.begin:
                todo.extend(self.chronicle.op(made).inputs)
        return None

    def shown_before(self, storage: int) -> int | None:
        """A tensor with a name that already viewed a storage before the step."""
        for tensor in self.chronicle.tensors_on(storage, self.begin):
            if self.chronicle.name(tensor, self.begin, self.frame) is not None:
                return tensor
        return None


class Moments:
    """Every step of a trace, each gathered once."""

    def __init__(self, chronicle: Chronicle) -> None:
        self.chronicle = chronicle
        self._known: dict[int, Moment] = {}

    def of(self, number: int) -> Moment:
        """What step `number` did."""
        if number not in self._known:
            self._known[number] = Moment(self.chronicle, number)
        return self._known[number]


def count(view: TensorView) -> int:
    """Number of elements a tensor shows."""
    n = 1
    for size in view.shape or ():
        n *= size
    return n


def offsets_of(view: TensorView) -> set[int] | None:
    """Where the elements of a strided tensor lie; None when it is not strided or too large to list."""
    if (
        view.shape is None
        or view.stride is None
        or view.storage_offset is None
        or count(view) > _MOST_OFFSETS
    ):
        return None
    offsets = {view.storage_offset} if count(view) else set()
    for size, stride in zip(view.shape, view.stride, strict=True):
        offsets = {offset + i * stride for offset in offsets for i in range(size)}
    return offsets
