"""Quiet mistakes about gradients, shapes of losses and optimizers.

As in `quiet_data`: one function per class, reported only when the trace proves it.
"""

import ast
import re
from collections.abc import Iterator

from ..schema import Note
from ..schema.values import values_of
from .clearing import clear_before
from .moment import Moment
from .program import Program, called_method, mentions, root_name
from .quiet_data import note

_NON_LEAF_GRAD = ".grad attribute of a Tensor that is not a leaf Tensor is being accessed"
_BROADCAST = re.compile(
    r"Using a target size \(torch\.Size\((?P<target>\[[^\]]*\])\)\) that is different to the input size "
    r"\(torch\.Size\((?P<input>\[[^\]]*\])\)\)"
)


def warned(program: Program) -> Iterator[Note]:
    """What PyTorch itself warns of: `.grad` of a non-leaf, a loss of two shapes."""
    for number, event in enumerate(program.chronicle.events):
        if event.kind != "warning":
            continue
        line = event.line if event.line is not None else program.chronicle.line_at(number)
        if line is None:
            continue
        if _NON_LEAF_GRAD in event.message:
            yield note(line, "grad-none")
        elif match := _BROADCAST.search(event.message):
            yield note(line, "silent-broadcast", **match.groupdict())


def crossed_differences(program: Program) -> Iterator[Note]:
    """`((prediction - target) ** 2).mean()` of (N, 1) and (N,): the mean is over N × N differences."""
    looked_at: set[ast.stmt] = set()
    for number, node in program.steps(ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Return):
        if node in looked_at:
            continue
        looked_at.add(node)
        for difference in _reduced_differences(node):
            tensors = [program.tensor(side, number) for side in (difference.left, difference.right)]
            views = [program.chronicle.view(tensor, program.moment(number).begin) for tensor in tensors]
            shapes = [list(view.shape) for view in views if view is not None and view.shape is not None]
            if len(shapes) == 2 and _crossed(*sorted(shapes, key=len)):
                yield note(node.lineno, "silent-broadcast", input=str(shapes[0]), target=str(shapes[1]))
                break


def _reduced_differences(node: ast.stmt) -> Iterator[ast.BinOp]:
    """`a - b` below `(…).mean()`, `torch.mean(…)` and the like."""
    for call in ast.walk(node):
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
            continue
        if call.func.attr in ("mean", "sum"):
            for inner in ast.walk(call):
                if isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.Sub):
                    yield inner


def _crossed(row: list[int], column: list[int]) -> bool:
    """(N,) and (N, 1)."""
    return len(row) == 1 and row[0] > 1 and column == [row[0], 1]


def forgotten_zero_grads(program: Program) -> Iterator[Note]:
    """`backward()` adds to a gradient that was already used, because nobody cleared it."""
    used: dict[int, int] = {}
    """Leaf → line whose backward made the gradient that has been used since."""
    made: dict[int, int] = {}
    for number in range(1, len(program.trace.steps) + 1):
        moment = program.moment(number)
        line = program.chronicle.line_of_step(number)
        backward = any(op.node is not None for op in moment.ops)
        node = program.statement(number)
        changed = _changed_grads(moment)
        for leaf, state in changed.items():
            if state == "gone" or not backward:
                used.pop(leaf, None)
                made.pop(leaf, None)
            elif leaf in used and state == "added":
                name = moment.name(leaf)
                if name is not None and program.chronicle.step(number).executions == 1:
                    said = note(line, "forgotten-zero-grad", name=name, earlier=used.pop(leaf))
                    yield said.model_copy(update={"fix": clear_before(program, line, name)})
                made[leaf] = line
            else:
                made[leaf] = line
                used.pop(leaf, None)
        if not backward and node is not None:
            for leaf in _grads_used(moment, node, made):
                used[leaf] = made[leaf]


