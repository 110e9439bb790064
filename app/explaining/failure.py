"""The failing call of a trace: its operands with the reader's names, and searches for what led to it.

Here is how a cause is found in the trace (who made this tensor, who wrote this storage, where the
graph was cut); which cause belongs to which error is decided in `errors`.
"""

import ast
import re
from functools import cached_property
from typing import Any

from ..schema import Operand, SavedTensor, SourceRange, TensorView, Trace
from .chronicle import Chronicle
from .wording import dtype_text


class FailedCall:
    """What was being done when the program raised."""

    def __init__(self, chronicle: Chronicle, match: re.Match[str] | None) -> None:
        self.chronicle = chronicle
        self.match = match
        self.outcome = chronicle.trace.outcome
        self.step = _innermost_raising(chronicle.trace)
        self.moment = chronicle.ends[self.step] if self.step else chronicle.end
        self.frame = chronicle.step(self.step).frame if self.step else 0

    @property
    def line(self) -> int | None:
        """The line that raised."""
        return self.outcome.line

    def group(self, name: str) -> str:
        """A part of the exception's message."""
        return (self.match.group(name) or "") if self.match else ""

    def group_or_none(self, name: str) -> str | None:
        """A part of the exception's message, where the rule has such a part."""
        return self.match.groupdict().get(name) if self.match else None

    @property
    def groups(self) -> dict[str, Any]:
        """The named parts of the exception's message; `?` for one that is not there."""
        return {k: v or "?" for k, v in self.match.groupdict().items()} if self.match else {}

    @cached_property
    def tensors(self) -> list[int]:
        """Ids of the operands of the call that are tensors, each once."""
        return [operand.tensor for operand in self.arguments if operand.tensor is not None]

    @cached_property
    def arguments(self) -> list[Operand]:
        """Operands of the call that are tensors, each once."""
        failure = self.outcome.failure
        found: dict[int, Operand] = {}
        for operand in failure.operands if failure else ():
            if operand.tensor is not None:
                found.setdefault(operand.tensor, operand)
        return list(found.values())

    @property
    def api(self) -> str:
        """Last part of the API call's name: `backward`."""
        failure = self.outcome.failure
        return (failure.api or "").rsplit(".", 1)[-1] if failure else ""

    def name(self, tensor: int | None) -> str | None:
        """The reader's name for a tensor at the moment of the failure."""
        if tensor is None:
            return None
        found = self.chronicle.name(tensor, self.moment, self.frame)
        return found if found is not None else self._name_told(tensor)

    def _name_told(self, tensor: int) -> str | None:
        """The name noted with the failure, if it is a name and not the expression that made the tensor."""
        for operand in self.arguments:
            if operand.tensor == tensor and operand.name and operand.name.isidentifier():
                return operand.name
        return None

    def label(self, tensor: int) -> str:
        """The reader's name, else the expression that made a tensor, else its shape."""
        name = self.name(tensor)
        if name is not None:
            return name
        told = next((o for o in self.arguments if o.tensor == tensor), None)
        return (told.name or told.text) if told else "?"

    def view(self, tensor: int | None) -> TensorView | None:
        """How a tensor looked when the call failed."""
        return self.chronicle.shape(tensor, self.moment)

    @cached_property
    def named(self) -> list[int]:
        """Operands with a name of the reader's."""
        return [t for t in self.tensors if self.name(t) is not None]

    @cached_property
    def subjects(self) -> list[int]:
        """Operands with a name; where none has one, the named tensors they were computed from, as far as
        ops tell, else those the failing expression mentions. In the order the expression does."""
        if self.named:
            return self.named
        mentioned = self._mentioned()
        found: dict[int, None] = {}
        for tensor in self.tensors:
            found.update(dict.fromkeys(self._named_ancestors(tensor)))
        ancestors = sorted(found, key=lambda t: mentioned.index(t) if t in mentioned else len(mentioned))
        return ancestors or mentioned

    @cached_property
    def roots(self) -> list[int]:
        """The first operand, or the named tensors it was computed from: what `backward` begins at."""
        first = self.tensors[:1]
        return (self._named_ancestors(first[0]) if first else []) or self.subjects

    def _mentioned(self) -> list[int]:
        """Tensors that the failing expression names, in its order."""
        known = self.chronicle.bindings(0, self.moment) | self.chronicle.bindings(self.frame, self.moment)
        expressions = [n for n in self.failing_expressions() if isinstance(n, ast.expr)]
        expressions.sort(key=lambda n: (n.lineno, n.col_offset, -(n.end_col_offset or 0)))
        tensors = [known.get(ast.unparse(node)) for node in expressions]
        return list(dict.fromkeys(t for t in tensors if t is not None))

    def _named_ancestors(self, tensor: int) -> list[int]:
        found: dict[int, None] = {}
        seen: set[int] = set()
        todo = [tensor]
        for candidate in todo:
            if candidate in seen:
                continue
            seen.add(candidate)
            if self.name(candidate) is not None:
                found[candidate] = None
                continue
            maker = self.chronicle.maker(candidate, self.moment)
            if maker is not None:
                todo.extend(self.chronicle.op(maker).inputs)
        return list(found)

    def names_of(self, tensors: list[int]) -> list[str]:
        """Names of tensors, each once."""
        return list(dict.fromkeys(n for t in tensors if (n := self.name(t)) is not None))

    # ---- searches

    def line_of(self, event: int | None) -> int | None:
        """The line of an event; None when it belongs to the very statement that failed."""
        if event is None:
            return None
        step = self.chronicle.step_at(event)
        if not 1 <= step <= len(self.chronicle.trace.steps) or step == self.step:
            return None
        return self.chronicle.line_of_step(step)

    def made_on(self, tensor: int | None) -> int | None:
        """The line a tensor came from."""
        return None if tensor is None else self.line_of(self.chronicle.born(tensor))

    def grad_fn(self, tensor: int) -> int | None:
        """The node that made a tensor."""
        state = self.chronicle.last_known(tensor, self.moment)
        return None if state is None else state.grad_fn

    def is_leaf(self, tensor: int | None) -> bool:
        """Whether a tensor requires grad without a node that made it."""
        return tensor is not None and self._requires_grad(tensor) and self.grad_fn(tensor) is None

    def cut(self, tensor: int) -> int | None:
        """The tensor, `tensor` or one it came from, at which gradients stop: made from one that requires
        grad without requiring it itself."""
        made_into: dict[int, int | None] = {tensor: None}
        todo = [tensor]
        for candidate in todo:
            maker = self.chronicle.maker(candidate, self.moment)
            if maker is None:
                continue
            inputs = self.chronicle.op(maker).inputs
            if any(self._requires_grad(i) for i in inputs) and not self._requires_grad(candidate):
                return self._first_without_gradient(candidate, made_into)
            for each in inputs:
                if each not in made_into:
                    made_into[each] = candidate
                    todo.append(each)
        return None

    def _first_without_gradient(self, tensor: int, made_into: dict[int, int | None]) -> int:
        """The first on the way from `tensor` that can have no gradient, where it is not known of `tensor`.

        A tensor that did not outlive its line was seen below autograd only, where none requires grad.
        """
        each: int | None = tensor
        while each is not None and self.chronicle.last_known(each, self.moment) is None:
            view = self.view(each)
            if view is not None and not can_have_gradient(view.dtype):
                break
            each = made_into[each]
        return tensor if each is None else each

    def _requires_grad(self, tensor: int) -> bool:
        view = self.chronicle.view(tensor, self.moment)
        return view is not None and view.requires_grad

    def first_on_device(self, tensor: int) -> int:
        """The earliest tensor on the same device that `tensor` came from."""
        view = self.view(tensor)
        seen = {tensor}
        while True:
            maker = self.chronicle.maker(tensor, self.moment)
            inputs = self.chronicle.op(maker).inputs if maker is not None else ()
            on_it = [
                i
                for i in inputs
                if i not in seen and view and (v := self.view(i)) and v.device == view.device
            ]
            if not on_it:
                return tensor
            tensor = on_it[0]
            seen.add(tensor)

    def freeing(self, tensor: int) -> int | None:
        """Number of the event that last freed saved tensors of the graph behind a tensor, before the
        statement that failed: a backward pass may free some before it fails."""
        behind = self.chronicle.reachable([self.grad_fn(tensor)])
        begin = self.chronicle.step(self.step).first_event if self.step else self.moment
        for number in range(begin - 1, -1, -1):
            event = self.chronicle.events[number]
            if event.kind == "saved-freed" and any(node in behind for node in event.nodes):
                return number
        return None

    def last_write(self) -> int | None:
        """Number of the last op that wrote a tensor in place."""
        for number in range(self.chronicle.end - 1, -1, -1):
            if self.chronicle.events[number].kind != "op":
                continue
            op = self.chronicle.op(number)
            if op.writes and not op.failed:
                return number
        return None

    def stale(self, node_name: str, version: int | None, expected: int | None) -> tuple[int, int, int] | None:
        """The stale saved tensor an error speaks of: number of the event that made it so, node, slot.

        Args:
            node_name: Node that saved it, as far as the message says; else empty.
            version: The version it is at.
            expected: The version it was saved at.
        """
        behind = self.chronicle.reachable([self.grad_fn(tensor) for tensor in self.tensors])
        found: dict[int, list[tuple[int, int, int]]] = {}
        for number, event in enumerate(self.chronicle.events[: self.moment]):
            if event.kind != "saved" or not event.stale or event.node not in self.chronicle.nodes:
                continue
            node = self.chronicle.nodes[event.node]
            if event.slot >= len(node.saved):
                continue
            slot = node.saved[event.slot]
            fits = (slot.version == expected) * 2 + (event.node in behind) * 8
            told = node_name.removesuffix("Backward")
            fits += (told != "" and told in self._told_of(event.node, slot)) * 4
            fits += self.version_on(slot.storage) == version
            found.setdefault(fits, []).append((number, event.node, event.slot))
        return self._first_to_run(found[max(found)]) if found else None

    def _told_of(self, node: int, slot: SavedTensor) -> set[str]:
        """What a message about a saved tensor may call the node behind it: the one that saved it, for its
        own output, else the one that made the tensor, which a write in place replaces."""
        made = None if slot.tensor is None else self.grad_fn(slot.tensor)
        names = (self.chronicle.node_name(n) for n in (node, made) if n is not None)
        return {name.removesuffix("0").removesuffix("Backward") for name in names}

    def _first_to_run(self, found: list[tuple[int, int, int]]) -> tuple[int, int, int]:
        """Of stale saved tensors, the one that a backward pass comes to first, where it refuses."""
        later: set[int] = set()
        for _, node, _ in found:
            later.update(n for n in self.chronicle.reachable([node]) if n != node)
        first = [each for each in found if each[1] not in later] or found
        latest = max(node for _, node, _ in first)
        return next(each for each in first if each[1] == latest)

    def version_on(self, storage: int | None) -> int | None:
        """The version counter of a storage's tensors when the call failed."""
        if storage is None:
            return None
        states = (self.chronicle.tensor(t, self.moment) for t in self.chronicle.on_storage.get(storage, ()))
        return max((s.version for s in states if s is not None and s.version is not None), default=None)

    def writer(self, storage: int, before: int) -> tuple[int, int | None] | None:
        """The last op before a moment that wrote a storage: its number and the tensor it wrote."""
        for number in range(before - 1, -1, -1):
            if self.chronicle.events[number].kind != "op":
                continue
            for tensor in self.chronicle.op(number).writes:
                if self.chronicle.memory(tensor, self.chronicle.end) == storage:
                    return number, tensor
        return None

    def grad_cleared(self, tensor: int) -> int | None:
        """Number of the event by which `.grad` of a tensor last became None."""
        timeline = self.chronicle.tensors.get(tensor)
        if timeline is None:
            return None
        cleared, had = None, None
        for number, state in zip(timeline.moments, timeline.values, strict=True):
            now = state.grad if state is not None else None
            if had is not None and now is None:
                cleared = number
            had = now
        return cleared

    def failing_expressions(self) -> list[ast.AST]:
        """The sub-expression that raised, and what is in it."""
        place = self.outcome.range
        return [] if place is None else _parsed(_piece(self.chronicle.trace.source, place))

    def statement_expressions(self) -> list[ast.AST]:
        """Everything in the statement that raised."""
        if not self.step:
            return []
        text = _piece(self.chronicle.trace.source, self.chronicle.statement(self.step).range)
        return _parsed(text) or _parsed(text.rstrip() + " pass")


def can_have_gradient(dtype: str) -> bool:
    """Whether tensors of a dtype can require grad: of real or complex floating point.

    >>> can_have_gradient("torch.bfloat16"), can_have_gradient("torch.int64")
    (True, False)
    """
    return dtype_text(dtype).startswith(("float", "bfloat", "complex"))


def _piece(source: str, place: SourceRange) -> str:
    lines = source.splitlines()[place.line - 1 : place.end_line]
    if not lines:
        return ""
    lines[-1] = lines[-1][: place.end_column]
    lines[0] = lines[0][place.column :]
    return "\n".join(lines)


def _parsed(text: str) -> list[ast.AST]:
    """The nodes of a piece of source; none when it cannot stand alone."""
    for attempt in (text, f"({text})"):
        try:
            return list(ast.walk(ast.parse(attempt)))
        except (SyntaxError, ValueError):
            continue
    return []


def _innermost_raising(trace: Trace) -> int:
    """Number of the step in which the exception that ended the program was raised; 0 when none was."""
    number = len(trace.steps)
    while number > 1 and trace.steps[number - 1].raised and trace.steps[number - 2].raised:
        number -= 1
    return number if number and trace.steps[number - 1].raised else 0
