"""What CUDA's kernels say of operands on two devices, op by op.

Three kinds. Kernels behind PyTorch's generated wrappers name the first tensor that is elsewhere than those
before it; element-wise ops name two devices, and let a CPU tensor without dimensions pass; some ops have
words of their own, or accept a tensor on the CPU. Which op is of which kind is in `wrappers`; the words are
those of c10/core/impl and ATen. What PyTorch compares before it comes to an op is in `composites`. None of
it could be held against a GPU here.
"""

from collections.abc import Callable
from typing import Any

import torch

from .labels import CPU, Labels
from .names import DTYPES, type_name
from .wrappers import WRAPPERS, compared

_AS_ANOTHER = {
    "stack": ("wrapper_CUDA_cat", {"tensors": "tensors"}),
    "embedding": ("wrapper_CUDA__index_select", {"weight": "self", "indices": "index"}),
    "_ctc_loss": ("wrapper_CUDA___ctc_loss", {"log_probs": "log_probs", "targets": "targets"}),
    "_ctc_loss.Tensor": ("wrapper_CUDA___ctc_loss", {"log_probs": "log_probs", "targets": "targets"}),
    "linear": ("wrapper_CUDA_addmm", {"bias": "self", "input": "mat1", "weight": "mat2"}),
    "masked_scatter": ("wrapper_CUDA__masked_scatter_", {n: n for n in ("self", "mask", "source")}),
    "_scaled_dot_product_flash_attention_for_cpu": (
        "wrapper_CUDA___scaled_dot_product_efficient_attention",
        {"query": "query", "key": "key", "value": "value", "attn_mask": "attn_bias"},
    ),
}
"""Ops that on CUDA run through another one's wrapper: its name, and what it calls our arguments."""

_ANYWHERE_OPS = """
    _to_copy copy_ _copy_from lift lift_fresh lift_fresh_copy _pin_memory is_pinned _foreach_copy_ detach
    alias fill.Tensor fill_.Tensor _has_compatible_shallow_copy_type is_set_to resize_as_ is_same_size
    _sparse_coo_tensor_with_dims_and_tensors record_stream _shape_as_tensor
    _ctc_loss_backward _ctc_loss_backward.Tensor _nested_view_from_jagged _nested_get_jagged_dummy
    """
_ANYWHERE = frozenset(_ANYWHERE_OPS.split())
"""Ops that look at no device, or say what they have to say elsewhere."""


def common_device(
    func: Any, args: Any, kwargs: Any, tensors: list[Any], labels: Labels
) -> tuple[torch.device, bool]:
    """The device an op runs on, and whether an operand is elsewhere and may be.

    Args:
        func: The op.
        args: Its positional arguments.
        kwargs: The others.
        tensors: The tensors among them.
        labels: Know where tensors are.

    Raises:
        RuntimeError: Its operands are on two devices, in the words of CUDA.
    """
    first = CPU
    mixed = False
    for t in tensors:
        device = labels.of(t)
        if device is CPU:
            mixed = mixed or not labels.is_undecided(t)
        elif first is CPU:
            first = device
        elif device != first:
            mixed = True
    if first is CPU:
        return CPU, False
    name = func.name().removeprefix("aten::")
    if mixed:
        _check(name, func, args, kwargs, tensors, labels, first)
    if name == "_pack_padded_sequence":
        _check_lengths(args, kwargs, labels)
    for t in tensors:
        if t.dim() > 0 and labels.is_undecided(t):
            labels.put(t, first)
    return first, mixed


def _check(
    name: str, func: Any, args: Any, kwargs: Any, tensors: list[Any], labels: Labels, first: torch.device
) -> None:
    if name in _ANYWHERE:
        return
    special = _check_foreach if name.startswith("_foreach_") else _OWN_WORDS.get(name)
    if special is not None:
        special(args, kwargs, labels)
    elif name in _AS_ANOTHER:
        wrapper, names = _AS_ANOTHER[name]
        check_wrapped(wrapper, _named(func, args, kwargs, names), labels)
    elif name in WRAPPERS:
        check_wrapped(WRAPPERS[name], _named(func, args, kwargs, None), labels)
    else:
        _check_elementwise(tensors, func, args, labels, first)


