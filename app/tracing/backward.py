"""Backward passes as the engine runs them: which node runs, and the gradients that ops make there.

Nothing is hooked in. The nodes are those that the engine itself names while an op runs, so a node that hands
its gradient on without an op (an addition) is not told of: what lies between two that are follows from the
graph. Gradients are read as the op that made them ends, only some of them, and never kept.

Source: torch 2.13, torch/csrc/autograd/engine.cpp (evaluate_function), input_buffer.cpp (accumulate).
"""

import math
from typing import Any

import torch

from ..schema.values import plain_number
from . import reading, torch_private
from .autograd import Graph
from .rows import Running, TensorRow
from .stream import Stream

MOST_GRADIENTS = 600
"""Gradients that are read in one run."""

MOST_VALUES = 24
"""A gradient of more elements is told by its norm alone."""

_MOST_MEASURED = 1 << 16


class BackwardPasses:
    """Tells which node runs and what came of it.

    Args:
        stream: Takes the events.
        now: The statement that is running.
        graph: Knows graph nodes.
    """

    def __init__(self, stream: Stream, now: Running, graph: Graph) -> None:
        self._stream = stream
        self._now = now
        self._graph = graph
        self._told: tuple[int, int, int | None] | None = None
        self._tasks: dict[int, int] = {}
        self._left = MOST_GRADIENTS

    def runs(self, statement: int, task: int, fn: Any) -> None:
        """An op runs in a backward pass.

        Args:
            statement: Serial number of the statement that runs; a step's events are to make sense alone.
            task: The engine's number of the pass.
            fn: The node that runs the op; None when the engine itself does, or a hook.
        """
        node = None if fn is None else self._graph.node(fn)
        told = (statement, task, node)
        if told == self._told:
            return
        self._told = told
        number = self._tasks.setdefault(task, len(self._tasks) + 1)
        self._stream.events.append({"kind": "ran", "node": node, "task": number})

    def made(self, results: list[tuple[Any, TensorRow]]) -> None:
        """An op of a backward pass made or wrote tensors."""
        if self._left <= 0 or not self._now.full_records:
            return
        for t, row in results:
            if not _is_readable(t, row):
                continue
            self._left -= 1
            values, norm = _figures(t)
            event = {"kind": "gradient", "tensor": row.id, "values": values, "norm": norm}
            self._stream.events.append(event)


def _is_readable(t: Any, row: TensorRow) -> bool:
    storage = row.storage
    return (
        storage is not None
        and storage.device in reading.readable_devices
        and reading.get_layout(t) is torch.strided
        and reading.get_dtype(t).is_floating_point
        and not reading.get_is_nested(t)
        and not reading.dispatches_to_python(t)
        and reading.is_readable(t, storage.nbytes, storage.address)
    )


def _figures(t: Any) -> tuple[Any, Any]:
    """All values of a small tensor, and the Euclidean norm of all but the largest."""
    count = reading.numel(t)
    if count > _MOST_MEASURED:
        return None, None
    try:
        with torch_private.without_dispatch(), torch.no_grad():
            if count > MOST_VALUES:
                return None, plain_number(torch.linalg.vector_norm(t.detach(), dtype=torch.float64).item())
            flat = reading.to_list(t.detach().reshape(-1).to(torch.float64))
    except (RuntimeError, NotImplementedError):
        return None, None
    return reading.nested_values(t), plain_number(math.sqrt(sum(x * x for x in flat)))
