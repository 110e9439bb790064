"""Errors whose message says most: a state that does not fit, a layout without a kernel, a nan in backward.

`load_state_dict` lists every name on one line; the list is read and put in order. Which tensors were saved
is not known here: a message speaks of names only.
"""

import ast
import re

from .advice import Advice
from .failure import FailedCall
from .wording import dtype_text, tuple_text

_MOST = 4
_KEYS = re.compile(r"(Missing|Unexpected) key\(s\) in state_dict: (.*?)\. *(?:\n|$)")
_SIZE = re.compile(
    r"size mismatch for (\S+): copying a param with shape torch\.Size\((\[[^\]]*\])\) from checkpoint, "
    r"the shape in current model is torch\.Size\((\[[^\]]*\])\)"
)


def state_dict(call: FailedCall) -> Advice:
    """Names that are missing, left over or of another shape; a beginning that all the saved ones have."""
    message = call.outcome.message or ""
    keys = {kind: re.findall(r'"([^"]*)"', listed) for kind, listed in _KEYS.findall(message)}
    missing, unexpected = keys.get("Missing", []), keys.get("Unexpected", [])
    sizes = [f"{name}: {saved} → {own}" for name, saved, own in _SIZE.findall(message)]
    args = {
        "missing": _some(missing),
        "unexpected": _some(unexpected),
        "sizes": _some(sizes),
        "prefix": _prefix(missing, unexpected) or "?",
    }
    return Advice(None, (), args)


def _some(names: list[str]) -> list[str]:
    return names if len(names) <= _MOST else [*names[:_MOST], "…"]


def _prefix(missing: list[str], unexpected: list[str]) -> str | None:
    """What stands before every saved name and no name of the module, as a wrapper leaves it."""
    first = unexpected[0].partition(".")[0] + "." if unexpected else ""
    if first and all(name.startswith(first) for name in unexpected):
        stripped = {name.removeprefix(first) for name in unexpected}
        if stripped & set(missing):
            return first
    return None


def no_kernel(call: FailedCall) -> Advice:
    """An op that is not there for the layout of its operand."""
    backend = call.group("backend")
    sorts = {"Quantized": "quantized", "SparseCsr": "csr", "Sparse": "sparse", "Nested": "nested"}
    how = next((sort for start, sort in sorts.items() if backend.startswith(start)), "other")
    args = {"op": call.group("op"), "backend": backend, "how": how}
    return Advice(None, tuple(call.names_of(call.subjects)), args)


def nan_gradient(call: FailedCall) -> Advice:
    """The node that made the first nan of a backward pass, and the line of the forward that made it."""
    chronicle, wanted = call.chronicle, call.group("node")
    reached = chronicle.reachable([call.grad_fn(tensor) for tensor in call.tensors])
    nodes = [node for node in reached if chronicle.node_name(node) == wanted]
    line = call.line_of(chronicle.node_born[nodes[0]]) if len(nodes) == 1 else None
    saved = [s.tensor for s in chronicle.nodes[nodes[0]].saved] if len(nodes) == 1 else []
    names = call.names_of([tensor for tensor in saved if tensor is not None])
    return Advice(line, tuple(names or call.names_of(call.subjects)), {"node": wanted, "kept": names})


def mask(call: FailedCall) -> Advice:
    """The operand that is no mask: `where` has it first, `masked_fill` and its kin second."""
    position = 0 if call.api == "where" and "condition" in (call.outcome.message or "") else 1
    tensor = next(iter(call.tensors[position:]), None)
    view = call.view(tensor)
    name = "?" if tensor is None else call.label(tensor)
    dtype = "?" if view is None else dtype_text(view.dtype)
    about = call.names_of([] if tensor is None else [tensor])
    return Advice(None, tuple(about), {"name": name, "dtype": dtype})


def item(call: FailedCall) -> Advice:
    """A tensor where a number is wanted; in a list that `torch.tensor` was given, or by itself."""
    tensor = next(iter(call.subjects or call.tensors), None)
    view = call.view(tensor)
    args = {
        "name": "?" if tensor is None else call.label(tensor),
        "shape": "?" if view is None else tuple_text(view.shape),
        "how": "list" if call.api == "tensor" or _in_torch_tensor(call) else "one",
    }
    return Advice(None, tuple(call.names_of(call.subjects[:1])), args)


def _in_torch_tensor(call: FailedCall) -> bool:
    """The failing expression is `torch.tensor(…)`, which no mode hears before it fails."""
    expressions = call.failing_expressions()
    calls = [n for n in expressions if isinstance(n, ast.Call)]
    return bool(calls) and ast.unparse(calls[0].func) == "torch.tensor"
