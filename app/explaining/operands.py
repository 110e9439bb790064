"""For each class of error: which tensors it concerns, which line is at fault, what its sentences need.

One small function per class, listed in `ADVICE` by the name of its rule. A cause is only named when
the trace shows it; otherwise `caused_by` is None and the sentence does without.
"""

import ast
import re
from collections.abc import Callable
from typing import Any

from .advice import Advice
from .carrying import carried
from .failure import FailedCall, can_have_gradient
from .loading import item, mask, nan_gradient, no_kernel, state_dict
from .memory import out_of_memory
from .saved import pack_hook, saved_tensor_modified
from .wording import api_text, dtype_text, storage_label, tuple_text


def _about(call: FailedCall, tensors: list[int], caused_by: int | None = None, **args: Any) -> Advice:
    return Advice(caused_by, tuple(call.names_of(tensors)), args)


def _subjects(call: FailedCall) -> Advice:
    return _about(call, call.subjects, **call.groups)


def _first(call: FailedCall) -> int | None:
    """The tensor the call was made on."""
    return next(iter(call.tensors or call.subjects), None)


def _first_subject(call: FailedCall) -> Advice:
    return _about(call, call.subjects[:1], **_looks(call, _first(call)))


def _looks(call: FailedCall, tensor: int | None) -> dict[str, Any]:
    """Name, shape, strides, dtype and storage of a tensor, for a sentence."""
    view = call.view(tensor)
    state = call.chronicle.last_known(tensor, call.moment)
    return {
        "name": "?" if tensor is None else call.label(tensor),
        "shape": "?" if view is None else tuple_text(view.shape),
        "stride": "?" if view is None else tuple_text(view.stride),
        "dtype": "?" if view is None else dtype_text(view.dtype),
        "storage": "?" if state is None or state.storage is None else storage_label(state.storage),
    }


def _first_two(tensors: list[int]) -> tuple[int | None, int | None]:
    first, second, *_ = [*tensors, None, None]
    return first, second


def _two(call: FailedCall, first: int | None, second: int | None) -> dict[str, Any]:
    left, right = _looks(call, first), _looks(call, second)
    return {"a": left["name"], "a_shape": left["shape"], "a_dtype": left["dtype"]} | {
        "b": right["name"],
        "b_shape": right["shape"],
        "b_dtype": right["dtype"],
    }


def _view_stride(call: FailedCall) -> Advice:
    tensor = _first(call)
    return _about(call, call.subjects[:1], call.made_on(tensor), **_looks(call, tensor))


def _overlapping_write(call: FailedCall) -> Advice:
    tensor = call.named[0] if call.named else _first(call)
    return _about(call, [tensor] if tensor is not None else [], call.made_on(tensor), **_looks(call, tensor))


def _overlapping_source(call: FailedCall) -> Advice:
    subjects = call.subjects[:2]
    return _about(call, subjects, **_looks(call, subjects[0] if subjects else None))


def _leaf_in_place(call: FailedCall) -> Advice:
    leaves = [t for t in call.named if (v := call.view(t)) and v.requires_grad and v.is_leaf]
    views = [t for t in call.named if t not in leaves and (v := call.view(t)) and v.requires_grad]
    written = (views or leaves or call.named)[:1]
    kind = "view" if call.group("view") else "leaf"
    if kind == "leaf":
        written = (leaves or call.named)[:1]
    return _about(call, written, how=kind)


def _backward_twice(call: FailedCall) -> Advice:
    subjects = call.roots[:1]
    for argument in [*subjects, *call.tensors]:
        freed = call.freeing(argument)
        if freed is not None:
            return _about(call, subjects, call.line_of(freed), carried=carried(call))
    return _about(call, subjects, carried=[])


def _no_graph(call: FailedCall) -> Advice:
    tensor = _first(call)
    subjects = call.subjects[:1]
    cut = None if tensor is None else call.cut(tensor)
    if cut is None:
        return _about(call, subjects, how="nothing", cut="?", op="?")
    maker = call.chronicle.maker(cut, call.moment)
    op = call.chronicle.op_name(call.chronicle.op(maker)) if maker is not None else "?"
    line = call.line_of(maker)
    name = call.name(cut) or call.label(cut)
    return _about(call, [*subjects, cut], line, how="cut", cut=name, op=op)


