"""Quiet mistakes about memory: writes that reach further than meant, or nowhere; views that keep too much.

Each function looks for one class and reports it only when the trace proves it. A missed mistake is
better than a false one.
"""

import ast
from collections.abc import Iterator

from ..schema import Note, TensorView
from ..schema.values import element_size
from .moment import Moment, count, offsets_of
from .program import Program, called_method, mentions, root_name
from .wording import say, storage_label, tuple_text

_SAVED_MUCH_MORE = 4
_SMALLEST_SAVED = 4096
_KEPT_MUCH_MORE = 8
_SMALLEST_KEPT = 64 << 10


def note(line: int, class_: str, **args: object) -> Note:
    """A note with the sentence of its class."""
    return Note(line=line, class_=class_, sentence=say("data", f"note.{class_}", line=line, **args))


def alias_writes(program: Program) -> Iterator[Note]:
    """`b = a` and then `b += 1` changes `a`; so does memory shared with NumPy, or a live `state_dict()`."""
    yield from _second_names(program)
    yield from _outside_writes(program)
    yield from _live_state_dicts(program)


def _second_names(program: Program) -> Iterator[Note]:
    pairs: set[frozenset[str]] = set()
    for number, node in program.steps(ast.Assign, ast.AugAssign):
        if isinstance(node, ast.Assign):
            if isinstance(node.value, ast.Name) and all(isinstance(t, ast.Name) for t in node.targets):
                names = [t.id for t in node.targets if isinstance(t, ast.Name)]
                pairs.update(frozenset((name, node.value.id)) for name in names)
            continue
        if not isinstance(node, ast.AugAssign) or not isinstance(node.target, ast.Name):
            continue
        name = node.target.id
        tensor = program.tensor(node.target, number)
        if tensor is None or program.tensor(node.target, number, before=False) != tensor:
            continue
        moment = program.moment(number)
        others = [n for n in moment.chronicle.names(tensor, moment.begin, moment.frame) if n.isidentifier()]
        others = [n for n in others if frozenset((n, name)) in pairs and n != name]
        others = [n for n in others if program.read_after(n, node.lineno)]
        if others:
            yield note(node.lineno, "alias-write", name=name, others=others, how="name")


def _outside_writes(program: Program) -> Iterator[Note]:
    """A line that assigns to something that is no tensor, and changes a tensor."""
    for number, node in program.steps(ast.Assign, ast.AugAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", node)]
        roots = [root_name(t) for t in targets if isinstance(t, ast.Subscript)]
        if not roots:
            continue
        moment = program.moment(number)
        for write in moment.writes:
            names = moment.names_on(write.storage)
            own = {root_name(ast.parse(name, mode="eval").body) for name in names}
            if names and not write.by_op and roots[0] is not None and roots[0] not in own:
                yield note(node.lineno, "alias-write", name=roots[0], others=names, how="memory")
                break


def _live_state_dicts(program: Program) -> Iterator[Note]:
    kept: dict[str, int] = {}
    for number, node in program.steps(ast.Assign, ast.AugAssign, ast.Expr):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            method = called_method(node.value)
            if method is not None and method[1] == "state_dict":
                kept[name] = node.lineno
            else:
                kept.pop(name, None)
            continue
        if not kept:
            continue
        moment = program.moment(number)
        for write in moment.writes:
            names = moment.chronicle.names_on(write.storage, moment.end, moment.frame)
            every = [
                n
                for t in moment.chronicle.tensors_on(write.storage, moment.end)
                for n in moment.chronicle.names(t, moment.end, moment.frame)
            ]
            copies = [n for n in kept if any(path.startswith(f"{n}[") for path in every)]
            copies = [n for n in copies if _still_wanted(program, n, kept[n], node.lineno)]
            written = [n for n in names if root_name(ast.parse(n, mode="eval").body) not in kept]
            if copies and written:
                yield note(node.lineno, "alias-write", name=written[0], others=copies, how="state-dict")
                for name in copies:
                    del kept[name]
                break


def _still_wanted(program: Program, name: str, made: int, written: int) -> bool:
    """A kept `state_dict()` is read after the write, or was not read at all before it."""
    reads = program.reads(name)
    return any(line > written for line in reads) or not any(made < line <= written for line in reads)


def lost_writes(program: Program) -> Iterator[Note]:
    """`x[mask][0] = 1` and `x[index].add_(1)` write into a copy that nobody keeps."""
    for number, node in program.steps(ast.Assign, ast.AugAssign, ast.Expr):
        inner = _written_subscript(node)
        if inner is None:
            continue
        moment = program.moment(number)
        chronicle = moment.chronicle
        copies = {
            chronicle.memory(output, moment.end)
            for op in moment.ops
            if chronicle.op_name(op).startswith("aten::index.") and "fresh" in op.verdicts
            for output in op.outputs
        }
        written = {chronicle.memory(tensor, moment.end) for op in moment.ops for tensor in op.writes}
        # Negative: the storage of a tensor that nothing but the statement itself ever held.
        if written and written <= copies and all(s is not None and s < 0 for s in written):
            yield note(node.lineno, "lost-write", name=root_name(inner), expression=ast.unparse(inner))


def _written_subscript(node: ast.stmt) -> ast.Subscript | None:
    """The inner subscript of `a[i][j] = …` or `a[i].add_(…)`."""
    if isinstance(node, ast.Expr):
        method = called_method(node.value)
        if method is None or not method[1].endswith("_") or method[1].endswith("__"):
            return None
        return method[0] if isinstance(method[0], ast.Subscript) else None
    target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
    if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Subscript):
        return target.value
    return None


