"""Reads facts off a tensor without going through anything the program could have overridden.

Every read uses the descriptors of `torch._C.TensorBase`, so a subclass's properties and
`__torch_function__` never run. Callers hold `DisableTorchFunction` and `_DisableTorchDispatch`.
Some reads kill the process or raise for some layouts; here is where that is known: values are read
only when every element lies inside the allocation, else PyTorch reads freed memory.
"""

import ctypes
import itertools
import math
import sys
import zlib
from typing import Any

import torch
from torch.nn.parameter import UninitializedBuffer, UninitializedParameter

from ..schema.values import plain_number
from . import torch_private

_Base = torch._C.TensorBase


def _getter(name: str) -> Any:
    return getattr(_Base, name).__get__


get_shape = _getter("shape")
get_dtype = _getter("dtype")
get_device = _getter("device")
"""Where a tensor is; a simulation of devices puts its own in place for the length of a run."""

readable_devices: frozenset[str] = frozenset({"cpu"})
"""Devices whose memory can be read here, by name."""

accelerator: Any = None
"""An `accelerator.Accelerator`, by which the memory of other devices can be copied; None without one."""

get_layout = _getter("layout")
get_requires_grad = _getter("requires_grad")
get_is_leaf = _getter("is_leaf")
get_grad_fn = _getter("grad_fn")
get_grad = _getter("grad")
get_hooks = _getter("_backward_hooks")
get_version = _getter("_version")
get_retains_grad = _getter("retains_grad")
get_is_quantized = _getter("is_quantized")
get_is_nested = _getter("is_nested")
stride_of = _Base.stride
offset_of = _Base.storage_offset
storage_of = _Base.untyped_storage
is_contiguous = _Base.is_contiguous
is_inference = _Base.is_inference
is_conj = _Base.is_conj
is_neg = _Base.is_neg
numel = _Base.numel
element_size = _Base.element_size
to_list = _Base.tolist

_dtype_names: dict[Any, str] = {}
_device_names: dict[Any, str] = {}
_layout_names: dict[Any, str] = {}
_BYTES_HASHED_WHOLE = 1 << 20
_EDGE_BYTES = 64 << 10
_SAMPLES = 65_536
_CORNER = 8
_COUNTED = 4_096
_BINS = 32


def dtype_name(dtype: Any) -> str:
    """`torch.float32` and so on."""
    name = _dtype_names.get(dtype)
    if name is None:
        name = _dtype_names[dtype] = str(dtype)
    return name


def device_name(device: Any) -> str:
    """`cpu`, `cuda:0` and so on."""
    name = _device_names.get(device)
    if name is None:
        name = _device_names[device] = str(device)
    return name


def layout_name(layout: Any) -> str:
    """`torch.strided` and so on."""
    name = _layout_names.get(layout)
    if name is None:
        name = _layout_names[layout] = str(layout)
    return name


_PLAIN = frozenset({torch.Tensor, torch.nn.Parameter})
_MOST_KEYS = 20_000
_keys: dict[Any, tuple[Any, ...]] = {}
"""What PyTorch says of how a tensor looks at its storage → the same as a view key, each once."""


def view_key(t: Any) -> tuple[Any, ...]:
    """How `t` looks at its storage: the fields of `schema.TensorView`, in order.

    What PyTorch raises on is None.
    """
    layout = get_layout(t)
    if layout is torch.strided and type(t) in _PLAIN:
        try:  # the common case, without symbolic sizes or lazy parameters
            said = (
                get_shape(t),
                stride_of(t),
                offset_of(t),
                get_dtype(t),
                get_device(t),
                is_conj(t),
                is_neg(t),
                get_requires_grad(t),
                get_is_leaf(t),
            )
            key = _keys.get(said)
            return _plain_view_key(t, said) if key is None else key
        except Exception:
            return _careful_view_key(t, layout)
    return _careful_view_key(t, layout)