def _unused(call: FailedCall) -> Advice:
    if not call.tensors:
        return _subjects(call)
    loss, *inputs = call.tensors
    used = call.chronicle.reachable([call.grad_fn(loss)])
    leaves = {call.chronicle.nodes[node].variable for node in used}
    unused = [t for t in inputs if t not in leaves and call.grad_fn(t) not in used]
    return _about(call, [loss, *unused], unused=call.names_of(unused))


def _made_where(call: FailedCall) -> Advice:
    """The line that made the tensor is the one to change."""
    tensor = call.subjects[0] if call.subjects else None
    return _about(call, call.subjects, call.made_on(tensor), **_looks(call, tensor))


def _deepcopy(call: FailedCall) -> Advice:
    return _made_where(call)


def _matmul(call: FailedCall) -> Advice:
    """The two matrices: in `addmm` and its kin the tensor that is added comes first."""
    tensors = call.tensors
    if call.api in ("addmm", "addmv", "addbmm", "baddbmm", "addmm_", "__radd__") and len(tensors) > 2:
        tensors = tensors[1:]
    pair = tensors[:2]
    left, right = _first_two(pair)
    names = [call.label(t) for t in pair]
    operands = call.names_of(pair) or call.names_of(call.subjects)
    how = "linear" if call.api == "linear" else "matmul"
    return Advice(
        None, tuple(operands), {**call.groups, **_two(call, left, right), "names": names, "how": how}
    )


def _pair(call: FailedCall) -> Advice:
    tensors = call.tensors
    left, right = _first_two(tensors)
    sizes = {f"{k}_size" if k in ("a", "b") else k: v for k, v in call.groups.items()}
    return _about(call, call.subjects[:2], **(sizes | _two(call, left, right)))


def _all(call: FailedCall) -> Advice:
    """Shapes of every operand: `cat`, `stack`."""
    shapes = [f"{call.label(t)} {_looks(call, t)['shape']}" for t in call.tensors]
    return _about(call, call.subjects, **(call.groups | {"shapes": shapes}))


def _dim_out_of_range(call: FailedCall) -> Advice:
    tensor = call.subjects[0] if call.subjects else _first(call)
    return _about(call, call.subjects[:1], call.made_on(tensor), **call.groups, **_looks(call, tensor))


def _index_out_of_range(call: FailedCall) -> Advice:
    if call.api == "embedding" and len(call.tensors) > 1:
        return _index_of_embedding(call)
    tensor = call.subjects[0] if call.subjects else _first(call)
    indices = None
    if call.group_or_none("size") and call.group_or_none("dim") and (sized := _with_size(call)) is not None:
        indices = next((t for t in call.named if t != sized and _holds_indices(call, t)), None)
        tensor = sized
    name = "?" if indices is None else call.label(indices)
    about = [t for t in (tensor, indices) if t is not None and call.name(t)] or call.subjects[:1]
    return _about(call, about, **call.groups, **_looks(call, tensor), indices=name, how="call")


def _with_size(call: FailedCall) -> int | None:
    """The first operand whose size in the dimension that a message speaks of is the one it says."""
    dim, size = int(call.group("dim")), int(call.group("size"))
    for tensor in call.tensors:
        view = call.view(tensor)
        shape = None if view is None else view.shape
        if shape is not None and dim < len(shape) and shape[dim] == size:
            return tensor
    return None


def _holds_indices(call: FailedCall, tensor: int) -> bool:
    view = call.view(tensor)
    return view is not None and view.dtype in ("torch.int64", "torch.int32")


def _index_of_embedding(call: FailedCall) -> Advice:
    """The table is what an index is out of range for; the tensor of indices holds it."""
    views = [(t, v) for t in call.tensors if (v := call.view(t)) is not None]
    table = next((t for t, v in views if can_have_gradient(v.dtype)), None)
    indices = next((t for t, _ in views if t != table), None)
    name = None if indices is None else call.name(indices)
    return _about(call, call.subjects, **call.groups, **_looks(call, table), indices=name or "?")


