"""What CUDA's kernels say of operands on two devices, op by op.

Three kinds. Kernels behind PyTorch's generated wrappers name the first tensor that is elsewhere than those
before it; element-wise ops name two devices, and let a CPU tensor without dimensions pass; some ops have
words of their own, or accept a tensor on the CPU. Which op is of which kind was read off the schema file
that PyTorch ships (`device_check` in native_functions.yaml, names of wrappers from torchgen); the words are
those of c10/core/impl and ATen. None of it could be held against a GPU here.
"""

import re
from collections.abc import Callable
from typing import Any

import torch

from .labels import CPU, Labels

_STRUCTURED_OPS = """
    _linalg_solve_ex _log_softmax_backward_data _softmax_backward_data adaptive_max_pool2d_backward
    adaptive_max_pool3d_backward addmm addmm_ addmv addmv_ avg_pool2d_backward avg_pool3d_backward
    baddbmm baddbmm_ bmm cat clamp.Tensor clamp_.Tensor clamp_max.Tensor clamp_max_.Tensor
    clamp_min.Tensor clamp_min_.Tensor elu_backward fractional_max_pool2d fractional_max_pool2d_backward
    fractional_max_pool3d gather gcd gcd_ gelu_backward hardshrink_backward hardsigmoid_backward igamma
    igamma_ igammac igammac_ index_add index_add_ index_copy index_copy_ index_reduce index_reduce_
    isin.Tensor_Tensor lcm lcm_ leaky_relu_backward linalg_cross linalg_ldl_solve linalg_lu_solve
    logaddexp logaddexp2 logit_backward lu_unpack max_pool2d_with_indices_backward mm nextafter
    nextafter_ nll_loss_backward nll_loss_forward reflection_pad1d_backward reflection_pad3d_backward
    replication_pad1d_backward scatter.reduce scatter.src scatter.value scatter.value_reduce
    scatter_.reduce scatter_.src scatter_.value scatter_.value_reduce scatter_add scatter_add_
    scatter_reduce.two scatter_reduce_.two sigmoid_backward silu_backward slow_conv_transpose2d
    softplus_backward softshrink_backward tanh_backward threshold_backward triangular_solve
    """
_STRUCTURED = frozenset(_STRUCTURED_OPS.split())
_WRAPPED_OPS = """
    _adaptive_avg_pool2d_backward _adaptive_avg_pool3d_backward
    _amp_foreach_non_finite_check_and_unscale_ _amp_update_scale_ _batch_norm_with_update
    _cdist_backward _cdist_forward _cholesky_solve_helper _chunk_cat _compute_linear_combination
    _conv_depthwise2d _ctc_loss _ctc_loss.Tensor _ctc_loss_backward _ctc_loss_backward.Tensor
    _cummax_helper _cummin_helper _dirichlet_grad _embedding_bag _embedding_bag_backward
    _embedding_bag_dense_backward _embedding_bag_forward_only _embedding_bag_per_sample_weights_backward
    _make_per_channel_quantized_tensor _masked_scale _masked_softmax _masked_softmax_backward
    _native_batch_norm_legit _native_batch_norm_legit.no_stats _padded_dense_to_jagged_forward
    _pdist_backward _philox_normal_ _philox_uniform_ _prelu_kernel _prelu_kernel_backward
    _scaled_dot_product_cudnn_attention _scaled_dot_product_cudnn_attention_backward
    _scaled_dot_product_efficient_attention _scaled_dot_product_flash_attention
    _scaled_dot_product_flash_attention.quantized _scaled_mm _scaled_mm_v2
    _slow_conv2d_backward.output_mask _slow_conv2d_forward _standard_gamma_grad _thnn_fused_gru_cell
    _thnn_fused_gru_cell_backward _thnn_fused_lstm_cell _thnn_fused_lstm_cell_backward_impl
    _transform_bias_rescale_qkv _weight_norm_interface _weight_norm_interface_backward addbmm addbmm_
    addmm.dtype addr baddbmm.dtype batch_norm_backward batch_norm_backward_elemt
    batch_norm_backward_reduce batch_norm_elemt batch_norm_gather_stats
    batch_norm_gather_stats_with_counts batch_norm_update_stats binary_cross_entropy_backward bincount
    bmm.dtype bucketize.Tensor conv_depthwise3d convolution_backward cudnn_batch_norm
    cudnn_batch_norm_backward cudnn_convolution cudnn_convolution_add_relu cudnn_convolution_relu
    cudnn_convolution_transpose cudnn_grid_sampler cudnn_grid_sampler_backward dot
    embedding_dense_backward embedding_renorm_ equal fractional_max_pool3d_backward glu_backward
    glu_backward_jvp glu_jvp grid_sampler_2d grid_sampler_2d_backward grid_sampler_3d
    grid_sampler_3d_backward hardswish_backward hardtanh_backward huber_loss index_select
    linalg_householder_product linalg_solve_triangular log_sigmoid_backward masked_scatter_
    masked_select max_pool3d_with_indices_backward max_unpool2d max_unpool3d mish_backward mm.dtype
    mse_loss_backward multi_margin_loss multi_margin_loss_backward multilabel_margin_loss_backward
    multilabel_margin_loss_forward native_batch_norm native_batch_norm_backward native_dropout_backward
    native_group_norm native_group_norm_backward native_layer_norm native_layer_norm_backward
    nll_loss2d_backward nll_loss2d_forward normal.Tensor_Tensor ormqr put_ reflection_pad2d_backward
    replication_pad2d_backward replication_pad3d_backward rrelu_with_noise rrelu_with_noise_
    searchsorted.Scalar searchsorted.Tensor slow_conv_dilated2d slow_conv_dilated3d
    slow_conv_transpose3d take vdot
    """
