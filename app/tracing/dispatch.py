"""The way of an op through PyTorch's dispatcher: the keys of a call, and what is registered for each.

The keys are observed: those of the operands, with what the thread includes and excludes (autocast, inference
mode, functorch) as it was at the API call. What kernel an op has for a key is looked up in PyTorch's own
table. The key of our mode is left out. A way is looked up once per op and place: at the first call there.

Source: torch 2.13, c10/core/DispatchKeySet.h; aten/src/ATen/core/dispatch/Dispatcher.h.
"""

import re
from typing import Any

from . import torch_private
from .stream import Stream

_OURS = frozenset({"Python", "PythonTLSSnapshot"})
_KERNELS = {
    "kernel": "kernel",
    "math kernel": "composite",
    "default backend kernel": "default",
    "autograd kernel": "autograd",
    "backend fallback": "fallback",
}
_MODES = ("Autocast", "FuncTorch", "Batched", "VmapMode")
_NAMES = re.compile(r"\((.*)\)")

Key = tuple[int | None, int | None, str]
"""Range, API call, op."""


class Routes:
    """Ways that ops went.

    Args:
        stream: Takes the rows.
    """

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self.known: dict[Key, int | None] = {}
        """Rows by place."""
        self._thread: dict[Key, tuple[Any, Any]] = {}
        self._tables: dict[str, dict[str, str]] = {}
        self._composites: dict[str, str | None] = {}

    def note_thread(self, place: int | None, api: int) -> None:
        """An API call began: remember what the thread includes and excludes, the first time there."""
        key = (place, api, "")
        if key not in self._thread:
            self._thread[key] = (torch_private.keys_included(), torch_private.keys_excluded())

    def of(self, key: Key, given: list[Any], returned: list[Any], *, backward: bool) -> int | None:
        """Row of the way of an op.

        Args:
            key: Where it ran, and which.
            given: The tensors among its arguments.
            returned: The tensors it returned.
            backward: It runs in a backward pass, for no API call of its own name.
        """
        found = self.known[key] = self._look_up(key, given, returned, backward)
        return found

    def _look_up(self, key: Key, given: list[Any], returned: list[Any], backward: bool) -> int | None:
        keys_of = torch_private.dispatch_keys
        place, api, op = key
        if keys_of is None or torch_private.dispatch_table is None or not (given or returned):
            return None
        keys = keys_of((given or returned)[0])
        for t in given[1:]:
            keys = keys | keys_of(t)
        thread = None if api is None or backward else self._thread.get((place, api, ""))
        called = "" if api is None or backward else _plain(self._stream.name_row(api))
        itself = called in op.partition(".")[0].partition("::")[2].rstrip("_").split("::")
        composite = None if itself or not called else self._composite(f"aten::{called}")
        outer: tuple[tuple[str, str], ...] = ()
        if thread is not None:
            keys = (keys | thread[0]) - thread[1]
            if composite is not None:
                outer = _until_decomposed(self._stops(composite, keys))
        stops = self._stops(op, keys)
        if not itself:
            # Modes above autograd were heard by the call around it, not by this op.
            stops = tuple(stop for stop in stops if not stop[0].startswith(_MODES))
        return self._stream.route((op, stops, composite, outer, thread is not None))

    def _stops(self, op: str, keys: Any) -> tuple[tuple[str, str], ...]:
        table = self._table(op)
        return tuple((name, table.get(name, "none")) for name in reversed(_names(keys)) if name not in _OURS)

    def _table(self, op: str) -> dict[str, str]:
        """What an op has for each key."""
        table = self._tables.get(op)
        if table is None:
            table = self._tables[op] = {}
            text = "" if torch_private.dispatch_table is None else torch_private.dispatch_table(op)
            for line in text.splitlines():
                name, _, where = line.partition(": ")
                kind = where[where.rfind("[") + 1 : where.rfind("]")]
                table[name] = (
                    "fallthrough" if where.startswith("fallthrough") else _KERNELS.get(kind, "kernel")
                )
        return table

    def _composite(self, name: str) -> str | None:
        """An op of the API call's own name that PyTorch decomposes into others, if there is one."""
        if name not in self._composites:
            found = filter(torch_private.is_composite, torch_private.overloads(name))
            self._composites[name] = next(found, None)
        return self._composites[name]


def _plain(api: str) -> str:
    """The name of the op that an API call is named after: `__matmul__` and `matmul` are one."""
    return api.strip("_")


def _until_decomposed(stops: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """The stops of an op up to the one where it becomes other ops."""
    end = next((i for i, (_, kernel) in enumerate(stops, 1) if kernel == "composite"), len(stops))
    return stops[:end]


def _names(keys: Any) -> list[str]:
    found = _NAMES.search(str(keys))
    return found[1].split(", ") if found and found[1] else []
