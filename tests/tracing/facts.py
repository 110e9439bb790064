"""Compares a state document with facts that plain PyTorch gave. Returns differences in words."""

import ast
import math
from collections.abc import Iterator
from typing import Any

Document = dict[str, Any]

_FIELDS = (
    "shape",
    "stride",
    "storage_offset",
    "dtype",
    "layout",
    "device",
    "requires_grad",
    "is_leaf",
    "version",
)
_OPS_MEASURED = 14
"""The facts hold so many ops of a line at most."""


def differences(state: Document, expect: Document, source: str) -> list[str]:
    """What the document says otherwise than `expect` does."""
    return [
        *_outcome(state["outcome"], expect.get("error")),
        *_finals(state, expect.get("final", {})),
        *_sharing(state, expect.get("shares_storage", []), True),
        *_sharing(state, expect.get("distinct_storage", []), False),
        *_changed(state, expect, module_lines(source)),
        *_ops(state, expect, module_lines(source)),
        *_stdout(state, expect),
    ]


def same(a: Any, b: Any) -> bool:
    """Equal, with room for rounding in the last digits of floats."""
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    a, b = (float(x) if x in ("nan", "inf", "-inf") else x for x in (a, b))
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, float) or isinstance(b, float):
        if not isinstance(a, int | float) or not isinstance(b, int | float):
            return False
        both_nan = math.isnan(a) and math.isnan(b)
        return both_nan or math.isclose(a, b, rel_tol=1e-4, abs_tol=1e-5)
    return bool(a == b)


def tensor(state: Document, expression: str) -> Document | None:
    """The tensor an expression of the program gives, `.grad` included."""
    name, grads = expression.replace('"', "'"), 0
    names = {**state["bindings"], **state["locals"]}
    while name not in names and name.endswith(".grad"):
        name, grads = name.removesuffix(".grad"), grads + 1
    tensor_id = names.get(name)
    for _ in range(grads):
        tensor_id = None if tensor_id is None else state["tensors"][str(tensor_id)]["grad"]
    return None if tensor_id is None else state["tensors"].get(str(tensor_id))


def module_lines(source: str) -> set[str]:
    """First lines of the statements outside functions and classes, bodies of lambdas aside."""
    lines: set[int] = set()
    later: set[int] = set()
    todo: list[ast.AST] = [ast.parse(source)]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.stmt):
            lines.add(node.lineno)
        if isinstance(node, ast.Lambda):
            later.add(node.body.lineno)
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            todo.extend(ast.iter_child_nodes(node))
    return {str(line) for line in lines - later}


def _outcome(outcome: Document, error: Document | None) -> Iterator[str]:
    if error is None:
        if outcome["kind"] != "finished":
            yield f"{outcome['kind']}: {outcome['type']} {outcome['message']}"
        return
    lines = {error["line"], error.get("module_line", error["line"])}
    if error["type"] == "RecursionError":
        lines.add(error["line"] - 1)  # frames of the tracer may move the limit to the def line
    if (outcome["kind"], outcome["type"]) != ("raised", error["type"]):
        yield f"{outcome['kind']} {outcome['type']}, not raised {error['type']}"
    elif error["contains"] not in outcome["message"]:
        yield f"the message lacks {error['contains']!r}"
    elif outcome["line"] not in lines:
        yield f"raised on line {outcome['line']}, not {error['line']}"


def _finals(state: Document, finals: Document) -> Iterator[str]:
    for name, want in finals.items():
        t = tensor(state, name)
        if t is None:
            yield f"{name}: not in the state"
        else:
            yield from (f"{name}: {d}" for d in _final(state, t, want))


