"""The final state of a program in a form that two runs can be compared by.

An unobserved run of the same program from the same seed yields the same fingerprint unless watching changed
something, or the program reads what no seed fixes (uninitialised memory, the clock). Addresses and ids
are left out: they differ between any two runs. What the facts are is in `schema/comparison.py`; how two
fingerprints are compared is not known here.
"""

import base64
import random
import sys
import zlib
from collections.abc import Sequence
from typing import Any

import torch

from ..schema.comparison import MOST_CONTENTS, MOST_NODES, MOST_TENSORS
from . import reading, torch_private
from .accelerator import beginning_of, here
from .classes import texts
from .names import Names

_MOST_ELEMENTS = 1024
_LARGEST_CONTENTS = 64 << 10
_UNREADABLE = (RuntimeError, NotImplementedError, TypeError, ValueError)


def fingerprint(
    variables: dict[str, Any], module: str, stdout_crc: int, error: str | None, reports: Sequence[str] | None
) -> dict[str, Any]:
    """The final state of a program that has ended.

    Args:
        variables: Its global variables.
        module: The name of its module.
        stdout_crc: Checksum of what it printed.
        error: The exception it ended with, in words.
        reports: Names whose contents are told as well.

    Returns:
        A `schema.Fingerprint` as plain data.
    """
    tensors: dict[str, Any] = {}
    names = Names(module)
    with torch_private.without_functions(), torch_private.without_dispatch():
        for variable, value in texts(variables):
            if variable[:2] == "__":
                continue
            for path, t in names.walk(variable, value):
                if len(tensors) >= MOST_TENSORS:
                    break
                tensors[path] = t
                grad = _grad(t)
                if grad is not None:
                    tensors[f"{path}.grad"] = grad
        return {
            "tensors": {path: _facts(t) for path, t in tensors.items()},
            "graph": _graph(tensors),
            "sharing": _sharing(tensors),
            "generators": _generators(),
            "stdout": stdout_crc,
            "error": error,
            "contents": [_contents(path, tensors[path]) for path in reports or () if path in tensors][
                :MOST_CONTENTS
            ],
        }


def _grad(t: Any) -> Any:
    """`.grad`; reading it elsewhere than on a leaf, or where it is kept, would warn."""
    try:
        return reading.get_grad(t) if reading.get_is_leaf(t) or reading.get_retains_grad(t) else None
    except RuntimeError:
        return None


def _generators() -> dict[str, int]:
    states = {
        "torch": zlib.crc32(bytes(torch.random.get_rng_state().tolist())),
        "python": zlib.crc32(repr(random.getstate()).encode()),
    }
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        kind, keys, *rest = numpy.random.get_state()
        states["numpy"] = zlib.crc32(keys.tobytes() + repr((kind, rest)).encode())
    return states


def _sharing(tensors: dict[str, Any]) -> list[list[str]]:
    groups: dict[int, list[str]] = {}
    for path, t in tensors.items():
        storage = _storage(t)
        if storage is not None:
            groups.setdefault(torch_private.storage_address(storage), []).append(path)
    return sorted(sorted(group) for group in groups.values() if len(group) > 1)


def _graph(tensors: dict[str, Any]) -> dict[str, str]:
    """Each node once, under the first expression that leads to it."""
    told: dict[str, str] = {}
    alive: dict[int, Any] = {}  # a wrapper that is let go gives its id to the next
    for path, t in tensors.items():
        try:
            fn = reading.get_grad_fn(t)
        except RuntimeError:
            told[f"{path}.grad_fn"] = "unavailable"
            continue
        todo = [] if fn is None else [(f"{path}.grad_fn", fn)]
        while todo and len(told) < MOST_NODES:
            place, node = todo.pop()
            if id(node) in alive:
                continue
            alive[id(node)] = node
            told[place] = type(node).__name__
            following = [
                (f"{place}.next_functions[{i}][0]", each) for i, (each, _) in enumerate(node.next_functions)
            ]
            todo.extend(pair for pair in reversed(following) if pair[1] is not None)
    return told


def _storage(t: Any) -> Any:
    try:
        return reading.storage_of(t)
    except (RuntimeError, NotImplementedError):
        return None


def _facts(t: Any) -> list[str]:
    """The facts of `schema.comparison.FACTS`, in their order."""
    try:
        quantizer = reading.quantizer_of(t)
        facts = [*reading.view_key(t), reading.version_of(t), quantizer, _digest(t)]
    except _UNREADABLE as error:
        return [type(error).__name__]
    return [str(fact) for fact in facts]


def _digest(t: Any) -> int | None:
    """A checksum of a tensor's own elements; bytes of its storage beside them may be uninitialised."""
    storage = _storage(t)
    if storage is None or not _has_plain_elements(t):
        return zlib.crc32(repr(reading.nested_values(t)).encode())
    if not _is_readable(storage):
        return _far_digest(t, storage)
    address = storage.data_ptr()
    if not address or not reading.is_readable(t, storage.nbytes(), address):
        return None
    size = reading.element_size(t)
    if reading.is_contiguous(t):
        return reading.digest(address + int(reading.offset_of(t)) * size, reading.numel(t) * size)
    if reading.numel(t) <= _MOST_ELEMENTS:
        return zlib.crc32(repr(reading.nested_values(t)).encode())
    return reading.digest(address, storage.nbytes())


def _far_digest(t: Any, storage: Any) -> int | None:
    """The same of a tensor on a real device, from a copy; of a large one from its first elements."""
    accelerator = reading.accelerator
    if accelerator is None or not accelerator.reaches(reading.device_name(storage.device)):
        return None
    address = storage.data_ptr()
    if not address or not reading.is_readable(t, storage.nbytes(), address):
        return None
    near = here(t)
    if near is None:
        near = beginning_of(t)
    return None if near is None else _digest(near.contiguous())


def _is_readable(storage: Any) -> bool:
    return reading.device_name(storage.device) in reading.readable_devices


def _has_plain_elements(t: Any) -> bool:
    return (
        not reading.dispatches_to_python(t)
        and not reading.get_is_nested(t)
        and reading.get_layout(t) is torch.strided
    )


def _contents(path: str, t: Any) -> dict[str, Any]:
    storage = _storage(t)
    data = values = None
    if storage is None or not _has_plain_elements(t):
        values = reading.nested_values(t)
    elif _is_readable(storage) and storage.data_ptr() and storage.nbytes() <= _LARGEST_CONTENTS:
        data = base64.b64encode(reading.read_bytes(storage.data_ptr(), storage.nbytes())).decode()
    elif not _is_readable(storage) and reading.accelerator is not None:
        near = here(t)
        values = None if near is None else reading.nested_values(near)
    return {"name": path, "data": data, "values": values}
