"""Calls of the PyTorch API and the aten ops they dispatch.

What is written is not what is dispatched: `reshape` arrives as `aten::view`, `contiguous` as
`aten::clone` or not at all. Both are recorded; neither is guessed from the other. A loop runs the same
ops again and again: what repeats is a row of the trace's `sites`, what differs is in `OpCall`.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from .base import Record

if TYPE_CHECKING:
    from .trace import Trace

Verdict = Literal["fresh", "view", "same", "in-place"]
"""What an output is, by storage identity rather than by the op's schema: a new storage, a view of an
input's storage, an input itself unwritten, an input itself written."""


class OpSite(Record):
    """What is the same each time an aten op runs at one place of a program in the same way."""

    op: int
    """Index into `names`: the `OpOverload.name()`, as in `aten::mul_.Tensor`."""

    api: int | None
    """Index into `names`: the API call it ran under; null when none was seen (backward, operators of C++)."""

    range: int | None
    """Index into `ranges`: the sub-expression of the program it ran for; null when unknown."""

    views: tuple[int, ...]
    """Per output an index into the trace's `views`: how it looks below autograd, when it was made."""

    verdicts: tuple[Verdict, ...]
    """One per output."""

    writes: tuple[int, ...]
    """Which inputs the schema says are written, as indices into `inputs`."""

    node: int | None
    """Index into `names`: the autograd node that ran it during backward; null in forward."""

    failed: bool
    """The op raised."""

    route: int | None = None
    """Index into `routes`: its way through the dispatcher when it first ran here; null when not known."""


class DispatchStop(Record):
    """A dispatch key of a call, and what the op has for it."""

    key: str
    """Name of the key: `AutogradCPU`."""

    kernel: Literal["kernel", "autograd", "composite", "default", "fallback", "fallthrough", "none"]
    """What is registered: a kernel of its own, autograd's, one that decomposes into other ops, one for all
    backends; or the key's own for all ops, one that only passes the call on, nothing."""


class DispatchRoute(Record):
    """The way of an op through the dispatcher. The keys were observed, the kernels looked up."""

    op: int
    """Index into `names`: the op."""

    stops: tuple[DispatchStop, ...]
    """Its keys, the one that is asked first at the front. Those of our own watching are left out."""

    composite: str | None
    """The op named as the API call, if PyTorch decomposes that into others. Looked up."""

    outer: tuple[DispatchStop, ...]
    """The keys of that op, up to the one where it becomes others; empty when the thread was not seen."""

    thread_seen: bool
    """Keys that the thread adds or leaves out (autocast, inference mode) are included; else only those of the
    operands are known. Those of modes are with the call of the program: an op inside is past them."""


class OpCall(Record):
    """One aten op below autograd."""

    kind: Literal["op"]
    site: int
    """Index into `sites`: which op, where, and what came of it."""

    inputs: tuple[int, ...]
    """Ids of the tensors among the arguments, in order."""

    outputs: tuple[int, ...]
    """Ids of the tensors returned."""


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


@dataclass(frozen=True, slots=True)
class Op:
    """An op call put together with its site: what readers of a trace work with."""

    op: int
    api: int | None
    range: int | None
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    views: tuple[int, ...]
    verdicts: tuple[Verdict, ...]
    writes: tuple[int, ...]
    """Ids of the tensors written."""
    node: int | None
    failed: bool


def op_of(trace: "Trace", call: OpCall) -> Op:
    """The op an event tells of."""
    site = trace.sites[call.site]
    return Op(
        op=site.op,
        api=site.api,
        range=site.range,
        inputs=call.inputs,
        outputs=call.outputs,
        views=site.views,
        verdicts=site.verdicts,
        writes=tuple(call.inputs[i] for i in site.writes),
        node=site.node,
        failed=site.failed,
    )
