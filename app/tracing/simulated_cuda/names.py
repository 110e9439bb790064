"""What PyTorch's C++ calls dtypes, types of tensors and kernels in its messages, on the CPU and on CUDA."""

import re
from typing import Any

import torch

DTYPES = {
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
"""Dtypes as PyTorch's C++ calls them."""

_KERNELS = {
    "mse_cpu": "mse_cuda",
    "smooth_l1_cpu": "smooth_l1_cuda",
    "huber_cpu": "huber_cuda",
    "normal_kernel_cpu": "normal_kernel_cuda",
    "softmax_kernel_impl": "host_softmax",
    "softmax_lastdim_kernel_impl": "host_softmax",
    "log_softmax_kernel_impl": "host_softmax",
    "log_softmax_lastdim_kernel_impl": "host_softmax",
}
"""Names of kernels in messages about dtypes, for the CPU and for CUDA."""

_TYPE_ON_HOST = re.compile(r"\btorch\.((?:sparse\.)?[A-Z]\w*Tensor)\b")
_KERNEL_ON_HOST = re.compile(rf'"({"|".join(map(re.escape, _KERNELS))})" not implemented')


def type_name(t: Any, device: torch.device) -> str:
    """`torch.cuda.FloatTensor`, as `Tensor.type()` says it."""
    layout = "sparse." if t.layout is torch.sparse_coo else ""
    place = "cuda." if device.type == "cuda" else ""
    return f"torch.{place}{layout}{DTYPES.get(t.dtype, str(t.dtype))}Tensor"


def in_names_of_cuda(message: str) -> str:
    """A message of PyTorch's with the names that types of tensors and kernels have on CUDA.

    >>> in_names_of_cuda("expected Long, but got torch.FloatTensor instead")
    'expected Long, but got torch.cuda.FloatTensor instead'
    >>> print(in_names_of_cuda('"mse_cpu" not implemented'))
    "mse_cuda" not implemented
    """
    return _in_kernels(_TYPE_ON_HOST.sub(r"torch.cuda.\1", message))


def _in_kernels(message: str) -> str:
    return _KERNEL_ON_HOST.sub(lambda found: f'"{_KERNELS[found[1]]}" not implemented', message)
