"""Values of a tensor from the bytes of its storage: where each element lies and what its bits mean.

The only arithmetic of a strided tensor: element `index` lies at `storage_offset + Σ index·stride`,
counted in elements of its dtype. The browser has a twin of this module (`layout/storage.ts`,
`layout/values.ts`); one table computed by PyTorch pins both.

Source: "Tensor Views" and "Tensor Attributes", docs.pytorch.org; torch/headeronly/util for the bit
layouts of bfloat16 and the float8 types.
"""

import math
import struct
from collections.abc import Callable
from typing import Any

from .storage import TensorView

Scalar = int | float | bool | str | list[Any]

_STRUCT_CODES = {
    "torch.float64": "d",
    "torch.float32": "f",
    "torch.float16": "e",
    "torch.int64": "q",
    "torch.int32": "i",
    "torch.int16": "h",
    "torch.int8": "b",
    "torch.uint64": "Q",
    "torch.uint32": "I",
    "torch.uint16": "H",
    "torch.uint8": "B",
    "torch.bool": "?",
}
_COMPLEX_PARTS = {
    "torch.complex128": "torch.float64",
    "torch.complex64": "torch.float32",
    "torch.complex32": "torch.float16",
}
_EXACT_INTEGER = 2**53

MOST_ELEMENTS = 1024
"""Tensors up to this size are shown with all their values."""


def element_size(dtype: str) -> int | None:
    """Bytes of one element of `dtype`; None for a dtype whose bytes are not decoded here."""
    if dtype in _STRUCT_CODES:
        return struct.calcsize("<" + _STRUCT_CODES[dtype])
    if dtype in _COMPLEX_PARTS:
        return 2 * struct.calcsize("<" + _STRUCT_CODES[_COMPLEX_PARTS[dtype]])
    if dtype == "torch.bfloat16":
        return 2
    return 1 if dtype in _FLOAT8 else None


def values_of(view: TensorView, storage_bytes: bytes) -> Any:
    """The values of a strided tensor as a nested list, a scalar for a 0-d tensor.

    Args:
        view: Any rank, any stride of 0 or more.
        storage_bytes: The whole storage.

    Returns:
        Non-finite numbers as `"nan"`, `"inf"`, `"-inf"`; integers beyond ±2^53 as strings; complex
        as `[re, im]`. None when the dtype has no decoder, an element lies outside the bytes, or there
        are more elements than are shown.
    """
    size = element_size(view.dtype)
    if size is None or view.shape is None or view.stride is None or view.storage_offset is None:
        return None
    if not _is_small(view.shape):
        return None
    if 0 in view.shape:
        return _nest(view.shape, view.stride, 0, lambda offset: 0)
    last = view.storage_offset + sum((n - 1) * s for n, s in zip(view.shape, view.stride, strict=True))
    if (last + 1) * size > len(storage_bytes):
        return None
    decode = _decoder(view.dtype, storage_bytes)
    sign = -1 if view.is_neg else 1
    if view.dtype in _COMPLEX_PARTS:
        imaginary_sign = -sign if view.is_conj else sign

        def read(offset: int) -> Scalar:
            return [
                plain_number(sign * decode(2 * offset)),
                plain_number(imaginary_sign * decode(2 * offset + 1)),
            ]
    elif view.is_neg:

        def read(offset: int) -> Scalar:
            return plain_number(-decode(offset))
    else:

        def read(offset: int) -> Scalar:
            return plain_number(decode(offset))

    return _nest(view.shape, view.stride, view.storage_offset, read)


def _is_small(shape: tuple[int, ...]) -> bool:
    """So few elements, and so few lists for them, that a nested list of them is made."""
    lists = elements = 1
    for n in shape:
        lists, elements = max(lists, elements), elements * n
    return max(lists, elements) <= MOST_ELEMENTS


def plain_number(value: Any) -> Scalar:
    """A number as JSON can carry it without loss or lie."""
    if isinstance(value, float):
        if math.isfinite(value):
            return value
        return "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf")
    if isinstance(value, bool) or not isinstance(value, int):
        return value if isinstance(value, bool) else str(value)
    return value if -_EXACT_INTEGER <= value <= _EXACT_INTEGER else str(value)


def _nest(shape: tuple[int, ...], stride: tuple[int, ...], offset: int, read: Callable[[int], Scalar]) -> Any:
    if not shape:
        return read(offset)
    inner_shape, inner_stride, step = shape[1:], stride[1:], stride[0]
    return [_nest(inner_shape, inner_stride, offset + i * step, read) for i in range(shape[0])]


def _decoder(dtype: str, storage_bytes: bytes) -> Callable[[int], Any]:
    """A function from an element's offset to its number; complex dtypes are read by their parts."""
    dtype = _COMPLEX_PARTS.get(dtype, dtype)
    if dtype in _STRUCT_CODES:
        code = "<" + _STRUCT_CODES[dtype]
        size = struct.calcsize(code)
        unpack = struct.Struct(code).unpack_from
        return lambda i: unpack(storage_bytes, i * size)[0]
    if dtype == "torch.bfloat16":
        return lambda i: struct.unpack("<f", b"\0\0" + storage_bytes[2 * i : 2 * i + 2])[0]
    table = _FLOAT8[dtype]
    return lambda i: table[storage_bytes[i]]


def _float8_table(
    exponent_bits: int, bias: int, *, infinity: bool, negative_zero_is_nan: bool
) -> tuple[float, ...]:
    """All 256 values of a float8 type with one sign bit."""
    mantissa_bits = 7 - exponent_bits
    values = []
    for byte in range(256):
        sign = -1.0 if byte & 0x80 else 1.0
        exponent = (byte >> mantissa_bits) & ((1 << exponent_bits) - 1)
        mantissa = byte & ((1 << mantissa_bits) - 1)
        top = exponent == (1 << exponent_bits) - 1
        if negative_zero_is_nan and byte == 0x80:
            value = math.nan
        elif infinity and top:
            value = sign * math.inf if mantissa == 0 else math.nan
        elif not infinity and not negative_zero_is_nan and top and mantissa == (1 << mantissa_bits) - 1:
            value = math.nan
        elif exponent == 0:
            value = sign * mantissa * 2.0 ** (1 - bias - mantissa_bits)
        else:
            value = sign * (1 + mantissa / (1 << mantissa_bits)) * 2.0 ** (exponent - bias)
        values.append(value)
    return tuple(values)


_FLOAT8 = {
    "torch.float8_e5m2": _float8_table(5, 15, infinity=True, negative_zero_is_nan=False),
    "torch.float8_e4m3fn": _float8_table(4, 7, infinity=False, negative_zero_is_nan=False),
    "torch.float8_e5m2fnuz": _float8_table(5, 16, infinity=False, negative_zero_is_nan=True),
    "torch.float8_e4m3fnuz": _float8_table(4, 8, infinity=False, negative_zero_is_nan=True),
    "torch.float8_e8m0fnu": tuple(2.0 ** (b - 127) if b < 255 else math.nan for b in range(256)),
}