def _plain_view_key(t: Any, said: tuple[Any, ...]) -> tuple[Any, ...]:
    shape, stride, offset, dtype, device, conj, neg, requires_grad, leaf = said
    if len(_keys) >= _MOST_KEYS:
        _keys.clear()
    key = _keys[said] = (
        tuple(shape),
        stride,
        offset,
        dtype_name(dtype),
        "torch.strided",
        device_name(device),
        is_contiguous(t),
        conj,
        neg,
        requires_grad,
        leaf,
    )
    return key


def _careful_view_key(t: Any, layout: Any) -> tuple[Any, ...]:
    """The same, for layouts and subclasses that raise on some of it."""
    shape: tuple[int, ...] | None
    lazy = is_uninitialized(t)
    try:
        shape = None if lazy else tuple(map(int, get_shape(t)))
    except Exception:
        shape = None
    stride: tuple[int, ...] | None = None
    offset: int | None = None
    contiguous: bool | None = None
    conj = neg = False
    if not lazy:
        try:
            offset = int(offset_of(t))
            conj, neg = is_conj(t), is_neg(t)
            if layout is torch.strided and shape is not None:
                stride = tuple(map(int, stride_of(t)))
        except Exception:
            stride = None
    try:
        contiguous = None if lazy else is_contiguous(t)
    except Exception:
        contiguous = None
    try:
        leaf = get_is_leaf(t)
    except RuntimeError:
        leaf = None
    return (
        shape,
        stride,
        offset,
        dtype_name(get_dtype(t)),
        layout_name(layout),
        device_name(get_device(t)),
        contiguous,
        conj,
        neg,
        get_requires_grad(t),
        leaf,
    )


def is_uninitialized(t: Any) -> bool:
    """A lazy parameter or buffer: PyTorch raises on its shape until a first input tells it."""
    return issubclass(type(t), (UninitializedParameter, UninitializedBuffer))


def has_storage(t: Any) -> bool:
    """It has a storage of its own: a sparse tensor has not."""
    try:
        storage_of(t)
    except (RuntimeError, NotImplementedError):
        return False
    return True


def version_of(t: Any) -> int | None:
    """The version counter; None for an inference tensor."""
    if is_inference(t):
        return None
    try:
        return int(get_version(t))
    except RuntimeError:
        return None


def quantizer_of(t: Any) -> str | None:
    """Scale and zero point in words; None unless quantized."""
    if not get_is_quantized(t):
        return None
    try:
        if _Base.qscheme(t) in (torch.per_tensor_affine, torch.per_tensor_symmetric):
            return f"scale {_Base.q_scale(t)}, zero_point {_Base.q_zero_point(t)}"
        scales = [plain_number(s) for s in _Base.q_per_channel_scales(t).tolist()]
        return f"scales {scales}, axis {_Base.q_per_channel_axis(t)}"
    except RuntimeError:
        return None


_NARROWER = {
    torch.float64: torch.zeros((), dtype=torch.float32),
    torch.int64: torch.zeros((), dtype=torch.int32),
    torch.complex128: torch.zeros((), dtype=torch.complex64),
}


def scalar_of(t: Any) -> str | None:
    """The Python number that PyTorch wrapped in `t`, as written; None for a tensor that is one by itself.

    A wrapped number does not count where dtypes are promoted, a tensor of the same dtype does.
    """
    if get_layout(t) is not torch.strided or get_device(t).type != "cpu" or get_shape(t):
        return None
    dtype = get_dtype(t)
    other = _NARROWER.get(dtype)
    with torch_private.without_dispatch(), torch.no_grad():
        if dtype is not torch.bool and (other is None or torch.result_type(t, other) is dtype):
            return None
        return repr(to_list(t))


