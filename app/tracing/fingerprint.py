"""The final state of a program in a form that two runs can be compared by.

An unobserved run of the same program from the same seed yields the same fingerprint unless watching changed
something, or the program reads what no seed fixes (uninitialised memory, the clock). Addresses and ids
are left out: they differ between any two runs.
"""

import random
import zlib
from typing import Any

import torch

from . import reading
from .names import Names

_MOST_TENSORS = 500
_MOST_ELEMENTS = 1024


def fingerprint(variables: dict[str, Any], module: str, stdout_crc: int, error: str | None) -> dict[str, Any]:
    """Facts per name, who shares storage with whom, the generators' states, output and exception."""
    tensors: dict[str, dict[str, Any]] = {}
    groups: dict[int, list[str]] = {}
    names = Names(module)
    with torch._C.DisableTorchFunction(), torch._C._DisableTorchDispatch():
        for variable in list(variables):
            if variable[:2] == "__":
                continue
            for path, t in names.walk(variable, variables[variable]):
                if len(tensors) >= _MOST_TENSORS:
                    break
                try:
                    tensors[path] = _facts(t)
                except (RuntimeError, NotImplementedError, TypeError, ValueError) as error:
                    tensors[path] = {"unreadable": type(error).__name__}
                storage = _storage(t)
                if storage is not None:
                    groups.setdefault(storage._cdata, []).append(path)
    return {
        "tensors": tensors,
        "sharing": sorted(sorted(group) for group in groups.values() if len(group) > 1),
        "torch_generator": zlib.crc32(bytes(torch.random.get_rng_state().tolist())),
        "python_generator": zlib.crc32(repr(random.getstate()).encode()),
        "stdout": stdout_crc,
        "error": error,
    }


def _storage(t: Any) -> Any:
    try:
        return reading.storage_of(t)
    except (RuntimeError, NotImplementedError):
        return None


def _facts(t: Any) -> dict[str, Any]:
    key = reading.view_key(t)
    facts: dict[str, Any] = {
        "view": repr(key),
        "version": reading.version_of(t),
        "grad_fn": _grad_fn(t),
        "bytes": _bytes(t),
    }
    try:
        grad = reading.get_grad(t) if reading.get_is_leaf(t) else None
    except RuntimeError:
        grad = None
    facts["grad"] = None if grad is None else [_bytes(grad), reading.version_of(grad)]
    return facts


def _grad_fn(t: Any) -> str | None:
    try:
        fn = reading.get_grad_fn(t)
    except RuntimeError:
        return "unavailable"
    return None if fn is None else type(fn).__name__


def _bytes(t: Any) -> int | None:
    """A checksum of a tensor's own elements; bytes of its storage beside them may be uninitialised."""
    if reading.dispatches_to_python(t):
        return zlib.crc32(repr(reading.nested_values(t)).encode())
    storage = _storage(t)
    nested = reading.get_is_nested(t) or reading.get_layout(t) is not torch.strided
    if storage is None or nested:
        return zlib.crc32(repr(reading.nested_values(t)).encode())
    if storage is None or storage.device.type != "cpu" or not storage.data_ptr():
        return None
    if not reading.is_readable(t, storage.nbytes(), storage.data_ptr()):
        return None
    if reading.numel(t) <= _MOST_ELEMENTS:
        return zlib.crc32(repr(reading.nested_values(t)).encode())
    size = reading.element_size(t)
    if reading.is_contiguous(t):
        start = storage.data_ptr() + reading.offset_of(t) * size
        return reading.digest(start, reading.numel(t) * size)
    return reading.digest(storage.data_ptr(), storage.nbytes())
