"""Changes of the program that would keep it from failing as it did, for the classes of error met most.

Each is derived from the failing statement, or from the one at fault, and from what the trace shows of its
operands. Nothing is offered that would change what other lines mean, nor where two changes are as likely.
That a change helps is not claimed: whoever runs the changed program sees.
"""

import ast
from collections.abc import Callable, Iterator

from ..schema import Edit, Fix
from .advice import Advice
from .carrying import detached
from .edits import Text, called, keyword
from .failure import FailedCall
from .wording import dtype_text

FACTORIES = frozenset(
    ("tensor", "ones", "zeros", "full", "rand", "randn", "arange", "linspace", "eye", "empty", "normal")
)
"""Functions of torch that make a tensor from numbers, and take `requires_grad` and `dtype`."""

_CONVERSIONS = {
    "int64": ".long()",
    "int32": ".int()",
    "float32": ".float()",
    "float64": ".double()",
    "float16": ".half()",
    "bfloat16": ".bfloat16()",
    "bool": ".bool()",
}
_ORDER = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64")

Found = Iterator[tuple[str, tuple[Edit, ...]]]


class Patient:
    """A failed program: its text, the call that failed, and what is known of why."""

    def __init__(self, call: FailedCall, advice: Advice) -> None:
        self.call = call
        self.advice = advice
        self.text = Text(call.chronicle.trace.source)
        self.node = self.text.expression(call.outcome.range)
        """The expression that raised."""
        self.statement = self.text.statement(call.line)
        """The statement that raised, where its line is its own."""

    def method(self, *names: str) -> ast.Call | None:
        """The failing expression, when it calls one of these methods."""
        node = self.node
        is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        return node if isinstance(node, ast.Call) and is_call and called(node) in names else None

    def operand(self, tensor: int | None) -> ast.expr | None:
        """The one place in the failing expression that names a tensor."""
        name = self.call.name(tensor)
        if name is None or self.node is None:
            return None
        found = [n for n in ast.walk(self.node) if isinstance(n, ast.expr) and ast.unparse(n) == name]
        found = [n for n in found if not isinstance(getattr(n, "ctx", None), ast.Store)]
        return found[0] if len(found) == 1 else None

    def alone(self, tensor: int | None) -> bool:
        """No other name leads to the memory of a tensor."""
        chronicle, moment, frame = self.call.chronicle, self.call.moment, self.call.frame
        storage = None if tensor is None else chronicle.memory(tensor, moment)
        return storage is not None and len(set(chronicle.names_on(storage, moment, frame))) <= 1


def mend(name: str, call: FailedCall, advice: Advice) -> tuple[Fix, ...]:
    """Find changes for a class of error.

    Args:
        name: Of its rule.
        call: The failed call.
        advice: What is known of its cause.

    Returns:
        None, one or a few, the likeliest first. Each leaves a program that Python can read.
    """
    find = MENDERS.get(name)
    if find is None:
        return ()
    patient = Patient(call, advice)
    found = [Fix(kind=kind, edits=edits) for kind, edits in find(patient) if edits]
    return tuple(fix for fix in found if patient.text.apply(fix.edits) is not None)


# ---- one function per class


def _view_stride(patient: Patient) -> Found:
    call = patient.method("view")
    if call is not None and not _is_dtype(call):
        yield "reshape", patient.text.method(call, "reshape")
        yield "contiguous", patient.text.before_method(call, ".contiguous()")


def _is_dtype(call: ast.Call) -> bool:
    return len(call.args) == 1 and ast.unparse(call.args[0]).startswith("torch.")


def _saved_tensor_modified(patient: Patient) -> Found:
    how, rewrite = patient.advice.args.get("how"), patient.advice.args.get("rewrite")
    statement = patient.text.statement(patient.advice.caused_by)
    if statement is None or not isinstance(rewrite, str):
        return
    for flag in (k for n in ast.walk(statement) if isinstance(n, ast.Call) for k in n.keywords):
        if flag.arg == "inplace" and isinstance(flag.value, ast.Constant) and flag.value.value is True:
            yield "rewrite", patient.text.replace(flag.value, "False")
            return
    if how == "rewrite":
        yield "rewrite", patient.text.replace(statement, rewrite)
    elif how == "clone":
        yield "clone", patient.text.line_before(statement, rewrite)


