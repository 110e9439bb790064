"""Errors of the CUDA runtime: devices that are not there, and kernels whose assertions fail.

A kernel on a GPU can raise nothing. Where PyTorch's kernel for the CPU names the index that is out of range,
the one for CUDA fails an assertion: it prints that, the error comes up at whatever call looks next, and the
process can use the device no more. Here it comes up at once, as with `CUDA_LAUNCH_BLOCKING=1`, and what the
CPU says of it is printed with the assertion.

Source: c10/cuda/CUDAException.cpp, CUDAMiscFunctions.cpp; `CUDA_KERNEL_ASSERT` in ATen/native/cuda.
"""

import os
import re
import sys
from typing import Any

import torch

from .labels import SIMULATED

_TRACKING = "Device-side assertion tracking was not enabled by user."
_NO_SUCH_DEVICE = (
    "CUDA error: invalid device ordinal\n"
    "GPU device may be out of range, do you have enough GPUs?\n"
    f"For more detailed error information, run with CUDA_LOG_FILE=stderr\n{_TRACKING}"
)
_ASSERT = (
    "CUDA error: device-side assert triggered\n"
    "Search for `cudaErrorAssert' in "
    "https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TYPES.html for more information.\n"
)
_LATER = (
    "CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below "
    "might be incorrect.\n"
    "For debugging consider passing CUDA_LAUNCH_BLOCKING=1\n"
)

_TARGET = "t >= 0 && t < n_classes"
_IN_DIMENSION = 'idx_dim >= 0 && idx_dim < index_size && "index out of bounds"'
_SELECTED = "srcIndex < srcSelectDimSize"
_INDEXED = '-sizes[i] <= index && index < sizes[i] && "index out of bounds"'
_TAKEN = 'idx < numel && idx >= -numel && "cuda_take_put_kernel() index out of bounds"'
_ASSERTIONS: dict[str, tuple[str, str]] = {
    "nll_loss_forward": (r"Target -?\d+ is out of bounds", _TARGET),
    "nll_loss2d_forward": (r"Target -?\d+ is out of bounds", _TARGET),
    "multi_margin_loss": (r"target out of range", "target_k >= 0 && target_k < dim"),
    "embedding": (r"index out of range in self", _SELECTED),
    "index_select": (r"index out of range|out of DATA bounds", _SELECTED),
    "index_add": (r"index out of range in self", "dstIndex < dstAddDimSize"),
    "index_copy": (
        r"is out of bounds",
        'idx >= 0 && idx < self_dim_size && "index_copy_(): index out of bounds"',
    ),
    "index_fill": (
        r"is out of bounds",
        'idx >= -self_dim_size && idx < self_dim_size && "index out of bounds"',
    ),
    "index": (r"index -?\d+ is out of bounds", _INDEXED),
    "index_put": (r"index -?\d+ is out of bounds", _INDEXED),
    "_index_put_impl_": (r"index -?\d+ is out of bounds", _INDEXED),
    "gather": (r"is out of bounds", _IN_DIMENSION),
    "scatter": (r"is out of bounds", _IN_DIMENSION),
    "scatter_add": (r"is out of bounds", _IN_DIMENSION),
    "scatter_reduce": (r"is out of bounds", _IN_DIMENSION),
    "take": (r"out of range", _TAKEN),
    "put": (r"out of range", _TAKEN),
    "masked_scatter": (r"Number of elements of source", "totalElements <= srcSize"),
    "binary_cross_entropy": (
        r"all elements of input should be",
        "input_val >= zero && input_val <= one",
    ),
    "bernoulli": (r"Expected p_in >= 0", "0 <= p4 && p4 <= 1"),
    "multinomial": (
        r"probability tensor contains|invalid multinomial distribution",
        "probability tensor contains either `inf`, `nan` or element < 0",
    ),
    "one_hot": (r"Class values must be", _IN_DIMENSION),
}
"""By op, without overload or mark of an in-place one: what the CPU says, what CUDA's kernel asserts."""


def no_such_device() -> Exception:
    """The error of the runtime for a number that no device has."""
    return torch.AcceleratorError(_NO_SUCH_DEVICE)


class Faults:
    """Assertions that failed."""

    def __init__(self) -> None:
        self.happened = False
        """One did: the context of the process is lost."""

    def check(self, op: str, error: Exception) -> None:
        """Fail the assertion that takes the place of an error of the CPU's kernel on CUDA.

        Args:
            op: Name of the op that raised, without its namespace.
            error: What it raised.

        Raises:
            torch.AcceleratorError: There is one.
        """
        name = op.partition(".")[0]
        said, asserted = _ASSERTIONS.get(name) or _ASSERTIONS.get(name.removesuffix("_"), ("", ""))
        message = str(error)
        if said and re.search(said, message):
            first = message.splitlines()[0].partition(" to be true")[0]
            print(f"{SIMULATED}Assertion `{asserted}` failed. The CPU says: {first}", file=sys.stderr)
            self.happened = True
            raise self.error() from None

    def error(self) -> Exception:
        """What every call that reaches the device gets from then on."""
        blocking = os.environ.get("CUDA_LAUNCH_BLOCKING", "0") not in ("", "0")
        return torch.AcceleratorError(f"{_ASSERT}{'' if blocking else _LATER}{_TRACKING}")

    def raise_if_lost(self, func: Any = None) -> None:
        """Refuse an op, or another call, that needs the device. Views need none.

        Raises:
            torch.AcceleratorError: An assertion failed before.
        """
        if self.happened and not (func is not None and _only_looks(func)):
            raise self.error()


def _only_looks(func: Any) -> bool:
    """It returns a view and computes nothing."""
    returns = func._schema.returns
    return any(r.alias_info is not None and not r.alias_info.is_write for r in returns)
