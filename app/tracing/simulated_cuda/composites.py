"""What PyTorch compares in C++ before it comes to an op: recurrent layers, attention, windows, gradients.

Such a function asks C++ where its tensors are, which is the CPU here. It is asked of the labels instead, in
the words of ATen, and then PyTorch's own runs.
"""

import functools
from typing import Any

import torch

from .checks import check_recurrent, check_wrapped
from .labels import CPU, Labels
from .machine import Machine
from .patches import Patches

_VF: Any = torch._VF


def put_composites(machine: Machine, patches: Patches) -> None:
    """Have them compare labels."""
    labels = machine.labels
    _put_recurrent(machine, patches)
    attend = _before(torch.nn.functional.scaled_dot_product_attention, _check_attention, labels)
    for owner_of_attention in (torch.nn.functional, torch._C._nn):
        patches.put(owner_of_attention, "scaled_dot_product_attention", attend)
    checks: tuple[tuple[Any, str, Any], ...] = (
        (torch.linalg, "multi_dot", _check_chain),
        (torch, "block_diag", _check_block_diagonal),
        (torch, "quantile", _check_quantile),
        (torch, "nanquantile", _check_quantile),
        (torch.Tensor, "quantile", _check_quantile),
        (torch.Tensor, "nanquantile", _check_quantile),
        (torch, "tensor_split", _check_split),
        (torch.Tensor, "tensor_split", _check_split),
        (_VF, "stft", _check_window("stft", 4)),
        (_VF, "istft", _check_window("istft", 4)),
        (_VF, "meshgrid", _check_meshgrid),
        (torch.Tensor, "apply_", _check_apply("apply_")),
        (torch.Tensor, "map_", _check_apply("map_")),
        (torch.Tensor, "map2_", _check_apply("map2_")),
    )
    for owner, name, check in checks:
        patches.put(owner, name, _before(getattr(owner, name), check, labels))
    _put_gradients(machine, patches)
    _put_nested(machine, patches)
    one_hot: Any = torch.nn.functional.one_hot

    def encode(tensor: Any, num_classes: int = -1) -> Any:
        """On CUDA the classes are looked at by the kernel that writes the ones."""
        try:
            return one_hot(tensor, num_classes)
        except RuntimeError as error:
            if labels.of(tensor) is not CPU:
                machine.faults.check("one_hot", error)
            raise

    for owner in (torch.nn.functional, torch._C._nn):
        patches.put(owner, "one_hot", functools.wraps(one_hot)(encode))


def _before(original: Any, check: Any, labels: Labels) -> Any:
    """A function that compares, then runs; before anything is on a device it only runs."""

    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not labels.is_empty:
            check(labels, *args, **kwargs)
        return original(*args, **kwargs)

    return call


def _check_attention(
    labels: Labels, query: Any, key: Any, value: Any, attn_mask: Any = None, *rest: Any, **kwargs: Any
) -> None:
    """As `validate_sdpa_input`; a mask is compared by the kernel that is chosen."""
    devices = [labels.of(t) for t in (query, key, value)]
    if devices.count(devices[0]) < 3:
        raise RuntimeError(
            "Expected query, key, and value to have the same device type, but got "
            f"query.device: {devices[0]} key.device: {devices[1]} and value.device: {devices[2]} instead."
        )
    if not isinstance(attn_mask, torch.Tensor) or devices[0] is CPU:
        return
    there = labels.of(attn_mask)
    if there != devices[0] and query.dim() == 4 and not labels.is_undecided(attn_mask):
        raise RuntimeError(
            f"Expected all tensors to be on the same device, but got attn_bias is on {there}, different from "
            f"other tensors on {devices[0]} (when checking argument in method "
            "wrapper_CUDA___scaled_dot_product_efficient_attention)"
        )


def _check_chain(labels: Labels, tensors: Any, **kwargs: Any) -> None:
    devices = [labels.of(t) for t in tensors]
    for i, device in enumerate(devices):
        if device != devices[0]:
            raise RuntimeError(
                "multi_dot(): all tensors must be on the same device but tensor 0 is on "
                f"{devices[0]} and tensor {i} on {device}"
            )


def _check_block_diagonal(labels: Labels, *tensors: Any) -> None:
    if len({labels.of(t) for t in tensors}) > 1:
        raise RuntimeError("torch.block_diag: input tensors must all be on the same device.")


def _check_meshgrid(labels: Labels, tensors: Any, *rest: Any, **kwargs: Any) -> None:
    if len({labels.of(t) for t in tensors}) > 1:
        raise RuntimeError("meshgrid expects all tensors to have the same device")


def _check_quantile(labels: Labels, given: Any, q: Any, *rest: Any, **kwargs: Any) -> None:
    if isinstance(q, torch.Tensor) and labels.of(q) != labels.of(given):
        raise RuntimeError("quantile() q tensor must be on the same device as the input tensor")


def _check_split(labels: Labels, given: Any, where: Any = None, *rest: Any, **kwargs: Any) -> None:
    where = kwargs.get("tensor_indices_or_sections", where)
    if isinstance(where, torch.Tensor) and labels.of(where) is not CPU:
        raise RuntimeError(
            f"tensor_split expected tensor_indices_or_sections to be on cpu, but it's on {labels.of(where)}"
        )


def _check_window(name: str, position: int) -> Any:
    def check(labels: Labels, given: Any, *rest: Any, **kwargs: Any) -> None:
        window = kwargs.get("window", rest[position - 1] if len(rest) >= position else None)
        if isinstance(window, torch.Tensor) and labels.of(window) != labels.of(given):
            raise RuntimeError(
                f"{name} input and window must be on the same device but got self on {labels.of(given)} "
                f"and window on {labels.of(window)}"
            )

    return check