def _leaf_in_place(patient: Patient) -> Found:
    statement = patient.statement
    if isinstance(statement, ast.Expr | ast.AugAssign | ast.Assign) and patient.text.imports("torch"):
        yield "no-grad", patient.text.within(statement, "with torch.no_grad():")


def _backward_twice(patient: Patient) -> Found:
    """What a loop carries is detached; else the graph is kept where it was freed."""
    names = patient.advice.args.get("carried") or []
    if names:
        yield "detach-carried", detached(patient.text, patient.call, names)
        return
    statement = patient.text.statement(patient.advice.caused_by)
    calls = [] if statement is None else patient.text.calls(statement, "backward", "grad")
    if len(calls) == 1 and not keyword(calls[0], "retain_graph"):
        yield "retain-graph", patient.text.argument(calls[0], "retain_graph=True")


def _no_graph(patient: Patient) -> Found:
    """The one leaf that could require grad and does not; or the `detach()` that cut the graph."""
    text = patient.text
    if patient.advice.args.get("how") == "cut":
        statement = text.statement(patient.advice.caused_by or patient.call.line)
        calls = [] if statement is None else text.calls(statement, "detach")
        if len(calls) == 1 and isinstance(calls[0].func, ast.Attribute) and not calls[0].args:
            yield "keep-graph", text.replace(calls[0], ast.unparse(calls[0].func.value))
        return
    roots = list(_roots(patient))
    if len(roots) == 1 and not keyword(roots[0], "requires_grad"):
        yield "requires-grad", text.argument(roots[0], "requires_grad=True")


def _roots(patient: Patient) -> Iterator[ast.Call]:
    """Calls that made what the failing result was computed from, as far back as the trace goes."""
    call, seen = patient.call, set[int]()
    todo = list(call.tensors[:1] or call.subjects[:1])
    for tensor in todo:
        if tensor in seen:
            continue
        seen.add(tensor)
        maker = call.chronicle.maker(tensor, call.moment)
        read = call.chronicle.op(maker).inputs if maker is not None else ()
        inputs = [each for each in read if each != tensor]
        todo.extend(inputs)
        view = call.view(tensor)
        if inputs or view is None or call.name(tensor) is None or "float" not in view.dtype:
            continue
        statement = patient.text.statement(call.made_on(tensor))
        made = statement.value if isinstance(statement, ast.Assign) else None
        if isinstance(made, ast.Call) and called(made) in FACTORIES and _of_torch(made):
            yield made


def _of_torch(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) == "torch"


def _numpy_requires_grad(patient: Patient) -> Found:
    call = patient.method("numpy")
    if call is not None:
        yield "detach", patient.text.before_method(call, ".detach()")
        return
    node = patient.operand(next(iter(patient.call.tensors or patient.call.subjects), None))
    if node is not None and isinstance(patient.node, ast.Call) and node in patient.node.args:
        yield "detach", patient.text.after(node, ".detach()")


def _device_numpy(patient: Patient) -> Found:
    call = patient.method("numpy")
    if call is not None:
        yield "cpu", patient.text.before_method(call, ".cpu()")


def _device_mismatch(patient: Patient) -> Found:
    """The one on the CPU goes to where the others are."""
    call = patient.call
    on_cpu = [t for t in call.tensors if (v := call.view(t)) is not None and v.device == "cpu"]
    others = [t for t in call.tensors if t not in on_cpu and call.name(t) is not None]
    devices = {view.device for t in call.tensors if (view := call.view(t)) is not None}
    node = patient.operand(on_cpu[0]) if len(on_cpu) == 1 else None
    if node is not None and others and len(devices) == 2:
        yield "to-device", patient.text.after(node, f".to({call.name(others[0])}.device)")


