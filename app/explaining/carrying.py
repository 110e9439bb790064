"""What a loop takes from one round into the next together with the graph that made it: `h = cell(x, h)`.

The `backward()` of a round frees that graph, and the one of the next round ends in it. A name is carried when
the loop reads it before it assigns it, and the failed pass goes through what it is bound to, into nodes that
the loop itself made and a pass before freed. A graph that was made before the loop is nothing carried, nor is
a sum that is only kept for printing. What an object carries in an attribute is not looked for.
"""

import ast
import re
from collections.abc import Iterator

from ..schema import Edit
from .edits import Text
from .failure import FailedCall

_Loop = ast.For | ast.While
_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef

_WITHOUT_GRAPH = frozenset(("detach", "data", "item"))


def carried(call: FailedCall) -> list[str]:
    """Names that the loop around a failed `backward()` carries with a graph that was freed."""
    loop = _loop_around(Text(call.chronicle.trace.source).tree, call.line)
    failed = _Pass(call)
    if loop is None or not failed.needs_what_was_made_in(loop):
        return []
    return [name for name in _taken_along(loop) if failed.finds(name)]


def detached(text: Text, call: FailedCall, names: list[str]) -> tuple[Edit, ...]:
    """Has the next round begin with the values alone: a line at the end of the loop's body.

    Args:
        text: The program.
        call: The failed call.
        names: As `carried` found them.

    Returns:
        No edit where it is not certain how one of them is detached, or where.
    """
    loop = _loop_around(text.tree, call.line)
    failed = _Pass(call)
    values = [_detached(name, failed.finds(name)) for name in names]
    if loop is None or isinstance(loop.body[-1], ast.Continue | ast.Break | ast.Return | ast.Raise):
        return ()
    return text.line_after(loop.body[-1], f"{', '.join(names)} = {', '.join(values)}") if all(values) else ()


class _Pass:
    """The pass that failed: the nodes it would go through, and what was freed of them before."""

    def __init__(self, call: FailedCall) -> None:
        self._call = call
        self._nodes = call.chronicle.reachable([call.grad_fn(tensor) for tensor in call.tensors])
        self._freed = next((event for t in call.tensors if (event := call.freeing(t)) is not None), None)

    def needs_what_was_made_in(self, loop: _Loop) -> bool:
        """Some node that it comes to, and that was freed before, was made while the loop ran."""
        call, chronicle = self._call, self._call.chronicle
        inside = range(loop.lineno, (call.line or 0) + 1)
        begun = next(
            (
                step.first_event
                for number, step in enumerate(chronicle.trace.steps, start=1)
                if step.frame == call.frame and chronicle.line_of_step(number) in inside
            ),
            None,
        )
        if begun is None or self._freed is None:
            return False
        event = chronicle.events[self._freed]
        nodes = event.nodes if event.kind == "saved-freed" else ()
        return any(node in self._nodes and chronicle.node_born.get(node, 0) >= begun for node in nodes)

    def finds(self, name: str) -> list[str]:
        """Where it comes through tensors under a name: itself, or its entries.

        As they are now, or as they were when the graph was freed: what `lstm` returns beside the output that
        a loss is made of is needed in the next round only.
        """
        call, chronicle = self._call, self._call.chronicle
        found: dict[str, None] = {}
        for moment in (self._freed, call.moment):
            bindings = {} if moment is None else chronicle.bindings(call.frame, moment)
            for path, tensor in bindings.items():
                if path != name and not path.startswith(f"{name}["):
                    continue
                state = chronicle.last_known(tensor, moment or 0)
                if state is not None and state.grad_fn in self._nodes:
                    found[path] = None
        return list(found)


def _detached(name: str, bound: list[str]) -> str:
    """What is bound to a name, without its graph; empty where it is neither a tensor nor a tuple of them."""
    if bound == [name]:
        return f"{name}.detach()"
    if all(re.fullmatch(r"\[\d+\]", each.removeprefix(name)) for each in bound):
        return f"tuple(each.detach() for each in {name})"
    return ""


def _loop_around(tree: ast.Module, line: int | None) -> _Loop | None:
    """The innermost loop whose body has a line, within the function that has it."""
    found: _Loop | None = None
    innermost = 0
    for node in ast.walk(tree):
        if not isinstance(node, _Loop | _Function) or line is None:
            continue
        first = node.lineno if isinstance(node, _Function) else node.body[0].lineno
        last = node.end_lineno if isinstance(node, _Function) else node.body[-1].end_lineno
        if first <= line <= (last or 0) and node.lineno > innermost:
            innermost = node.lineno
            found = node if isinstance(node, _Loop) else None
    return found


def _taken_along(loop: _Loop) -> Iterator[str]:
    first: dict[str, bool] = {}
    assigned: set[str] = set()
    for name, is_assigned in _uses(loop.body):
        first.setdefault(name, is_assigned)
        if is_assigned:
            assigned.add(name)
    return (name for name, is_assigned in first.items() if not is_assigned and name in assigned)


def _uses(statements: list[ast.stmt]) -> Iterator[tuple[str, bool]]:
    """Names as they are read (False) and assigned (True), in the order in which a round does both."""
    for statement in statements:
        if isinstance(statement, _Function):
            continue
        parts = [
            n for n in ast.iter_child_nodes(statement) if not isinstance(n, ast.stmt | ast.excepthandler)
        ]
        nodes = [node for part in parts for node in ast.walk(part)]
        nodes.sort(key=lambda node: (getattr(node, "lineno", 0), getattr(node, "col_offset", 0)))
        cut = {
            id(node.value)
            for node in nodes
            if isinstance(node, ast.Attribute) and node.attr in _WITHOUT_GRAPH
        }
        names = [node for node in nodes if isinstance(node, ast.Name) and id(node) not in cut]
        if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
            yield statement.target.id, False
        yield from ((name.id, False) for name in names if isinstance(name.ctx, ast.Load))
        yield from ((name.id, True) for name in names if not isinstance(name.ctx, ast.Load))
        for block in ("body", "orelse", "finalbody"):
            yield from _uses(getattr(statement, block, []))
