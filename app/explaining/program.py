"""The program's syntax tree beside its trace: which node of the tree a step executed.

Some mistakes are only certain when both agree: what the reader wrote and what it did.
"""

import ast
from collections.abc import Iterator
from functools import cached_property

from .moment import Moment, Moments


class Program:
    """A trace and the syntax tree of its source."""

    def __init__(self, moments: Moments) -> None:
        self._moments = moments
        self.chronicle = moments.chronicle
        self.trace = self.chronicle.trace

    @cached_property
    def tree(self) -> ast.Module:
        """The syntax tree; empty when the source cannot be parsed."""
        try:
            return ast.parse(self.trace.source)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return ast.Module(body=[], type_ignores=[])

    @cached_property
    def _statements(self) -> dict[tuple[int, str], ast.stmt]:
        found: dict[tuple[int, str], ast.stmt] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.stmt):
                found.setdefault((node.lineno, type(node).__name__), node)
        return found

    @cached_property
    def in_loops(self) -> set[ast.stmt]:
        """Statements inside the body of a loop."""
        return {
            inner
            for loop in ast.walk(self.tree)
            if isinstance(loop, ast.For | ast.While)
            for part in loop.body
            for inner in ast.walk(part)
            if isinstance(inner, ast.stmt)
        }

    def statement(self, step: int) -> ast.stmt | None:
        """The statement that a step executed."""
        found = self.chronicle.statement(step)
        return self._statements.get((found.range.line, found.kind))

    def steps(self, *kinds: type[ast.stmt]) -> Iterator[tuple[int, ast.stmt]]:
        """Steps that executed a statement of these kinds and were not left by an exception, with it."""
        names = {kind.__name__ for kind in kinds}
        for number, step in enumerate(self.trace.steps, 1):
            if not step.raised and self.trace.statements[step.statement].kind in names:
                node = self.statement(number)
                if node is not None:
                    yield number, node

    def executed(self, line: int) -> bool:
        """A statement that stands on a line was executed."""
        return line in self._executed

    @cached_property
    def _executed(self) -> set[int]:
        places = {step.statement: self.trace.statements[step.statement].range for step in self.trace.steps}
        return {line for place in places.values() for line in range(place.line, place.end_line + 1)}

    def moment(self, step: int) -> Moment:
        """What a step did."""
        return self._moments.of(step)

    def tensor(self, node: ast.AST, step: int, *, before: bool = True) -> int | None:
        """The tensor an expression leads to, when it is one of the reader's names."""
        moment = self.chronicle.step(step).first_event if before else self.chronicle.ends[step]
        frame = self.chronicle.step(step).frame
        if not isinstance(node, ast.Name | ast.Attribute | ast.Subscript):
            return None
        name = ast.unparse(node)
        for owner in dict.fromkeys((frame, 0)):
            tensor = self.chronicle.bindings(owner, moment).get(name)
            if tensor is not None:
                return tensor
        return None

    def read_after(self, name: str, line: int) -> bool:
        """A variable is read on a later line."""
        return any(read > line for read in self.reads(name))

    def reads(self, name: str) -> list[int]:
        """Lines on which a variable is read."""
        return self._reads.get(name, [])

    @cached_property
    def _reads(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                found.setdefault(node.id, []).append(node.lineno)
        return found


def root_name(node: ast.AST) -> str | None:
    """The variable an expression starts from: `raw` of `raw[0].x`."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Starred):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def mentions(node: ast.AST, name: str) -> bool:
    """A variable occurs in an expression."""
    return any(isinstance(inner, ast.Name) and inner.id == name for inner in ast.walk(node))


def called_method(node: ast.AST) -> tuple[ast.expr, str] | None:
    """Receiver and name of a method call: `x`, `to` of `x.to("cpu")`."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.value, node.func.attr
    return None