def overlapping_writes(program: Program) -> Iterator[Note]:
    """`x[1:] = x[:-1]` inside one tensor reads cells that it has just written."""
    for number, node in program.steps(ast.Assign, ast.Expr):
        moment = program.moment(number)
        if any(_copied_wrongly(moment, index) for index in range(len(moment.ops))):
            name = root_name(node.targets[0]) if isinstance(node, ast.Assign) else None
            yield note(node.lineno, "overlapping-write", name=name or "?")


def _copied_wrongly(moment: Moment, index: int) -> bool:
    """The op is a copy between overlapping parts of one storage and its result is not the source's values."""
    chronicle, op = moment.chronicle, moment.ops[index]
    if chronicle.op_name(op) not in ("aten::copy_", "aten::copy_.default") or len(op.inputs) < 2 or op.failed:
        return False
    storage, of_source = (chronicle.memory(t, moment.end) for t in op.inputs[:2])
    if storage is None or storage < 0 or storage != of_source:
        return False
    to, of = (chronicle.shape(t, moment.end) for t in op.inputs[:2])
    if to is None or of is None:
        return False
    overlap = (offsets_of(to) or set()) & (offsets_of(of) or set())
    same = (to.shape, to.stride, to.storage_offset) == (of.shape, of.stride, of.storage_offset)
    before = chronicle.storage_bytes(storage, moment.begin)
    after = chronicle.storage_bytes(storage, moment.end)
    if same or not overlap or before is None or after is None or to.shape != of.shape:
        return False
    size = element_size(to.dtype)
    if size is None or to.dtype != of.dtype:
        return False
    wanted = [before[o * size : (o + 1) * size] for o in _in_order(of)]
    return wanted != [after[o * size : (o + 1) * size] for o in _in_order(to)]


def _in_order(view: TensorView) -> list[int]:
    """Offsets of the elements, last index fastest."""
    offsets = [view.storage_offset or 0]
    for size, stride in zip(view.shape or (), view.stride or (), strict=True):
        offsets = [offset + i * stride for offset in offsets for i in range(size)]
    return offsets


def kept_storages(program: Program) -> Iterator[Note]:
    """A small slice keeps a large storage alive, or is saved with all of it."""
    for number, node in program.steps(ast.Assign, ast.Expr, ast.Delete):
        for call in (n for n in ast.walk(node) if isinstance(n, ast.Call)):
            if called_method(call) is not None and ast.unparse(call.func) == "torch.save" and call.args:
                yield from _saved_whole(program, number, call)
        if isinstance(node, ast.Assign | ast.Delete):
            yield from _outlived(program.moment(number), node.lineno)


def _saved_whole(program: Program, number: int, call: ast.Call) -> Iterator[Note]:
    for node in ast.walk(call.args[0]):
        tensor = program.tensor(node, number)
        state = program.chronicle.tensor(tensor, program.chronicle.ends[number])
        if state is None or state.storage is None:
            continue
        nbytes = program.chronicle.nbytes(state.storage, program.chronicle.ends[number])
        shown = _shown_bytes(program.trace.views[state.view])
        if shown is not None and nbytes >= _SMALLEST_SAVED and shown * _SAVED_MUCH_MORE <= nbytes:
            name = ast.unparse(node)
            yield note(call.lineno, "slice-keeps-storage", name=name, shown=shown, nbytes=nbytes, how="saved")
            return