def _changed_grads(moment: Moment) -> dict[int, str]:
    """Leaves whose gradient came (`new`), grew (`added`) or went (`gone`) in a step."""
    found: dict[int, str] = {}
    written = {w.storage for w in moment.writes}
    for tensor in moment.chronicle.had_grads:
        before, after = moment.before(tensor), moment.state(tensor)
        had, has = (before.grad if before else None), (after.grad if after else None)
        if had is not None and has is None:
            found[tensor] = "gone"
        elif had is None and has is not None:
            found[tensor] = "new"
        elif had is not None and has is not None:
            grad = moment.state(has)
            if had != has or (grad is not None and grad.storage in written):
                found[tensor] = "added"
    return found


def _grads_used(moment: Moment, node: ast.stmt, made: dict[int, int]) -> list[int]:
    """Leaves whose gradient an assignment reads, or an update of the leaf itself takes."""
    found = []
    reads_grad = isinstance(node, ast.Assign | ast.AugAssign) and any(
        isinstance(inner, ast.Attribute) and inner.attr == "grad" for inner in ast.walk(node.value)
    )
    for leaf in made:
        state = moment.before(leaf)
        grad = None if state is None else state.grad
        for op in moment.ops:
            if grad is None or grad not in op.inputs:
                continue
            if grad not in op.writes and (reads_grad or leaf in op.writes):
                found.append(leaf)
                break
    return found


def kept_graphs(program: Program) -> Iterator[Note]:
    """`total = total + loss` in a loop keeps the graph of every round, when only a number was wanted."""
    told: set[ast.stmt] = set()
    rounds: dict[ast.stmt, int] = {}
    sums: dict[ast.stmt, str | None] = {}
    for number, node in program.steps(ast.Assign, ast.AugAssign):
        if node in told or node not in program.in_loops:
            continue
        if node not in sums:
            summed = _summed(node)
            sums[node] = summed if summed is not None and _only_summed(program, summed, node) else None
        name = sums[node]
        if name is None:
            continue
        tensor = program.tensor(ast.Name(id=name, ctx=ast.Load()), number, before=False)
        state = program.chronicle.tensor(tensor, program.chronicle.ends[number])
        if state is None or state.grad_fn is None:
            continue
        rounds[node] = rounds.get(node, 0) + 1
        behind = program.chronicle.reachable([state.grad_fn])
        if rounds[node] >= 2 and sum(1 for n in behind if _line(program, n) == node.lineno) >= 2:
            told.add(node)
            yield note(node.lineno, "graph-kept-alive", name=name, nodes=len(behind))


def _line(program: Program, node: int) -> int | None:
    return program.chronicle.nodes[node].line


def _summed(node: ast.stmt) -> str | None:
    """`n` of `n = n + …`, `n = … + n` and `n += …`."""
    if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add) and isinstance(node.target, ast.Name):
        return node.target.id
    if (
        not isinstance(node, ast.Assign)
        or len(node.targets) != 1
        or not isinstance(node.targets[0], ast.Name)
    ):
        return None
    value, name = node.value, node.targets[0].id
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
        sides = (value.left, value.right)
        if any(isinstance(side, ast.Name) and side.id == name for side in sides):
            return name
    return None


def _only_summed(program: Program, name: str, node: ast.stmt) -> bool:
    """A variable starts as a number, is summed up by `node`, and else only printed or read as a number."""
    starts = [
        inner
        for inner in ast.walk(program.tree)
        if isinstance(inner, ast.Assign)
        and inner is not node
        and any(mentions(t, name) for t in inner.targets)
    ]
    if not starts or not all(isinstance(s.value, ast.Constant) for s in starts):
        return False
    harmless = _harmless_reads(program.tree, name)
    reads = [
        inner
        for inner in ast.walk(program.tree)
        if isinstance(inner, ast.Name) and inner.id == name and isinstance(inner.ctx, ast.Load)
    ]
    own = set(ast.walk(node))
    return all(read in own or read in harmless for read in reads)


