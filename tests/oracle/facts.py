"""What PyTorch itself says of tensors: read by its public attributes, never through the tracer.

`facts_of` may be called while modes listen: they hear nothing of it, and it keeps no reference. What PyTorch
refuses to say (the strides of a CSR tensor) is None. Bytes are kept as checksums: bit for bit, so that -0
is not 0 and one NaN not another.
"""

import ctypes
import math
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

Facts = dict[str, Any]

MOST_VALUES = 1024
_EXACT_INTEGER = 2**53


@contextmanager
def unheard() -> Iterator[None]:
    """While entered, no mode hears of torch calls, and no autograd graph grows."""
    with torch._C.DisableTorchFunction(), torch._C._DisableTorchDispatch(), torch.no_grad():
        yield


def told(ask: Callable[[], Any]) -> Any:
    """What PyTorch answers; None where it refuses."""
    try:
        return ask()
    except Exception:
        return None


def tensors_in(value: Any, path: str) -> Iterator[tuple[str, torch.Tensor]]:
    """Every tensor in nested containers with the expression that gives it, as a reader would write it."""
    if isinstance(value, torch.Tensor):
        yield path, value
    elif isinstance(value, (list, tuple)):
        fields = getattr(type(value), "_fields", None)
        for i, item in enumerate(value):
            yield from tensors_in(item, f"{path}.{fields[i]}" if fields else f"{path}[{i}]")
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from tensors_in(item, f"{path}[{key!r}]")


def storage_key(t: torch.Tensor) -> int | None:
    """Which storage it is on, as long as that lives; None for a layout without one."""
    return told(lambda: t.untyped_storage()._cdata)


def facts_of(t: torch.Tensor) -> Facts:
    """Everything there is to compare. Call it `unheard`."""
    strided = t.layout is torch.strided and told(lambda: tuple(t.shape)) is not None
    storage = told(t.untyped_storage)
    fn = told(lambda: t.grad_fn)
    has_grad = told(lambda: t.is_leaf or t.retains_grad)
    grad = t.grad if has_grad else None
    return {
        "tensor": id(t),
        "kind": type(t).__name__,
        "storage": storage_key(t),
        "nbytes": None if storage is None else told(storage.nbytes),
        "shape": told(lambda: tuple(t.shape)),
        "stride": told(t.stride) if strided else None,
        "storage_offset": None if t.is_nested else told(t.storage_offset),
        "dtype": str(t.dtype),
        "layout": str(t.layout),
        "device": str(t.device),
        "is_contiguous": told(t.is_contiguous),
        "is_conj": bool(told(t.is_conj)) if strided else False,
        "is_neg": bool(told(t.is_neg)) if strided else False,
        "requires_grad": t.requires_grad,
        "is_leaf": told(lambda: t.is_leaf),
        "grad_fn": None if fn is None else type(fn).__name__,
        "node": None if fn is None else (type(fn).__name__, fn._sequence_nr()),
        "version": None if t.is_inference() else told(lambda: t._version),
        "bits": bits_of(t),
        "grad": None if grad is None else facts_of(grad),
    }


def bits_of(t: torch.Tensor) -> int | None:
    """A checksum of the elements, bit by bit; None where there are none to be read."""
    if t.device.type == "meta":
        return None
    if t.layout is not torch.strided:
        parts = [told(part) for part in components(t)]
        return zlib.crc32(repr([None if p is None else bits_of(p) for p in parts]).encode())
    return told(lambda: _strided_bits(t))


def components(t: torch.Tensor) -> list[Callable[[], torch.Tensor]]:
    """What a sparse tensor is made of."""
    if t.layout is torch.sparse_coo:
        return [t._indices, t._values]
    if t.layout in (torch.sparse_csr, torch.sparse_bsr):
        return [t.crow_indices, t.col_indices, t.values]
    if t.layout in (torch.sparse_csc, torch.sparse_bsc):
        return [t.ccol_indices, t.row_indices, t.values]
    if t.layout is torch.jagged:
        return [t.values, t.offsets]
    return []


def _strided_bits(t: torch.Tensor) -> int:
    if t.is_nested:
        return zlib.crc32(repr([_strided_bits(part) for part in t.unbind()]).encode())
    if t.is_quantized:
        t = t.int_repr()
    plain = t.detach().resolve_conj().resolve_neg().contiguous()
    nbytes = plain.numel() * plain.element_size()
    return zlib.crc32(ctypes.string_at(plain.data_ptr(), nbytes)) if nbytes else 0


def values_of(t: torch.Tensor) -> Any:
    """Elements as the state document words them; None above 1,024 of them or where there are none."""
    if t.device.type == "meta" or told(lambda: t.numel() > MOST_VALUES) is not False:
        return None
    if t.layout is not torch.strided or t.is_quantized:
        return None
    if t.is_nested:
        return [worded(part.tolist()) for part in t.unbind()]
    return worded(t.detach().tolist())


def worded(value: Any) -> Any:
    """A number, or nested numbers, as the state document has them."""
    if isinstance(value, list):
        return [worded(v) for v in value]
    if isinstance(value, complex):
        return [worded(value.real), worded(value.imag)]
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf")
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > _EXACT_INTEGER:
        return str(value)
    return value


def storage_bits(t: torch.Tensor) -> int | None:
    """A checksum of the whole storage; None where it has no bytes."""
    storage = told(t.untyped_storage)
    if storage is None or storage.device.type != "cpu":
        return None
    nbytes, address = storage.nbytes(), storage.data_ptr()
    return zlib.crc32(ctypes.string_at(address, nbytes)) if nbytes and address else 0