def _dtype_mismatch(patient: Patient) -> Found:
    """The one that can take the other's dtype: not a parameter, then the one that loses nothing."""
    call, tensors = patient.call, patient.call.tensors
    if patient.advice.args.get("how") == "target":
        conversion = _CONVERSIONS.get(str(patient.advice.args.get("wanted")).split(" / ")[0])
        node = patient.operand(tensors[1]) if len(tensors) > 1 else None
        if node is not None and conversion is not None:
            yield "to-dtype", patient.text.after(node, conversion)
        return
    views = {t: view for t in tensors if (view := call.view(t)) is not None}
    dtypes = sorted({dtype_text(view.dtype) for view in views.values()}, key=_rank)
    if len(dtypes) != 2 or any(_rank(dtype) < 0 for dtype in dtypes):
        return
    learned = {dtype_text(view.dtype) for view in views.values() if view.requires_grad}
    wanted = learned.pop() if len(learned) == 1 else dtypes[1]
    other = [t for t, view in views.items() if dtype_text(view.dtype) != wanted]
    node = patient.operand(other[0]) if len(other) == 1 else None
    if node is not None and wanted in _CONVERSIONS:
        yield "to-dtype", patient.text.after(node, _CONVERSIONS[wanted])


def _rank(dtype: str) -> int:
    return _ORDER.index(dtype) if dtype in _ORDER else -1


def _index_dtype(patient: Patient) -> Found:
    call = patient.call
    floats = [t for t in call.tensors[1:] if (v := call.view(t)) is not None and "float" in v.dtype]
    node = patient.operand(floats[0]) if len(floats) == 1 else None
    if node is not None:
        yield "to-dtype", patient.text.after(node, ".long()")


def _non_scalar(patient: Patient) -> Found:
    call = patient.method("backward")
    if call is not None and not call.args and not call.keywords:
        yield "sum", patient.text.before_method(call, ".sum()")


def _unused(patient: Patient) -> Found:
    node = patient.node
    if isinstance(node, ast.Call) and called(node) == "grad" and not keyword(node, "allow_unused"):
        yield "allow-unused", patient.text.argument(node, "allow_unused=True")


def _integer(patient: Patient) -> Found:
    node = patient.node
    if (
        isinstance(node, ast.Call)
        and called(node) in FACTORIES
        and _of_torch(node)
        and not keyword(node, "dtype")
    ):
        yield "float", patient.text.argument(node, "dtype=torch.float32")


def _not_a_leaf(patient: Patient) -> Found:
    match patient.statement:
        case ast.Assign(targets=[ast.Attribute(value=ast.Name(id=name), attr="requires_grad")]):
            yield "detach", patient.text.replace(patient.statement, f"{name} = {name}.detach()")
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="requires_grad_"))):
            yield "detach", patient.text.replace(patient.statement, f"{name} = {name}.detach()")


def _detach_view(patient: Patient) -> Found:
    match patient.statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="detach_"))):
            yield "detach", patient.text.replace(patient.statement, f"{name} = {name}.detach()")


def _overlapping_write(patient: Patient) -> Found:
    """The tensor becomes a copy in which every element has memory of its own."""
    call = patient.call
    tensor = call.named[0] if call.named else None
    name = call.name(tensor)
    if patient.statement is not None and name is not None and name.isidentifier():
        yield "clone", patient.text.line_before(patient.statement, f"{name} = {name}.clone()")


def _overlapping_source(patient: Patient) -> Found:
    match patient.statement:
        case ast.Assign(targets=[ast.Subscript()], value=ast.Subscript() | ast.Name() as value):
            yield "clone-source", patient.text.after(value, ".clone()")
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="copy_"), args=[source])):
            yield "clone-source", patient.text.after(source, ".clone()")


def _dtype_cast(patient: Patient) -> Found:
    """What is written in place cannot hold the result: a new tensor can, if nobody else reads the old one."""
    statement, call = patient.statement, patient.call
    if not isinstance(statement, ast.AugAssign) or not isinstance(statement.target, ast.Name):
        return
    tensor = next(iter(call.tensors), None)
    if call.is_leaf(tensor):
        return  # a parameter: what was made of it would be no parameter
    if call.name(tensor) == statement.target.id and patient.alone(tensor):
        value = ast.BinOp(ast.Name(statement.target.id, ast.Load()), statement.op, statement.value)
        yield "rewrite", patient.text.replace(statement, f"{statement.target.id} = {ast.unparse(value)}")


