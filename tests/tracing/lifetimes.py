"""Runs a program plainly and says when each tensor it marked died: PyTorch's own answer, by weak reference.

A program marks a tensor with `watch(t, "a")`. The answer is the line of the program that ran when it died;
None for one that outlived the program's last line.
"""

import builtins
import sys
import weakref
from typing import Any

import torch
from tensor_anatomy.schema.replay import state_document
from tensor_anatomy.tracing.storage import Ledger

from ..conftest import record

_FILE = "<plain>"


def _line() -> int | None:
    frame = sys._getframe(2)
    while frame is not None:
        if frame.f_code.co_filename == _FILE:
            return frame.f_lineno
        frame = frame.f_back  # type: ignore[assignment]
    return None


def died_in_plain_run(source: str) -> dict[str, int | None]:
    """Mark → the line that ran when its tensor died, without a tracer. Run it in a child."""
    died: dict[str, int | None] = {}
    over = False

    def dies(mark: str) -> None:
        died[mark] = None if over else _line()

    def watch(t: torch.Tensor, mark: str) -> torch.Tensor:
        died[mark] = None
        weakref.finalize(t, dies, mark)
        return t

    builtins.watch = watch  # type: ignore[attr-defined]
    variables: dict[str, Any] = {"__name__": "__main__", "torch": torch}
    try:
        exec(compile(source, _FILE, "exec"), variables)
    finally:
        over = True
    return dict(died)


def freed_in_traced_run(source: str) -> dict[str, int | None]:
    """Mark → the line that freed the storage of its tensor, as the trace has it. Run it in a child."""
    newest: dict[int, int] = {}
    marked: dict[str, int] = {}
    make = Ledger._new_storage

    def made(self: Ledger, untyped: Any, impl: int, *rest: Any) -> Any:
        row = make(self, untyped, impl, *rest)
        newest[impl] = row.id
        return row

    def watch(t: torch.Tensor, mark: str) -> torch.Tensor:
        marked[mark] = newest[t.untyped_storage()._cdata]
        return t

    Ledger._new_storage = made  # type: ignore[method-assign]
    builtins.watch = watch  # type: ignore[attr-defined]
    state = state_document(record(source))
    return {mark: state.storages[str(storage)].freed_line for mark, storage in marked.items()}