def _named(func: Any, args: Any, kwargs: Any, names: dict[str, str] | None) -> list[tuple[str, Any]]:
    """Tensors among the arguments, each with the argument's name."""
    found: dict[str, list[Any]] = {}
    for i, argument in compared(func):
        value = args[i] if i < len(args) else kwargs.get(argument)
        called = argument if names is None else names.get(argument)
        if called is None:
            continue
        for t in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(t, torch.Tensor):
                found.setdefault(called, []).append(t)
    order = found if names is None else [name for name in names.values() if name in found]
    return [(name, t) for name in order for t in found[name]]


def check_wrapped(wrapper: str, named: list[tuple[str, Any]], labels: Labels) -> None:
    """As `c10::impl::check_and_update_common_device`.

    Args:
        wrapper: Around the kernel.
        named: Its tensors, each with the name of the argument.
        labels: Know where tensors are.

    Raises:
        RuntimeError: One is elsewhere than those before it.
    """
    common: torch.device | None = None
    for name, t in named:
        if labels.is_undecided(t):
            continue
        device = labels.of(t)
        if common is None:
            common = device
        elif device != common:
            raise RuntimeError(
                f"Expected all tensors to be on the same device, but got {name} is on {device}, "
                f"different from other tensors on {common} (when checking argument in method {wrapper})"
            )


def _check_elementwise(tensors: list[Any], func: Any, args: Any, labels: Labels, first: torch.device) -> None:
    """As `TensorIteratorBase::compute_types`: a CPU tensor without dimensions passes, unless written."""
    first_is_written = func._schema.name.endswith("_")
    for t in tensors:
        device = labels.of(t)
        if device == first or labels.is_undecided(t):
            continue
        if device == CPU and t.dim() == 0 and not (first_is_written and args and t is args[0]):
            continue
        raise RuntimeError(_two_devices(first, device))


def _two_devices(first: torch.device, second: torch.device) -> str:
    return (
        "Expected all tensors to be on the same device, "
        f"but found at least two devices, {first} and {second}!"
    )


# -- ops with words of their own


def _check_index(args: Any, kwargs: Any, labels: Labels) -> None:
    """Indices may be on the CPU; values too if they have no dimensions."""
    device = labels.of(args[0])
    for index in args[1]:
        if index is not None and not labels.is_undecided(index) and labels.of(index) not in (CPU, device):
            raise RuntimeError(
                f"indices should be either on cpu or on the same device as the indexed tensor ({device})"
            )
    if len(args) > 2 and isinstance(args[2], torch.Tensor) and not labels.is_undecided(args[2]):
        there = labels.of(args[2])
        if there != device and args[2].dim() > 0:
            accumulates = args[3] if len(args) > 3 else kwargs.get("accumulate", False)
            if accumulates and device != CPU:
                raise RuntimeError(f"expected device {device} but got device {there} for value tensor")
            raise RuntimeError(_two_devices(*((device, there) if device != CPU else (there, device))))


def _check_convolution(args: Any, kwargs: Any, labels: Labels) -> None:
    """As `check_input_same_type_as_parameters` of Convolution.cpp."""
    given, weight = args[0], args[1]
    bias = args[2] if len(args) > 2 else kwargs.get("bias")
    here = labels.of(given)
    for what, t in (("weight", weight), ("bias", bias)):
        if t is None or labels.of(t) == here:
            continue
        there = labels.of(t)
        if there.type == here.type:
            check_wrapped("wrapper_CUDA__cudnn_convolution", [("self", given), (what, t)], labels)
        raise RuntimeError(
            f"Input type ({type_name(given, here)}) and {what} type ({type_name(t, there)}) "
            "should be the same"
        )


def _check_masked_fill(args: Any, kwargs: Any, labels: Labels) -> None:
    """As `masked_fill__cuda`."""
    if labels.is_undecided(args[0]) or labels.is_undecided(args[1]):
        return
    here, there = labels.of(args[0]), labels.of(args[1])
    if here == CPU and isinstance(args[2], torch.Tensor) and labels.of(args[2]) != CPU:
        raise RuntimeError("masked_fill_: Expected inputs to be on same device")
    if here != there:
        raise RuntimeError(
            f"expected self and mask to be on the same device, but got mask on {there} and self on {here}"
        )