def _bool_minus(patient: Patient) -> Found:
    """`1 - mask` and `-mask` are `~mask`; of two masks the exclusive or."""
    match patient.node:
        case (
            ast.BinOp(left=ast.Constant(value=1), op=ast.Sub(), right=mask)
            | ast.UnaryOp(op=ast.USub(), operand=mask)
        ):
            simple = isinstance(mask, ast.Name | ast.Attribute | ast.Subscript | ast.Call)
            text = ast.unparse(mask)
            yield "invert", patient.text.replace(patient.node, f"~{text}" if simple else f"~({text})")


def _item(patient: Patient) -> Found:
    """`torch.tensor` makes a tensor of numbers; of tensors `torch.stack` does."""
    match patient.node:
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id="torch"), attr="tensor") as func,
            args=[ast.Name() | ast.List() | ast.ListComp() | ast.Attribute()],
            keywords=[],
        ):
            yield "stack", patient.text.replace(func, "torch.stack")


def _mask_dtype(patient: Patient) -> Found:
    name = patient.advice.args.get("name")
    tensor = next((t for t in patient.call.tensors if patient.call.label(t) == name), None)
    node = patient.operand(tensor)
    if node is not None:
        yield "to-dtype", patient.text.after(node, ".bool()")


def _assign_parameter(patient: Patient) -> Found:
    statement = patient.statement
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Attribute):
        made = f"torch.nn.Parameter({ast.unparse(statement.value)})"
        if patient.text.imports("torch"):
            yield "parameter", patient.text.replace(statement.value, made)


def _negative_strides(patient: Patient) -> Found:
    node = patient.node
    if isinstance(node, ast.Call) and len(node.args) == 1 and not isinstance(node.args[0], ast.Starred):
        yield "array-copy", patient.text.after(node.args[0], ".copy()")


def _uncoalesced(patient: Patient) -> Found:
    call = patient.method("values", "indices")
    if call is not None:
        yield "coalesce", patient.text.before_method(call, ".coalesce()")


def _grad_none(patient: Patient) -> Found:
    """Gradients are set to zero instead of to None, where they were cleared."""
    statement = patient.text.statement(patient.advice.caused_by)
    calls = [] if statement is None else patient.text.calls(statement, "zero_grad")
    cleared = patient.advice.args.get("how") == "cleared"
    if cleared and len(calls) == 1 and not calls[0].args and not keyword(calls[0], "set_to_none"):
        yield "zeros", patient.text.argument(calls[0], "set_to_none=False")


MENDERS: dict[str, Callable[[Patient], Found]] = {
    "assign-parameter": _assign_parameter,
    "backward-non-scalar": _non_scalar,
    "backward-twice": _backward_twice,
    "detach-view": _detach_view,
    "device-mismatch": _device_mismatch,
    "device-numpy": _device_numpy,
    "dtype-cast": _dtype_cast,
    "in-place-shape": _dtype_cast,
    "bool-minus": _bool_minus,
    "dtype-mismatch": _dtype_mismatch,
    "grad-none": _grad_none,
    "index-dtype": _index_dtype,
    "integer-requires-grad": _integer,
    "item-non-scalar": _item,
    "leaf-in-place": _leaf_in_place,
    "mask-dtype": _mask_dtype,
    "negative-strides": _negative_strides,
    "no-graph": _no_graph,
    "numpy-requires-grad": _numpy_requires_grad,
    "overlapping-write": _overlapping_write,
    "overlapping-write-source": _overlapping_source,
    "requires-grad-non-leaf": _not_a_leaf,
    "saved-tensor-modified": _saved_tensor_modified,
    "sparse-uncoalesced": _uncoalesced,
    "unused-in-graph": _unused,
    "view-stride": _view_stride,
}
"""Name of a rule → what finds changes for it."""