_WRAPPED = frozenset(_WRAPPED_OPS.split())
_AS_ANOTHER = {
    "stack": ("wrapper_CUDA_cat", {"tensors": "tensors"}),
    "embedding": ("wrapper_CUDA__index_select", {"weight": "self", "indices": "index"}),
    "native_batch_norm": (
        "wrapper_CUDA__cudnn_batch_norm",
        {n: n for n in ("input", "weight", "bias", "running_mean", "running_var")},
    ),
    "_ctc_loss": ("wrapper_CUDA___ctc_loss", {"log_probs": "log_probs", "targets": "targets"}),
    "_ctc_loss.Tensor": ("wrapper_CUDA___ctc_loss", {"log_probs": "log_probs", "targets": "targets"}),
    "linear": ("wrapper_CUDA_addmm", {"bias": "self", "input": "mat1", "weight": "mat2"}),
}
"""Ops that on CUDA run through another one's wrapper: its name, and what it calls our arguments."""

_ANYWHERE_OPS = """
    _to_copy copy_ _copy_from lift lift_fresh lift_fresh_copy _pin_memory is_pinned _foreach_copy_ detach
    alias set_.source_Tensor _has_compatible_shallow_copy_type is_set_to resize_as_ is_same_size
    _sparse_coo_tensor_with_dims_and_tensors record_stream _shape_as_tensor
    _ctc_loss_backward _ctc_loss_backward.Tensor
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
        _check_wrapped(wrapper, _named(func, args, kwargs, names), labels)
    elif name in _STRUCTURED:
        wrapper = f"wrapper_CUDA_{name.replace('.', '_')}"
        _check_wrapped(wrapper, _named(func, args, kwargs, None), labels)
    elif name in _WRAPPED:
        op, _, overload = name.partition(".")
        _check_wrapped(f"wrapper_CUDA_{overload}_{op}", _named(func, args, kwargs, None), labels)
    else:
        _check_elementwise(tensors, func, args, labels, first)


def _named(func: Any, args: Any, kwargs: Any, names: dict[str, str] | None) -> list[tuple[str, Any]]:
    """Tensors among the arguments, each with the argument's name."""
    found: dict[str, list[Any]] = {}
    for i, argument in enumerate(func._schema.arguments):
        value = args[i] if i < len(args) else kwargs.get(argument.name)
        called = argument.name if names is None else names.get(argument.name)
        if called is None:
            continue
        for t in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(t, torch.Tensor):
                found.setdefault(called, []).append(t)
    order = found if names is None else [name for name in names.values() if name in found]
    return [(name, t) for name in order for t in found[name]]


def _check_wrapped(wrapper: str, named: list[tuple[str, Any]], labels: Labels) -> None:
    """As `c10::impl::check_and_update_common_device`."""
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
            raise RuntimeError(_two_devices(*((device, there) if device != CPU else (there, device))))


_TYPES = {
    torch.float32: "Float",
    torch.float64: "Double",
    torch.float16: "Half",
    torch.bfloat16: "BFloat16",
    torch.int64: "Long",
    torch.int32: "Int",
    torch.int16: "Short",
    torch.int8: "Char",
    torch.uint8: "Byte",
    torch.bool: "Bool",
    torch.complex64: "ComplexFloat",
    torch.complex128: "ComplexDouble",
}


def type_name(t: Any, device: torch.device) -> str:
    """`torch.cuda.FloatTensor`, as `Tensor.type()` says it."""
    layout = "sparse." if t.layout is torch.sparse_coo else ""
    place = "cuda." if device.type == "cuda" else ""
    return f"torch.{place}{layout}{_TYPES.get(t.dtype, str(t.dtype))}Tensor"


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
            _check_wrapped("wrapper_CUDA__cudnn_convolution", [("self", given), (what, t)], labels)
        raise RuntimeError(
            f"Input type ({type_name(given, here)}) and {what} type ({type_name(t, there)}) "
            "should be the same"
        )


def _check_masked_fill(args: Any, kwargs: Any, labels: Labels) -> None:
    here, there = labels.of(args[0]), labels.of(args[1])
    if here != there:
        raise RuntimeError(
            f"expected self and mask to be on the same device, but got mask on {there} and self on {here}"
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
            f"but got {lengths.dim()}D {device} {_TYPES.get(lengths.dtype, '')} tensor"
        )


def _check_mv(args: Any, kwargs: Any, labels: Labels) -> None:
    """`mv` writes, on the device of the vector, through `addmv_`."""
    _check_wrapped("wrapper_CUDA_addmv_", [("self", args[1]), ("mat", args[0]), ("vec", args[1])], labels)


def in_types_of_cuda(message: str) -> str:
    """A message of PyTorch's with the names that the types of its tensors have on CUDA.

    >>> in_types_of_cuda("expected Long, but got torch.FloatTensor instead")
    'expected Long, but got torch.cuda.FloatTensor instead'
    """
    return _TYPE_ON_HOST.sub(r"torch.cuda.\1", message)


_TYPE_ON_HOST = re.compile(r"\btorch\.((?:sparse\.)?[A-Z]\w*Tensor)\b")


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
}
