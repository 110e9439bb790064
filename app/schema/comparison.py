"""A program run a second time, unobserved, and what came out otherwise.

A `Fingerprint` is the final state of a run in a form that two runs can be compared by; addresses and ids are
not in it. What differs is an `ObserverEffect`; a `Comparison` says whether there was one at all, and brings
what the reader is shown instead. How runs are compared is in `execution/comparison.py`.
"""

from typing import Any, Literal

from .base import Record, Sentence

FACTS = (
    "shape",
    "stride",
    "storage_offset",
    "dtype",
    "layout",
    "device",
    "is_contiguous",
    "is_conj",
    "is_neg",
    "requires_grad",
    "is_leaf",
    "version",
    "quantizer",
    "values",
)
"""What is compared of each tensor, in this order."""


MOST_TENSORS = 500
"""Tensors that are compared. The gradient of each comes on top."""

MOST_NODES = 400
"""Graph nodes that are compared."""

MOST_CONTENTS = 50
"""Tensors whose contents are told."""


class TensorContents(Record):
    """The contents of a tensor at the end of a run that is not observed."""

    name: str
    """The name that leads to it."""

    data: str | None
    """All bytes of its storage, base64; null for a layout without one, or a large storage."""

    values: Any
    """Values of a tensor whose storage says nothing; else null."""


class Fingerprint(Record):
    """The final state of a run."""

    tensors: dict[str, tuple[str, ...]]
    """Tensors by name, gradients as `w.grad`: the facts of `FACTS` as text, of values a checksum."""

    graph: dict[str, str]
    """Names of graph nodes by the expression that leads to each: `y.grad_fn.next_functions[0][0]`."""

    sharing: tuple[tuple[str, ...], ...]
    """Names whose tensors share a storage, group by group."""

    generators: dict[str, int]
    """Checksums of the states of the random generators of `torch`, `python` and `numpy`."""

    stdout: int
    """Checksum of all that was printed, past what is kept too."""

    error: str | None
    """The exception with its text."""

    contents: tuple[TensorContents, ...]
    """What was asked for by name."""


class ObserverEffect(Record):
    """A difference between the observed run and the plain one."""

    what: str
    """The fact that differs: `grad_fn`, `values`, `version`, `stdout`."""

    name: str | None
    """The name it concerns."""

    observed: str
    """As traced."""

    plain: str
    """As it is without a tracer."""


class PlainNode(Record):
    """A graph node that has another name when nobody watches."""

    node: int
    """Its id."""

    name: str
    """`type(grad_fn).__name__` in the unobserved run."""


class PlainContents(Record):
    """Contents as the unobserved run has them. They are what a reader is shown, from step `since` on."""

    storage: int | None
    """The storage whose bytes these are."""

    tensor: int | None
    """The tensor whose values these are, when no storage has them."""

    since: int
    """The step after which the observed run wrote them no more."""

    data: str | None
    """The bytes, base64."""

    values: Any
    """The values; null beside bytes."""


NotCompared = Literal[
    "stopped", "crashed", "denied", "nothing-ran", "busy", "off", "local", "plain-stopped", "older"
]
"""Why a run was held against no other: how it ended, or what the server had decided."""


class Comparison(Record):
    """Whether a program was held against an unobserved run of itself, and what that run had instead."""

    state: Literal["same", "differs", "not-compared", "pending"]
    """`differs`: see `observer_effects`. `pending`: that run has not ended yet."""

    reason: NotCompared | None
    """Why it was not compared."""

    unsteady: tuple[str, ...]
    """Facts that differ from one unobserved run to the next, so that nothing can be said of them."""

    nodes: tuple[PlainNode, ...]
    """Nodes with another name."""

    contents: tuple[PlainContents, ...]
    """Contents that are shown instead of the observed ones."""

    sentences: tuple[Sentence, ...]
    """One for each observer effect, in their order; else why there was no comparison. Derived."""


def not_compared(reason: str) -> Comparison:
    """A comparison that did not take place."""
    return Comparison.model_validate(
        {
            "state": "not-compared",
            "reason": reason,
            "unsteady": (),
            "nodes": (),
            "contents": (),
            "sentences": (),
        }
    )


NEVER_COMPARED = not_compared("older")
"""Of a trace recorded before there were comparisons."""

PENDING = not_compared("off").model_copy(update={"state": "pending", "reason": None})
"""The unobserved run is still going on."""

SAME = PENDING.model_copy(update={"state": "same"})
"""Nothing differs."""
