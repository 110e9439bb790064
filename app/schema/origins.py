"""What made a tensor that has no name: the piece of the program, or the call of PyTorch inside it.

`x @ W` in `relu(x @ W)` has no name but a text and a line. What a library makes on the way to that has
not even a text of its own: it is known by the call it was made in. Read off the ops of a trace; an op
whose output the next op of the same piece takes in did not give that piece its value. The browser has a
twin of this module (`model/origins.ts`).
"""

from dataclasses import dataclass
from typing import Literal

from .ops import OpCall
from .trace import SourceRange, Trace

_SAVING = "aten::detach"
"""Saving an output for backward makes another tensor of it, which the reader did not ask for."""

_LONGEST = 40
_FARTHEST = 400
"""Events after an op that are asked whether they take in what it gave."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a tensor came from."""

    kind: Literal["result", "inside", "backward"]
    """The value of a piece of the program; made on the way to it; or made by a node during backward."""

    code: str
    """The piece of the program; the node's name for `backward`."""

    line: int
    """Where it is."""

    api: str
    """The call of PyTorch inside which it was made; empty when none was heard."""


class Origins:
    """Origins of the tensors of a trace, by id.

    Args:
        trace: The trace.
    """

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._lines = trace.source.splitlines()
        self._ops: list[tuple[OpCall, int]] = []
        """Ops in order, each with its step."""
        self._made: dict[int, int] = {}
        for number, step in enumerate(trace.steps):
            for event in step.events:
                if event.kind == "op":
                    for output in event.outputs:
                        if output not in event.inputs:
                            self._made.setdefault(output, len(self._ops))
                    self._ops.append((event, number))

    def of(self, tensor: int | None) -> Origin | None:
        """The origin of a tensor; None when no op that is told of made it."""
        number = None if tensor is None else self._made.get(tensor)
        if number is None or tensor is None:
            return None
        call, step = self._ops[number]
        site = self._trace.sites[call.site]
        names = self._trace.names
        api = "" if site.api is None else names[site.api]
        if names[site.op] == _SAVING and api != "detach" and call.inputs:
            return self.of(call.inputs[0])
        if site.node is not None:
            statement = self._trace.statements[self._trace.steps[step].statement]
            return Origin("backward", names[site.node], statement.range.line, "")
        if site.range is None:
            return None
        place = self._trace.ranges[site.range]
        inside = self._is_taken_in(tensor, number, site.range)
        return Origin("inside" if inside and api else "result", self._text(place), place.line, api)

    def _is_taken_in(self, tensor: int, number: int, place: int) -> bool:
        """An op of the same piece of the program, and of the same execution of it, takes the tensor in."""
        execution = self._ops[number][1]
        for call, step in self._ops[number + 1 : number + _FARTHEST]:
            site = self._trace.sites[call.site]
            if step != execution or site.range != place:
                return False
            if tensor in call.inputs and self._trace.names[site.op] != _SAVING:
                return True
        return False

    def _text(self, place: SourceRange) -> str:
        lines = self._lines[place.line - 1 : place.end_line]
        if not lines:
            return "?"
        lines[-1] = lines[-1][: place.end_column]
        lines[0] = lines[0][place.column :]
        text = " ".join(" ".join(lines).split())
        return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