def parts_of(t: Any) -> "list[tuple[str, Any]]":
    """The tensors that a sparse or nested tensor keeps, each with the expression for it after `t`'s own."""
    layout = get_layout(t)
    names = _PARTS.get(layout, ())
    try:
        with torch.no_grad():
            if layout is torch.strided and get_is_nested(t) and not dispatches_to_python(t):
                return [(f"[{i}]", part) for i, part in enumerate(_Base.detach(t).unbind()[:_MOST_PARTS])]
            return [(f".{name}()", getattr(_Base, name)(t)) for name in names]
    except (RuntimeError, NotImplementedError):
        return []


_MOST_PARTS = 200
_PARTS = {
    torch.sparse_coo: ("_indices", "_values"),
    torch.sparse_csr: ("crow_indices", "col_indices", "values"),
    torch.sparse_bsr: ("crow_indices", "col_indices", "values"),
    torch.sparse_csc: ("ccol_indices", "row_indices", "values"),
    torch.sparse_bsc: ("ccol_indices", "row_indices", "values"),
}


def has_parts(t: Any) -> bool:
    """It is made of other tensors."""
    return get_layout(t) is not torch.strided or get_is_nested(t)


def is_fake(t: Any) -> bool:
    """A fake tensor: asked for the address of its storage, PyTorch warns that this will be an error."""
    fake = sys.modules.get("torch._subclasses.fake_tensor")
    return fake is not None and issubclass(type(t), fake.FakeTensor)


def has_no_data(t: Any, untyped: Any) -> bool:
    """A wrapper subclass claims a storage that PyTorch refuses to give the address of."""
    if is_fake(t):
        return False
    try:
        untyped.data_ptr()
    except RuntimeError:
        return True
    return False


def is_foreign(untyped: Any) -> bool:
    """The memory of a storage is not of PyTorch's allocator: NumPy's, a buffer's, a mapped file's."""
    return not untyped.resizable()


def is_readable(t: Any, nbytes: int, address: int) -> bool:
    """Every element of the strided tensor `t` lies inside its `nbytes` at `address`."""
    count = numel(t)
    if count == 0:
        return True
    last = offset_of(t) + sum((n - 1) * s for n, s in zip(get_shape(t), stride_of(t), strict=True))
    return bool(address) and (last + 1) * element_size(t) <= nbytes


_string_at: Any = getattr(ctypes, "_string_at", ctypes.string_at)
"""What `ctypes.string_at` calls."""


def read_bytes(address: int, nbytes: int) -> bytes:
    """A copy of the bytes at `address`."""
    data: bytes = _string_at(address, nbytes) if nbytes else b""
    return data


def memory_at(address: int, nbytes: int) -> Any:
    """The bytes at `address` as a buffer, not a copy."""
    return (ctypes.c_char * nbytes).from_address(address)