def _check_apply(name: str) -> Any:
    def check(labels: Labels, given: Any, *rest: Any) -> None:
        if any(isinstance(t, torch.Tensor) and labels.of(t) is not CPU for t in (given, *rest)):
            raise TypeError(f"{name} is only implemented on CPU tensors")

    return check


def _put_gradients(machine: Machine, patches: Patches) -> None:
    """As `validate_outputs` of the engine: a gradient is where its tensor is; one of no dimensions moves."""
    labels = machine.labels
    run: Any = torch.autograd.graph._engine_run_backward

    def fitting(grad: Any, place: torch.device, which: str) -> Any:
        if not isinstance(grad, torch.Tensor) or labels.of(grad) == place or labels.is_undecided(grad):
            return grad
        if grad.dim() == 0:
            return machine.move(grad, place)
        raise RuntimeError(f"{which} - expected device {place} but got {labels.of(grad)}")

    def run_backward(outputs: Any, grads: Any, *rest: Any, **kwargs: Any) -> Any:
        if not labels.is_empty:
            grads = tuple(
                fitting(grad, labels.of(out), f"invalid gradient at index {i}")
                if isinstance(out, torch.Tensor)
                else grad
                for i, (out, grad) in enumerate(zip(outputs, grads, strict=True))
            )
        return run(outputs, grads, *rest, **kwargs)

    patches.put(torch.autograd, "_engine_run_backward", run_backward)
    apply: Any = vars(torch.autograd.Function)["apply"].__func__

    def apply_with_devices(cls: Any, *args: Any, **kwargs: Any) -> Any:
        out = apply(cls, *args, **kwargs)
        if labels.is_empty:
            return out
        made = next(
            (t for t in (out if isinstance(out, tuple) else (out,)) if isinstance(t, torch.Tensor)), None
        )
        node = None if made is None else made.grad_fn
        if node is None or not isinstance(node, cls._backward_cls):
            return out
        places = [labels.of(t) for t in args if isinstance(t, torch.Tensor)]
        said = f"Function {cls.__name__}Backward returned an invalid gradient at index"

        def hook(grads: Any, _: Any) -> Any:
            if len(grads) != len(places):
                return None
            return tuple(
                fitting(grad, place, f"{said} {i}")
                for i, (grad, place) in enumerate(zip(grads, places, strict=True))
            )

        node.register_hook(hook)
        return out

    patches.put(torch.autograd.Function, "apply", classmethod(apply_with_devices))


def _check_cell(name: str) -> Any:
    """A cell whose input is on the device multiplies, then calls one kernel; else its ops speak for it."""
    wrapper = f"wrapper_CUDA___thnn_fused_{name}"

    def check(labels: Labels, given: Any, hidden: Any, weight: Any, inner: Any, *biases: Any) -> None:
        here = labels.of(given)
        if here is CPU:
            return
        states = list(hidden) if isinstance(hidden, (list, tuple)) else [hidden]
        check_wrapped("wrapper_CUDA_mm", [("self", given), ("mat2", weight)], labels)
        check_wrapped("wrapper_CUDA_mm", [("self", states[0]), ("mat2", inner)], labels)
        last = ("cx", states[1]) if len(states) > 1 else ("hx", states[0])
        named = [("input_gates", given), ("hidden_gates", states[0]), last]
        named += zip(("input_bias", "hidden_bias"), (b for b in biases if b is not None), strict=False)
        check_wrapped(wrapper, named, labels)

    return check


def _put_nested(machine: Machine, patches: Patches) -> None:
    """Nested tensors of layout `jagged` are Python: the ops on their parts are to be heard as well."""
    kind: Any = torch.nested._internal.nested_tensor.NestedTensor
    run: Any = vars(kind)["__torch_dispatch__"].__func__

    def heard(cls: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if machine.labels.is_empty:
            return run(cls, func, types, args, kwargs)
        with machine.running_mode():
            return run(cls, func, types, args, kwargs)

    patches.put(kind, "__torch_dispatch__", classmethod(heard))


def _put_recurrent(machine: Machine, patches: Patches) -> None:
    """Recurrent layers compare devices before they begin."""

    def checked(original: Any) -> Any:
        def run(given: Any, second: Any, *rest: Any) -> Any:
            packed = isinstance(rest[1], (list, tuple))  # input, batch sizes, hidden state, weights
            hidden, weights = rest[:2] if packed else (second, rest[0])
            states = list(hidden) if isinstance(hidden, (list, tuple)) else [hidden]
            check_recurrent(given, states, list(weights), machine.labels)
            return original(given, second, *rest)

        return run

    for name in ("lstm_cell", "gru_cell"):
        patches.put(_VF, name, _before(getattr(_VF, name), _check_cell(name), machine.labels))
    for name in ("lstm", "gru", "rnn_tanh", "rnn_relu"):
        patches.put(_VF, name, checked(getattr(_VF, name)))
    ctc_loss: Any = torch.ctc_loss

    def with_lengths_there(log_probs: Any, targets: Any, *rest: Any) -> Any:
        """PyTorch moves lengths to the device by itself, in C++, where there is none."""
        lengths = [each.to(log_probs.device) if isinstance(each, torch.Tensor) else each for each in rest]
        return ctc_loss(log_probs, targets, *lengths)

    patches.put(torch, "ctc_loss", with_lengths_there)