_DTYPES = {
    "Float": "float32",
    "Double": "float64",
    "Half": "float16",
    "Long": "int64",
    "Int": "int32",
    "Short": "int16",
    "Char": "int8",
    "Byte": "uint8",
    "Bool": "bool",
    "BFloat16": "bfloat16",
    "ComplexFloat": "complex64",
    "ComplexDouble": "complex128",
    "float": "float32",
    "double": "float64",
    "long int": "int64",
}


def _dtypes(call: FailedCall) -> dict[str, Any]:
    """The dtypes a message speaks of, by PyTorch's Python names."""

    def plain(words: str) -> str:
        return " / ".join(_DTYPES.get(word.strip(), word.strip()) for word in words.split(" or "))

    return {key: plain(value or "") for key, value in (call.match.groupdict() if call.match else {}).items()}


def _dtype_cast(call: FailedCall) -> Advice:
    return _about(call, call.subjects, **_looks(call, _first(call)), **_dtypes(call))


def _dtype_mismatch(call: FailedCall) -> Advice:
    """The tensor whose dtype is the one found is at fault."""
    dtypes = _dtypes(call)
    tensors = call.tensors
    found = [t for t in tensors if _looks(call, t)["dtype"] == dtypes.get("found")]
    about_target = "target" in (call.outcome.message or "") and len(tensors) > 1
    guilty = tensors[1:2] if about_target else found
    named = [t for t in guilty if call.name(t) is not None]
    line = call.made_on(named[0]) if len(named) == 1 else None
    left, right = _first_two(tensors)
    two = _two(call, left, right)
    differ = "?" not in (two["a"], two["b"]) and two["a_dtype"] != two["b_dtype"]
    how = "target" if about_target else "pair" if differ else "other"
    two |= {"a_code": _as_operand(two["a"]), "b_code": _as_operand(two["b"])}
    return _about(call, call.subjects[:2], line, how=how, **dtypes, **two)


def _as_operand(text: str) -> str:
    """An expression to which a method can be applied."""
    return text if re.fullmatch(r"[\w.]+", text) else f"({text})"


def _dtype_unsupported(call: FailedCall) -> Advice:
    looks, api = _looks(call, _first(call)), api_text(call.api)
    bits = api[:1] in ("~", "&", "|", "^") or "Boolean" in (call.outcome.message or "")
    how = "bits" if bits else "complex" if looks["dtype"].startswith("complex") else "other"
    return _about(call, call.subjects[:1], api=api, how=how, **looks)


def _bool_minus(call: FailedCall) -> Advice:
    how = "two" if call.group("count") == "two" else "one"
    return _about(call, call.subjects[:2], how=how, **_two(call, *_first_two(call.tensors)))


def _in_place_shape(call: FailedCall) -> Advice:
    shapes = {key: _as_tuple(sizes) for key, sizes in call.groups.items()}
    return _about(call, call.subjects[:2], **(shapes | _two(call, *_first_two(call.tensors))))


def _expand_shape(call: FailedCall) -> Advice:
    """What `expand` was called on, or the place that a value was assigned to."""
    if call.api != "__setitem__":
        return _index_out_of_range(call)
    place, value = _first_two(call.tensors)
    groups = call.groups
    looks = {"value": "?" if value is None else call.label(value), "sizes": _looks(call, value)["shape"]}
    args = groups | {"target": _as_tuple(groups["target"])} | _looks(call, place) | looks
    return _about(call, call.subjects[:2], **args, how="assign")


def _as_tuple(sizes: str) -> str:
    """A shape in a message, as every other sentence writes it."""
    return tuple_text(tuple(int(size) for size in re.findall(r"\d+", sizes)))


