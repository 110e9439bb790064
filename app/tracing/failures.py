"""An exception → what was being done: the call, its operands, the piece of source. Facts only.

Explaining them is `app/explaining`. Exceptions are noted by id, never held: a traceback keeps frames, and
frames keep tensors.
"""

import errno
import traceback
from typing import Any

import torch

from . import reading
from .classes import class_of
from .statements import Columns
from .storage import Ledger
from .stream import Stream

_MOST_OPERANDS = 16
_LONGEST_TEXT = 120
_DENIED = frozenset({errno.EPERM, errno.EACCES, errno.ENOSYS, errno.EFBIG, errno.EROFS, errno.EMFILE})


class FailureNotes:
    """Remembers the call that failed last.

    Args:
        stream: Has the table of names and ranges.
        ledger: Knows tensors.
        columns: Of the program, for its text.
        program: Its file name.
    """

    def __init__(self, stream: Stream, ledger: Ledger, columns: Columns, program: str) -> None:
        self._program = program
        self._stream = stream
        self._ledger = ledger
        self._columns = columns
        self._last: dict[str, Any] | None = None
        self._of: int | None = None
        self._ranges: dict[int, int | None] = {}
        self.names: dict[int, dict[str, dict[str, int]]] = {}
        self.frame = 0
        self.faults: list[str] = []
        """Faults of the tracer itself; the tests demand that there are none."""

    def internal(self, error: BaseException) -> None:
        """A fault of ours: the program goes on, the tests fail."""
        if len(self.faults) < 20:
            where = traceback.extract_tb(error.__traceback__)[-1:]
            self.faults.append(f"{type(error).__name__}: {error} at {where}")

    def made(self, tensors: list[int], where: int | None) -> None:
        """These tensors were made by the sub-expression `where`."""
        for tensor_id in tensors:
            self._ranges[tensor_id] = where

    def note(
        self,
        error: BaseException,
        args: Any,
        kwargs: Any,
        *,
        api: str | None = None,
        op: str | None = None,
        node: int | None = None,
    ) -> None:
        """A call raised. The innermost call is heard first; an outer one adds only its API name."""
        if self._of == id(error) and self._last is not None:
            if api is not None and self._last["api"] is None:
                self._last["api"] = api
                if self._last["node"] is None:
                    self._last["operands"] = self._operands(args, kwargs)
            return
        if op is None and self._is_the_programs_own(error):
            return
        self._of = id(error)
        self._last = {
            "api": api,
            "op": op,
            "operands": self._operands(args, kwargs),
            "node": node,
        }

    def _is_the_programs_own(self, error: BaseException) -> bool:
        """Code of the program that the call ran, a hook for one, raised it itself."""
        entry = _get_traceback(error)
        while entry is not None and entry.tb_next is not None:
            entry = entry.tb_next
        return entry is not None and entry.tb_frame.f_code.co_filename == self._program

    def of(self, error: BaseException) -> dict[str, Any] | None:
        """The failure noted for this exception or for one it came from."""
        chain: list[BaseException] = []
        one: BaseException | None = error
        while one is not None and all(one is not each for each in chain) and len(chain) < 10:
            chain.append(one)
            one = _origin_of(one)
        if self._last is None or self._of not in {id(e) for e in chain}:
            return None
        return self._last

    def _operands(self, args: Any, kwargs: Any) -> list[dict[str, Any]]:
        operands: list[dict[str, Any]] = []
        for value in (*args, *kwargs.values()):
            inner = value if type(value) in (list, tuple) else (value,)
            if any(_is_tensor(v) for v in inner):
                operands.extend(self._operand(v) for v in inner)
            else:
                operands.append(self._operand(value))
            if len(operands) >= _MOST_OPERANDS:
                break
        return operands[:_MOST_OPERANDS]

    def _operand(self, value: Any) -> dict[str, Any]:
        if not _is_tensor(value):
            return {"tensor": None, "name": None, "text": _short(value)}
        row = self._ledger.tensor(value)
        key = reading.view_key(value)
        shape = "?" if key[0] is None else str(key[0])
        return {
            "tensor": row.id,
            "name": self._name(row.id),
            "text": f"{shape} {key[3].removeprefix('torch.')}",
        }

    def _name(self, tensor_id: int) -> str | None:
        """Its shortest name in the running frame or among the globals, else the expression that made it."""
        for frame in (self.frame, 0):
            found = [
                path
                for paths in self.names.get(frame, {}).values()
                for path, known in paths.items()
                if known == tensor_id
            ]
            if found:
                return min(found, key=len)
        where = self._ranges.get(tensor_id)
        return None if where is None else self._columns.text(*self._stream.range_row(where))


_WORDS = frozenset(map(id, (int, float, str, bool, type(None), complex, range)))
_LISTS = frozenset(map(id, (list, tuple)))
_SLICE = id(slice)
_OF_TORCH = frozenset(
    map(id, (torch.dtype, torch.device, torch.layout, torch.memory_format, torch.Size, torch.Generator))
)
_get_traceback, _get_cause, _get_context = (
    BaseException.__dict__[name].__get__ for name in ("__traceback__", "__cause__", "__context__")
)


def _origin_of(error: BaseException) -> BaseException | None:
    """The exception that it was raised from, or while."""
    cause: BaseException | None = _get_cause(error)
    context: BaseException | None = _get_context(error)
    return context if cause is None else cause


def _is_tensor(value: Any) -> bool:
    return issubclass(type(value), reading._Base)


def _short(value: Any) -> str:
    """A value in words; only of types whose `repr` is ours or Python's to trust."""
    kind = id(type(value))
    items: Any = value if kind in _LISTS else (value.start, value.stop, value.step) if kind == _SLICE else ()
    if (kind in _WORDS or kind in _LISTS or kind == _SLICE) and all(id(type(v)) in _WORDS for v in items):
        text = repr(value)
    elif kind in _OF_TORCH:
        text = str(value)
    else:
        text = class_of(value)
    return text if len(text) <= _LONGEST_TEXT else text[: _LONGEST_TEXT - 1] + "…"


def program_frames(error: BaseException, program: str) -> list[Any]:
    """Traceback entries of the program, outermost first."""
    found = []
    entry = _get_traceback(error)
    while entry is not None:
        if entry.tb_frame.f_code.co_filename == program:
            found.append(entry)
        entry = entry.tb_next
    return found


def message_of(error: BaseException) -> str:
    """`str(error)`, or what can be said when the program's own `__str__` fails."""
    try:
        text = str(error)
    except BaseException:
        return "(its message could not be made)"
    return text.encode("utf-8", "backslashreplace").decode()


def reason_of(error: BaseException) -> str | None:
    """`memory-limit` or `denied` when the confinement was the cause, as far as the exception says."""
    seen: list[BaseException] = []
    one: Any = error
    while issubclass(type(one), BaseException) and all(one is not e for e in seen) and len(seen) < 10:
        seen.append(one)
        if isinstance(one, MemoryError) or "DefaultCPUAllocator" in message_of(one):
            return "memory-limit"
        if isinstance(one, OSError):
            if one.errno == errno.ENOMEM:
                return "memory-limit"
            if one.errno in _DENIED or isinstance(one, (PermissionError, BlockingIOError)):
                return "denied"
        if isinstance(one, RuntimeError) and "can't start new thread" in message_of(one):
            return "memory-limit"  # threads may be started; their stacks count as memory
        inner = getattr(one, "reason", None) if isinstance(one, OSError) else None
        one = inner if isinstance(inner, BaseException) else _origin_of(one)
    return None