def _harmless_reads(tree: ast.AST, name: str) -> set[ast.AST]:
    """Reads inside `print(…)`, `float(…)` and of `.item()`: no gradient is wanted of them."""
    found: set[ast.AST] = set()
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call):
            continue
        plain = isinstance(call.func, ast.Name) and call.func.id in ("print", "float", "int", "str")
        method = called_method(call)
        number = (
            method is not None and method[1] in ("item", "tolist", "detach") and mentions(method[0], name)
        )
        if plain or number:
            found.update(ast.walk(call))
    return found


def repeated_scatters(program: Program) -> Iterator[Note]:
    """`scatter` with an index twice: one source is overwritten, and its gradient flows all the same."""
    chronicle = program.chronicle
    for number, told in enumerate(chronicle.events):
        if told.kind != "op" or len(told.inputs) < 3:
            continue
        event = chronicle.op(number)
        if event.node is not None or event.failed:
            continue
        if chronicle.op_name(event) not in ("aten::scatter.src", "aten::scatter_.src"):
            continue
        source = chronicle.view(event.inputs[2], number)
        index = chronicle.last_known(event.inputs[1], number)
        line = chronicle.line_at(number)
        if (
            source is None
            or not source.requires_grad
            or index is None
            or index.storage is None
            or line is None
        ):
            continue
        view = chronicle.trace.views[index.view]
        data = chronicle.storage_bytes(index.storage, number)
        values = values_of(view, data) if data is not None and view.layout == "torch.strided" else None
        if isinstance(values, list) and view.shape is not None and len(view.shape) == 1:
            twice = sorted({v for v in values if values.count(v) > 1})
            if twice:
                name = chronicle.name(event.inputs[2], number) or "?"
                yield note(line, "scatter-duplicate-index", name=name, index=twice[0])


def stale_optimizers(program: Program) -> Iterator[Note]:
    """`step()` of an optimizer that still holds the parameters of a module replaced since."""
    made: dict[str, tuple[str, int]] = {}
    """Optimizer → the module it was given the parameters of, and the step at which."""
    replaced: dict[str, int] = {}
    for number, node in program.steps(ast.Assign, ast.Expr):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            module = _given_parameters_of(node.value)
            made.pop(name, None)
            if module is not None:
                made[name] = (module, number)
            changed = program.chronicle.step(number).changed
            if any("rebound" in c for n, c in changed.items() if n.startswith((f"{name}.", f"{name}["))):
                replaced[name] = number
            continue
        method = called_method(node.value) if isinstance(node, ast.Expr) else None
        optimizer = root_name(method[0]) if method is not None and method[1] == "step" else None
        if optimizer is None or optimizer not in made:
            continue
        module, since = made[optimizer]
        if replaced.get(module, 0) > since and _left_alone(program.moment(number), module):
            earlier = program.chronicle.line_of_step(replaced[module])
            yield note(node.lineno, "stale-optimizer", name=optimizer, module=module, earlier=earlier)
            del made[optimizer]


def _given_parameters_of(value: ast.expr) -> str | None:
    """`net` of `torch.optim.SGD(net.parameters(), …)`."""
    if not isinstance(value, ast.Call) or not value.args or "optim" not in ast.unparse(value.func):
        return None
    method = called_method(value.args[0])
    return root_name(method[0]) if method is not None and method[1] == "parameters" else None


def _left_alone(moment: Moment, module: str) -> bool:
    """The module has gradients, and the step wrote none of its parameters."""
    bindings = moment.chronicle.bindings(moment.frame, moment.end)
    parameters = [t for n, t in bindings.items() if n.startswith((f"{module}.", f"{module}["))]
    states = [state for t in parameters if (state := moment.state(t)) is not None]
    written = {w.storage for w in moment.writes}
    return any(s.grad is not None for s in states) and not any(s.storage in written for s in states)
