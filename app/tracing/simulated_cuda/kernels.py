"""What CUDA's kernels refuse and those of the CPU do not: dtypes, and results that vary from run to run.

Matrix products of integers, targets of a loss that are neither `int64` nor `uint8`, and ops that
`torch.use_deterministic_algorithms` forbids on CUDA alone. The names are those of ATen/native/cuda, as is
the list behind them; PyTorch's documentation of that function has it in prose.
"""

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from .names import DTYPES

_PRODUCTS = {
    "mm": "addmm_cuda",
    "addmm": "addmm_cuda",
    "addmm_": "addmm_cuda",
    "bmm": "baddbmm_cuda",
    "baddbmm": "baddbmm_cuda",
    "baddbmm_": "baddbmm_cuda",
    "mv": "addmv_impl_cuda",
    "addmv": "addmv_impl_cuda",
    "addmv_": "addmv_impl_cuda",
    "dot": "dot",
    "vdot": "vdot",
}
_VARYING = {
    "avg_pool3d_backward": "avg_pool3d_backward_cuda",
    "_adaptive_avg_pool2d_backward": "adaptive_avg_pool2d_backward_cuda",
    "_adaptive_avg_pool3d_backward": "adaptive_avg_pool3d_backward_cuda",
    "adaptive_max_pool2d_backward": "adaptive_max_pool2d_backward_cuda",
    "fractional_max_pool2d_backward": "fractional_max_pool2d_backward_cuda",
    "fractional_max_pool3d_backward": "fractional_max_pool3d_backward_cuda",
    "upsample_linear1d_backward": "upsample_linear1d_backward_out_cuda",
    "upsample_bilinear2d_backward": "upsample_bilinear2d_backward_out_cuda",
    "upsample_bicubic2d_backward": "upsample_bicubic2d_backward_out_cuda",
    "upsample_trilinear3d_backward": "upsample_trilinear3d_backward_out_cuda",
    "reflection_pad1d_backward": "reflection_pad1d_backward_out_cuda",
    "reflection_pad2d_backward": "reflection_pad2d_backward_cuda",
    "reflection_pad3d_backward": "reflection_pad3d_backward_out_cuda",
    "nll_loss2d_forward": "nll_loss2d_forward_out_cuda_template",
    "nll_loss2d_backward": "nll_loss2d_backward_out_cuda_template",
    "_ctc_loss_backward": "ctc_loss_backward_gpu",
    "grid_sampler_2d_backward": "grid_sampler_2d_backward_cuda",
    "grid_sampler_3d_backward": "grid_sampler_3d_backward_cuda",
    "median.dim": "median CUDA with indices output",
    "nanmedian.dim": "median CUDA with indices output",
}
_SETTING = "torch.use_deterministic_algorithms"
_VARYING_WHEN: dict[str, tuple[Callable[[Any], bool], str]] = {
    "histc": (lambda args: args[0].is_floating_point(), "_histc_cuda with floating point input"),
    "cumsum": (lambda args: args[0].is_floating_point() or args[0].is_complex(), "cumsum_cuda_kernel"),
    "bincount": (lambda args: len(args) > 1 and args[1] is not None, "_bincount_cuda"),
}


_checks: dict[Any, Callable[[Any], None] | None] = {}


def check_kernel(func: Any, args: Any) -> None:
    """Compare what CUDA's kernel for an op takes.

    Args:
        func: The op.
        args: Its arguments, on a device.

    Raises:
        NotImplementedError: It takes another dtype.
        RuntimeError: Its result varies and the program wants none that does.
    """
    try:
        check = _checks[func]
    except KeyError:
        check = _checks[func] = _check_of(func.name().removeprefix("aten::"))
    if check is not None:
        check(args)


def _check_of(op: str) -> Callable[[Any], None] | None:
    name = op.partition(".")[0]
    if name in _PRODUCTS:
        return partial(_check_product, _PRODUCTS[name])
    if name == "nll_loss_forward":
        return _check_target
    caller = _VARYING.get(op) or _VARYING.get(name)
    if caller is not None:
        return partial(_check_varying, caller, lambda args: True)
    if name in _VARYING_WHEN:
        when, caller = _VARYING_WHEN[name]
        return partial(_check_varying, caller, when)
    return None


def _check_product(kernel: str, args: Any) -> None:
    dtype = args[0].dtype
    if not (dtype.is_floating_point or dtype.is_complex) and args[0].layout is torch.strided:
        raise _not_implemented(kernel, dtype)


def _check_target(args: Any) -> None:
    if args[1].dtype not in (torch.int64, torch.uint8):
        raise _not_implemented(f"{_loss_kernel(args)}_index", args[1].dtype)


def _check_varying(caller: str, when: Callable[[Any], bool], args: Any) -> None:
    if torch.are_deterministic_algorithms_enabled() and when(args):
        _alert(caller)


def _not_implemented(kernel: str, dtype: torch.dtype) -> Exception:
    return NotImplementedError(f"\"{kernel}\" not implemented for '{DTYPES.get(dtype, str(dtype))}'")


def _loss_kernel(args: Any) -> str:
    dims, unreduced = args[0].dim(), len(args) > 3 and args[3] == 0
    if unreduced and dims == 2:
        return "nll_loss_forward_no_reduce_cuda_kernel"
    return f"nll_loss_forward_reduce_cuda_kernel_{dims}d"


def _alert(caller: str) -> None:
    """As `Context::alertNotDeterministic`."""
    issue = (
        "ou can {}file an issue at https://github.com/pytorch/pytorch/issues to help us prioritize adding "
        "deterministic support for this operation."
    )
    said = f"{caller} does not have a deterministic implementation, but you set '{_SETTING}"
    if torch.is_deterministic_algorithms_warn_only_enabled():
        warnings.warn(f"{said}(True, warn_only=True)'. Y{issue.format('')}", stacklevel=2)
        return
    raise RuntimeError(
        f"{said}(True)'. You can turn off determinism just for this operation, or you can use the "
        f"'warn_only=True' option, if that's acceptable for your application. Y{issue.format('also ')}"
    )