def _check_batch_norm(args: Any, kwargs: Any, labels: Labels) -> None:
    """cuDNN is chosen for images, with weights, not for rows."""
    given, weight, bias = args[:3]
    chosen = given.dim() > 2 and weight is not None and bias is not None and given.dtype != torch.bfloat16
    wrapper = "wrapper_CUDA__cudnn_batch_norm" if chosen else "wrapper_CUDA__native_batch_norm"
    names = ("input", "weight", "bias", "running_mean", "running_var")
    named = [(name, t) for name, t in zip(names, args, strict=False) if isinstance(t, torch.Tensor)]
    check_wrapped(wrapper, named, labels)


def _check_grid(args: Any, kwargs: Any, labels: Labels) -> None:
    """As `check_grid_sampler_common`."""
    given, grid = labels.of(args[0]), labels.of(args[1])
    if given != grid:
        raise RuntimeError(
            "grid_sampler(): expected input and grid to be on same device, "
            f"but input is on {given} and grid is on {grid}"
        )


def _check_set(args: Any, kwargs: Any, labels: Labels) -> None:
    """As `checkSetStorage`."""
    here, there = labels.of(args[0]), labels.of(args[1])
    if here != there and not labels.is_undecided(args[0]):
        raise RuntimeError(
            f'Attempted to set the storage of a tensor on device "{here}" to a storage on different device '
            f'"{there}".  This is no longer allowed; the devices must match.'
        )


def _check_where(args: Any, kwargs: Any, labels: Labels) -> None:
    """A tensor without dimensions is moved along."""
    devices = [labels.of(t) for t in args if t.dim() > 0 and not labels.is_undecided(t)]
    first = next((device for device in devices if device != CPU), CPU)
    for device in devices:
        if device != first:
            raise RuntimeError(_two_devices(first, device))


def _check_foreach(args: Any, kwargs: Any, labels: Labels) -> None:
    """Foreach ops fall back to one op a tensor, whose rules are those of element-wise ones."""
    lists = [v for v in args if isinstance(v, (list, tuple)) and v and isinstance(v[0], torch.Tensor)]
    singles = [value for value in args if isinstance(value, torch.Tensor)]
    for row in zip(*lists, strict=False):
        group = [*row, *singles]
        first = next((device for t in group if (device := labels.of(t)) != CPU), CPU)
        for t in group:
            if labels.of(t) != first and t.dim() > 0 and not labels.is_undecided(t):
                raise RuntimeError(_two_devices(first, labels.of(t)))


def _check_lengths(args: Any, kwargs: Any, labels: Labels) -> None:
    """`pack_padded_sequence` counts on the CPU."""
    lengths = args[1]
    device = labels.of(lengths)
    if device != CPU:
        raise RuntimeError(
            "'lengths' argument should be a 1D CPU int64 tensor, "
            f"but got {lengths.dim()}D {device} {DTYPES.get(lengths.dtype, '')} tensor"
        )


def _check_mv(args: Any, kwargs: Any, labels: Labels) -> None:
    """`mv` writes, on the device of the vector, through `addmv_`."""
    check_wrapped("wrapper_CUDA_addmv_", [("self", args[1]), ("mat", args[0]), ("vec", args[1])], labels)


def check_recurrent(given: Any, hidden: list[Any], weights: list[Any], labels: Labels) -> None:
    """As `check_attributes` of RNN.cpp.

    Raises:
        RuntimeError: They are not on one device.
    """
    here = labels.of(given)
    for what, tensors in (("hidden", hidden), ("parameter", weights)):
        for t in tensors:
            there = labels.of(t)
            if there != here:
                raise RuntimeError(
                    f"Input and {what} tensors are not at the same device, found input tensor at {here} "
                    f"and {what} tensor at {there}"
                )


_OWN_WORDS: dict[str, Callable[[Any, Any, Labels], None]] = {
    "index.Tensor": _check_index,
    "index_put": _check_index,
    "index_put_": _check_index,
    "_unsafe_index.Tensor": _check_index,
    "_unsafe_index_put": _check_index,
    "_index_put_impl_": _check_index,
    "convolution": _check_convolution,
    "_convolution": _check_convolution,
    "masked_fill.Scalar": _check_masked_fill,
    "masked_fill.Tensor": _check_masked_fill,
    "masked_fill_.Scalar": _check_masked_fill,
    "masked_fill_.Tensor": _check_masked_fill,
    "mv": _check_mv,
    "where.self": _check_where,
    "_pack_padded_sequence": _check_lengths,
    "native_batch_norm": _check_batch_norm,
    "grid_sampler_2d": _check_grid,
    "grid_sampler_3d": _check_grid,
    "set_.source_Tensor": _check_set,
}