def _final(state: Document, t: Document, want: Document) -> Iterator[str]:
    strided = t["layout"] == "torch.strided" and t["shape"] is not None
    for field in _FIELDS:
        optional = field in ("stride", "storage_offset") and not strided and t[field] is None
        if field in want and not optional and not same(t[field], want[field]):
            yield f"{field} {t[field]}, not {want[field]}"
    yield from _values(t, want.get("value"), "value")
    if "grad" in want:
        grad = None if t["grad"] is None else state["tensors"].get(str(t["grad"]))
        if (grad is None) != (want["grad"] is None):
            yield f".grad is {'none' if grad is None else 'there'}"
        elif grad is not None:
            yield from _values(grad, want["grad"], ".grad value")
    if "grad_fn" in want:
        name = None if t["grad_fn"] is None else state["nodes"][str(t["grad_fn"])]["name"]
        if name != want["grad_fn"]:
            yield f"grad_fn {name}, not {want['grad_fn']}"
    if want.get("storage_nbytes") is not None and t["storage"] is not None:
        nbytes = state["storages"][str(t["storage"])]["nbytes"]
        if nbytes != want["storage_nbytes"]:
            yield f"storage of {nbytes} bytes, not {want['storage_nbytes']}"


def _values(t: Document, want: Any, what: str) -> Iterator[str]:
    if want is None:
        return
    if want == "unreadable":
        if t["values"] is not None:
            yield f"{what} there, but its bytes are not"
    elif t["values"] is None:
        yield f"{what} missing"
    elif not same(t["values"], want):
        yield f"{what} {t['values']}, not {want}"


def _span(state: Document, t: Document) -> tuple[int, int]:
    storage = state["storages"][str(t["storage"])]
    start = int(storage["address"], 16)
    return start, start + storage["nbytes"]


def shares(state: Document, a: Document, b: Document) -> bool:
    """One storage, or byte ranges that overlap."""
    if a["storage"] is None or b["storage"] is None:
        return False
    if a["storage"] == b["storage"]:
        return True
    (a_start, a_end), (b_start, b_end) = _span(state, a), _span(state, b)
    return bool(a_start and b_start) and a_start < b_end and b_start < a_end


def _sharing(state: Document, groups: list[list[str]], wanted: bool) -> Iterator[str]:
    for group in groups:
        found = [(name, tensor(state, name)) for name in group]
        for i, (name, t) in enumerate(found):
            if t is None:
                yield f"{name}: not in the state"
                continue
            for other_name, other in found[:i]:
                if other is not None and shares(state, t, other) is not wanted:
                    yield f"{name} and {other_name} {'do not share' if wanted else 'share'} memory"


def _changed(state: Document, expect: Document, lines: set[str]) -> Iterator[str]:
    wanted = expect.get("changed_names")
    if wanted is None:
        return
    for line in sorted(lines | set(wanted), key=int):
        got = state["changed"].get(line, {})
        names = {n.replace('"', "'"): layers for n, layers in wanted.get(line, {}).items()}
        for name, layers in names.items():
            told_as_autograd = name not in got and name.endswith(".grad")
            if not told_as_autograd and sorted(got.get(name, [])) != sorted(layers):
                yield f"line {line}: {name} {got.get(name)}, not {layers}"
        if line in lines:
            for name in got:
                if name.isidentifier() and name in state["bindings"] and name not in names:
                    yield f"line {line}: {name} {got[name]}, but it did not change"


def _ops(state: Document, expect: Document, lines: set[str]) -> Iterator[str]:
    wanted = expect.get("aten_ops")
    if wanted is None:
        return
    for line in sorted(lines | set(wanted), key=int):
        got = [_op(o) for o in state["ops"].get(line, []) if o.startswith("aten::")]
        want = [o for o in wanted.get(line, []) if o.startswith("aten.")]
        whole = len(wanted.get(line, [])) < _OPS_MEASURED and line in lines
        if (got if whole else got[: len(want)]) != want:
            yield f"line {line}: ops {got[:6]}, not {want[:6]}"


def _op(name: str) -> str:
    """`aten::t` as `aten.t.default`, the other spelling of an overload."""
    dotted = name.replace("::", ".")
    return dotted if dotted.count(".") >= 2 else dotted + ".default"


def _stdout(state: Document, expect: Document) -> Iterator[str]:
    if expect.get("stdout_contains", "") not in state["stdout"]:
        yield f"stdout lacks {expect['stdout_contains']!r}"
