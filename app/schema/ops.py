"""Calls of the PyTorch API and the aten ops they dispatch.

What is written is not what is dispatched: `reshape` arrives as `aten::view`, `contiguous` as
`aten::clone` or not at all. Both are recorded; neither is guessed from the other.
"""

from typing import Literal

from .base import Record

Verdict = Literal["fresh", "view", "same", "in-place"]
"""What an output is, by storage identity rather than by the op's schema: a new storage, a view of an
input's storage, an input itself unwritten, an input itself written."""


class OpCall(Record):
    """One aten op below autograd."""

    kind: Literal["op"]
    op: int
    """Index into `names`: the `OpOverload.name()`, as in `aten::mul_.Tensor`."""

    api: int | None
    """Index into `names`: the API call it ran under; null when none was seen (backward, operators of C++)."""

    range: int | None
    """Index into `ranges`: the sub-expression of the program it ran for; null when unknown."""

    inputs: tuple[int, ...]
    """Ids of the tensors among the arguments, in order."""

    outputs: tuple[int, ...]
    """Ids of the tensors returned."""

    views: tuple[int, ...]
    """Per output an index into the trace's `views`: how it looks below autograd, when it was made."""

    verdicts: tuple[Verdict, ...]
    """One per output."""

    writes: tuple[int, ...]
    """Ids of the tensors the schema says are written."""

    node: int | None
    """Index into `names`: the autograd node that ran it during backward; null in forward."""

    failed: bool
    """The op raised."""


class ApiCall(Record):
    """A call of the PyTorch API without an op: `contiguous()` of a contiguous x, `requires_grad_()`."""

    kind: Literal["api"]
    api: int
    """Index into `names`."""

    range: int | None
    """Index into `ranges`; null when unknown."""

    inputs: tuple[int, ...]
    """Ids of the tensors among the arguments."""

    outputs: tuple[int, ...]
    """Ids of the tensors returned."""

    returned_input: bool
    """The very tensor that went in came out."""