def digest(address: int, nbytes: int, *, whole: bool = False) -> int:
    """A checksum of large storages, so that writes past the version counter are noticed.

    Above 1 MiB, unless the whole is asked for, only both ends and 4,096 bytes between are looked at: a write
    elsewhere is noticed by its version, or not at all.
    """
    view = memoryview(memory_at(address, nbytes)).cast("B")
    if whole or nbytes <= _BYTES_HASHED_WHOLE:
        return zlib.crc32(view)
    checksum = zlib.crc32(view[-_EDGE_BYTES:], zlib.crc32(view[:_EDGE_BYTES]))
    return zlib.crc32(view[:: nbytes // 4096].tobytes(), checksum)


def nested_values(t: Any) -> Any:
    """Values of `t` as the state document has them; None when PyTorch cannot say.

    Sparse tensors are made dense, quantized ones dequantized, nested ones a list per component. A
    subclass that dispatches to Python has no values of its own; with dispatch disabled, as it is for us,
    an op on one ends the process. Of those only jagged nested tensors are read, by their parts.
    """
    if dispatches_to_python(t):
        return _jagged_values(t)
    try:
        with torch.no_grad():
            if get_is_nested(t):
                return [_plain(to_list(part)) for part in _Base.detach(t).unbind()]
            if get_is_quantized(t):
                t = _Base.detach(t).dequantize()
            if get_layout(t) is not torch.strided:
                t = _Base.detach(t).to_dense()
            return _plain(to_list(_Base.detach(t)))
    except (RuntimeError, NotImplementedError, TypeError, ValueError):
        return None


def dispatches_to_python(t: Any) -> bool:
    """Its ops run Python code: a wrapper subclass, a fake or functional tensor."""
    if torch_private.dispatch_keys is None:
        return type(t).__torch_dispatch__ is not torch.Tensor.__torch_dispatch__
    return bool(torch_private.dispatch_keys(t).has(torch._C.DispatchKey.Python))


def _jagged_values(t: Any) -> Any:
    """A list per component of a jagged nested tensor; None for any other subclass."""
    try:
        attributes = object.__getattribute__(t, "__dict__")
    except AttributeError:
        return None
    values, offsets = attributes.get("_values"), attributes.get("_offsets")
    if type(values) is not torch.Tensor or type(offsets) is not torch.Tensor:
        return None
    rows, bounds = nested_values(values), nested_values(offsets)
    if not isinstance(rows, list) or not isinstance(bounds, list):
        return None
    return [rows[a:b] for a, b in itertools.pairwise(bounds)]


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(v) for v in value]
    if isinstance(value, complex):
        return [plain_number(value.real), plain_number(value.imag)]
    return plain_number(value)


def summary(t: Any) -> dict[str, Any] | None:
    """A `schema.TensorSummary` of a large strided tensor, from at most 65,536 of its elements."""
    if dispatches_to_python(t):
        return None
    try:
        with torch.no_grad():
            flat = _Base.detach(t)
            count = numel(flat)
            corner = flat
            while corner.dim() > 2:
                corner = corner[0]
            corner = corner[(slice(_CORNER),) * corner.dim()]
            sample = _sample(flat, count)
            figures: dict[str, Any] = {"minimum": None, "maximum": None, "mean": None, "histogram": None}
            if not sample.is_complex():
                wide = sample.to(torch.float64)
                figures = {
                    "minimum": plain_number(wide.min().item()),
                    "maximum": plain_number(wide.max().item()),
                    "mean": plain_number(wide.mean().item()),
                    "histogram": _histogram(wide),
                }
            return {
                "elements": count,
                "looked_at": numel(sample),
                **figures,
                "corner": _plain(to_list(corner)),
            }
    except (RuntimeError, NotImplementedError, TypeError, IndexError):
        return None


def _histogram(wide: Any) -> dict[str, Any] | None:
    """A `schema.Histogram` of float64 values; counting bins costs a tenth of what `torch.histc` does."""
    count = numel(wide)
    some = wide.reshape(-1)[:: max(1, -(-count // _COUNTED))]
    finite = some[some.isfinite()]
    if numel(finite) == 0:
        return None
    low, high = finite.min().item(), finite.max().item()
    width = high - low
    if not math.isfinite(width):
        return None
    if width == 0:
        counts = [numel(finite)]
    else:
        bins = ((finite - low) / width * _BINS).to(torch.int64).clamp_(0, _BINS - 1)
        counts = to_list(bins.bincount(minlength=_BINS))
    return {"low": low, "high": high, "counts": counts, "others": numel(some) - numel(finite)}


def _sample(t: Any, count: int) -> Any:
    """All elements, or about 65,536 of them taken at even steps along the longest dimension."""
    if count <= _SAMPLES:
        return t
    longest = max(range(t.dim()), key=lambda d: t.shape[d])
    every = -(-count // _SAMPLES)
    if every < t.shape[longest]:
        picked = t[(slice(None),) * longest + (slice(None, None, every),)]
    else:
        picked = t.select(longest, 0)
    return picked if numel(picked) <= 2 * _SAMPLES else _sample(picked, numel(picked))