def _device_mismatch(call: FailedCall) -> Advice:
    places: dict[str, list[int]] = {}
    for tensor in call.tensors:
        view = call.view(tensor)
        if view is not None:
            places.setdefault(str(view.device), []).append(tensor)
    odd = places.get("cpu", [])
    line = call.made_on(odd[0]) if len(odd) == 1 else None
    here, there, *_ = [*places, "?", "?"]
    a, b = ([call.label(t) for t in places.get(device, ())] for device in (here, there))
    args = {"a": a, "b": b, "here": here, "there": there}
    return _about(call, call.subjects, line, **args)


def _inference(call: FailedCall) -> Advice:
    """Those of the operands that are inference tensors, and where the first was made."""
    made = [
        tensor
        for tensor in call.subjects
        if any(t.id == "inference" for t in call.chronicle.recorded_traits(tensor, call.moment))
    ]
    return _about(call, made or call.subjects, next((line for t in made if (line := call.made_on(t))), None))


def _meta(call: FailedCall) -> Advice:
    tensor = _first(call)
    if tensor is None:
        return _subjects(call)
    root = call.first_on_device(tensor)
    maker = call.chronicle.maker(root, call.moment)
    line = call.line_of(maker if maker is not None else call.chronicle.born(root))
    return _about(call, [tensor, root], line, **_looks(call, tensor))


def _first_shaped(call: FailedCall) -> Advice:
    """About the tensor the call was made on, with what the message says of it."""
    tensor = call.subjects[0] if call.subjects else _first(call)
    return _about(call, call.subjects[:1], **(call.groups | _looks(call, tensor)))


def _input_of(call: FailedCall) -> Advice:
    """About what a layer was given, which comes before its parameters."""
    tensor = _first(call)
    return _about(call, [] if tensor is None else [tensor], **(call.groups | _looks(call, tensor)))


def _input_size(call: FailedCall) -> Advice:
    groups = {key.removesuffix("_embedding"): v for key, v in call.groups.items() if v != "?"}
    if groups.get("want", "").count(",") < groups.get("got", "").count(","):
        groups["got"] = groups["got"].rsplit(", ", 1)[-1]  # a whole shape, of which the last size counts
    tensor = call.subjects[0] if call.subjects else _first(call)
    return _about(call, call.subjects[:1], **(groups | _looks(call, tensor)))


def _not_a_tensor(call: FailedCall) -> Advice:
    found = next((v for k, v in call.groups.items() if k != "argument" and v != "?"), "?")
    return _about(call, call.subjects, found=found, argument=call.groups.get("argument", "?"))


def _nothing(call: FailedCall) -> Advice:
    return Advice(None, ())


def _nothing_but_groups(call: FailedCall) -> Advice:
    return Advice(None, (), call.groups)


def _graph_break(call: FailedCall) -> Advice:
    lines = re.findall(r"line (\d+), in ", call.outcome.message or "")
    inner = int(lines[-1]) if lines else None
    return Advice(inner if inner != call.line else None, ())


def _compiled_call(call: FailedCall) -> Advice:
    cause = _graph_break(call).caused_by
    return Advice(cause, (), {**call.groups, **_last_recompile(call)})


def _last_recompile(call: FailedCall) -> dict[str, Any]:
    """Why the last function was compiled again: the variable and what it was compiled for."""
    for compilation in reversed(call.chronicle.compilations.values()):
        if compilation.recompiled:
            failed = compilation.recompiled[0]
            return {"function": compilation.function, "guard": failed.text}
    return {"guard": "?"}


def _vmap_in_place(call: FailedCall) -> Advice:
    subjects = call.subjects
    return _about(call, subjects, call.made_on(subjects[0]) if subjects else None)


def _integer(call: FailedCall) -> Advice:
    tensor = call.subjects[0] if call.subjects else None
    return _about(call, call.subjects[:1], call.made_on(tensor))