def _outlived(moment: Moment, line: int) -> Iterator[Note]:
    """The last name that showed most of a storage went away, and a slice of it still has one."""
    names = [n for n, changes in moment.step.changed.items() if {"rebound", "deleted"} & set(changes)]
    before = moment.chronicle.bindings(moment.frame, moment.begin) if names else {}
    for name in names:
        state = moment.before(before.get(name, -1))
        if state is None or state.storage is None or not moment.chronicle.alive(state.storage, moment.end):
            continue
        nbytes = moment.chronicle.nbytes(state.storage, moment.end)
        shown = _shown_bytes(moment.chronicle.trace.views[state.view])
        if nbytes < _SMALLEST_KEPT or shown is None or shown * 2 < nbytes:
            continue
        tensors = moment.chronicle.tensors_on(state.storage, moment.end)
        named = [t for t in tensors if moment.name(t) is not None]
        sizes = [_shown_bytes(moment.look(t)) for t in named]
        total = sum(size for size in sizes if size is not None)
        # A view keeps the tensor object it was taken from as its base, so the old one is still there.
        unnamed = set(tensors) - set(named) - {before[name]}
        if named and not unnamed and None not in sizes and total * _KEPT_MUCH_MORE <= nbytes:
            yield note(
                line,
                "slice-keeps-storage",
                name=moment.name(named[0]),
                shown=total,
                nbytes=nbytes,
                storage=storage_label(state.storage),
                how="alive",
            )


def _shown_bytes(view: TensorView) -> int | None:
    size = element_size(view.dtype)
    return None if size is None or view.shape is None else count(view) * size


def repeated_modules(program: Program) -> Iterator[Note]:
    """`[Linear(…)] * 3` is one layer three times."""
    for number, node in program.steps(ast.Assign):
        repeats = [
            inner
            for inner in ast.walk(node)
            if isinstance(inner, ast.BinOp)
            and isinstance(inner.op, ast.Mult)
            and isinstance(inner.left, ast.List)
            and any(isinstance(item, ast.Call) for item in inner.left.elts)
        ]
        if not repeats:
            continue
        moment = program.moment(number)
        for tensor, names in moment.bound.items():
            if len(names) > 1 and moment.look(tensor).requires_grad and moment.look(tensor).is_leaf:
                yield note(
                    repeats[0].lineno, "repeated-module", names=names, expression=ast.unparse(repeats[0])
                )
                break


_PURE = frozenset(
    """
    to cpu cuda float half double bfloat16 long int short bool type type_as contiguous clone detach
    t transpose permute view reshape flatten squeeze unsqueeze expand repeat flip roll movedim swapaxes
    add sub mul div pow neg abs exp log sqrt sin cos tanh sigmoid relu softmax clamp round floor ceil
    sum mean max min prod cumsum sort matmul mm masked_fill masked_select scatter scatter_add gather
    index_fill index_select index_add narrow select tril triu
    """.split()  # noqa: SIM905  a list of words is read more easily than a list of strings
)
"""Methods that leave their tensor as it is."""


def dropped_results(program: Program) -> Iterator[Note]:
    """`x.to("cuda")` by itself changes nothing: the result is a new tensor, and nobody keeps it."""
    last = program.tree.body[-1] if program.tree.body else None
    for number, node in program.steps(ast.Expr):
        method = called_method(node.value) if isinstance(node, ast.Expr) and node is not last else None
        if method is None or method[1] not in _PURE:
            continue
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and mentions_out(node.value):
            continue
        tensor = program.tensor(method[0], number)
        moment = program.moment(number)
        if tensor is None or not moment.ops or any(op.writes for op in moment.ops):
            continue
        if all(op.verdicts and set(op.verdicts) <= {"fresh", "view"} for op in moment.ops):
            view = moment.chronicle.view(tensor, moment.end)
            yield note(
                node.lineno,
                "result-dropped",
                name=ast.unparse(method[0]),
                method=method[1],
                shape=tuple_text(view.shape) if view else "?",
            )


def mentions_out(call: ast.Call) -> bool:
    """The call writes its result somewhere: `out=`."""
    return any(keyword.arg == "out" for keyword in call.keywords) or mentions(call, "out")