def _grad_none(call: FailedCall) -> Advice:
    """Of the `.grad` read by the failing statement, one that is None."""
    bindings = call.chronicle.bindings(call.frame, call.moment) | (
        call.chronicle.bindings(0, call.moment) if call.frame else {}
    )
    for node in call.statement_expressions():
        if isinstance(node, ast.Attribute) and node.attr == "grad":
            name = ast.unparse(node.value)
            tensor = bindings.get(name)
            state = None if tensor is None else call.chronicle.tensor(tensor, call.moment)
            if tensor is None or state is None or state.grad is not None:
                continue
            view = call.view(tensor)
            cleared = call.grad_cleared(tensor)
            how = "non-leaf" if view is not None and not view.is_leaf else ("cleared" if cleared else "never")
            return Advice(call.line_of(cleared), (name,), {"how": how, "name": name})
    return Advice(None, ())


ADVICE: dict[str, Callable[[FailedCall], Advice]] = {
    "": _subjects,
    "saved-tensor-modified": saved_tensor_modified,
    "saved-tensor-modified-by-hook": pack_hook,
    "view-stride": _view_stride,
    "view-size": _index_out_of_range,
    "overlapping-write": _overlapping_write,
    "overlapping-write-source": _overlapping_source,
    "leaf-in-place": _leaf_in_place,
    "backward-twice": _backward_twice,
    "no-graph": _no_graph,
    "backward-non-scalar": _first_subject,
    "unused-in-graph": _unused,
    "integer-requires-grad": _integer,
    "requires-grad-non-leaf": _first_subject,
    "detach-view": _first_subject,
    "deepcopy-non-leaf": _deepcopy,
    "no-grad-view": _made_where,
    "inference-tensor": _inference,
    "multi-output-view": _made_where,
    "numpy-requires-grad": _first_subject,
    "vmap-in-place": _vmap_in_place,
    "vmap-item": _first_subject,
    "matmul-shape": _matmul,
    "bmm-shape": _matmul,
    "broadcast-shape": _pair,
    "in-place-shape": _in_place_shape,
    "expand-shape": _expand_shape,
    "cat-shape": _all,
    "einsum-size": _all,
    "channels-shape": _matmul,
    "batch-size": _pair,
    "target-out-of-range": _pair,
    "dim-out-of-range": _dim_out_of_range,
    "index-out-of-range": _index_out_of_range,
    "too-many-indices": _index_out_of_range,
    "dtype-cast": _dtype_cast,
    "dtype-mismatch": _dtype_mismatch,
    "bool-minus": _bool_minus,
    "dtype-unsupported": _dtype_unsupported,
    "device-mismatch": _device_mismatch,
    "device-numpy": _first_subject,
    "meta-no-data": _meta,
    "no-accelerator": _subjects,
    "out-of-memory": out_of_memory,
    "item-non-scalar": item,
    "sparse-uncoalesced": _first_subject,
    "nested-shape": _first_subject,
    "graph-break": _graph_break,
    "compile-backend": _compiled_call,
    "compile-backend-failed": _compiled_call,
    "recompile-limit": _compiled_call,
    "recompile-forbidden": _compiled_call,
    "compile-shape": _compiled_call,
    "compile-dynamic": _compiled_call,
    "compile-double-backward": _nothing,
    "state-dict": state_dict,
    "no-kernel": no_kernel,
    "optimizer-empty": _nothing,
    "grad-none": _grad_none,
    "input-dims": _first_shaped,
    "input-size": _input_size,
    "batch-of-one": _first_shaped,
    "target-shape": _pair,
    "input-without-grad": _subjects,
    "gradient-shape": _first_shaped,
    "gradient-count": _first_shaped,
    "nan-gradient": nan_gradient,
    "hidden-size": _first_shaped,
    "negative-strides": _nothing,
    "not-probabilities": _first_shaped,
    "mask-shape": _pair,
    "assigned-shape": _first_shaped,
    "dim-count": _first_shaped,
    "kernel-size": _input_of,
    "mask-dtype": mask,
    "assign-parameter": _nothing_but_groups,
    "empty-reduction": _first_shaped,
    "class-count": _first_shaped,
    "singular-matrix": _first_shaped,
    "not-a-tensor": _not_a_tensor,
    "module-init": _nothing,
    "no-forward": _nothing,
}
"""Name of a rule → what it needs. The empty name is for rules without a function of their own."""
