"""Where a watched run may differ from a plain one, and why: the whole list, each line with its reason.

Every difference is traced to its cause when it is found: `unsteady` when two plain runs differ in the same
way, `any mode` when modes that do nothing change the same. What is left would be ours, and no line excuses
it. The forward list names its entries and must fit exactly; the others name kinds of facts, and a kind that
no entry shows any more fails as well.
"""

from typing import NamedTuple


class Exclusion(NamedTuple):
    """Facts that may differ."""

    profile: str
    kind: str
    """Which fact: `bits`, `version`, `grad version`."""
    cause: str
    """`unsteady` or `any mode`."""
    entries: frozenset[str]
    """The entries it is for; empty in the longer profiles: all in which the cause was measured."""
    reason: str


UNINITIALISED = "it reads memory that nobody wrote: two plain runs differ as well"
SOLVERS = (
    "singular and eigenvalues are asked of LAPACK with vectors under any dispatch mode: up to 4e-5 apart"
)
COMPOSED = (
    "its C++ takes the path for tensor subclasses under any dispatch mode: the same values, "
    "written into the result another number of times"
)
OTHER_PATH = "its C++ takes the path for tensor subclasses under any dispatch mode"
EIGENVECTORS = "its backward refuses a gradient that depends on the phase, but not under any dispatch mode"
OVERLAP = "its `out` overlaps an input and is resized to memory that nobody wrote: plain runs differ as well"
OUT_OF_PLACE = "the engine sums gradients out of place under any dispatch mode, so they are not bumped"


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


FORWARD = (
    Exclusion(
        "forward",
        "bits",
        "unsteady",
        _names(
            "empty empty_like empty_permuted empty_strided linalg.lstsq linalg.lstsq.grad_oriented "
            "new_empty new_empty_strided"
        ),
        UNINITIALISED,
    ),
    Exclusion(
        "forward",
        "bits",
        "any mode",
        _names("linalg.cond linalg.eigvalsh linalg.matrix_norm linalg.norm linalg.svdvals norm.nuc"),
        SOLVERS,
    ),
    Exclusion(
        "forward",
        "version",
        "any mode",
        _names("linalg.matrix_rank linalg.matrix_rank.hermitian nn.functional.max_pool1d"),
        COMPOSED,
    ),
)

_ANY = frozenset[str]()

LONGER = (
    Exclusion("backward", "grad version", "any mode", _ANY, OUT_OF_PLACE),
    Exclusion("backward", "grad bits", "any mode", _ANY, f"{OUT_OF_PLACE}; {SOLVERS}"),
    Exclusion("backward", "version", "any mode", _ANY, COMPOSED),
    Exclusion("backward", "grad_fn", "any mode", _ANY, OTHER_PATH),
    *(
        Exclusion("backward", kind, "any mode", frozenset({"linalg.eig"}), EIGENVECTORS)
        for kind in ("answer", "structure", "identity", "sharing", "grad")
    ),
    Exclusion("errors", "bits", "unsteady", frozenset({"cat"}), OVERLAP),
    Exclusion("errors", "before", "unsteady", frozenset({"cat"}), OVERLAP),
    Exclusion("out", "bits", "unsteady", _ANY, UNINITIALISED),
    Exclusion("out", "bits", "any mode", _ANY, f"{SOLVERS}; or {OTHER_PATH}"),
    Exclusion("out", "version", "any mode", _ANY, COMPOSED),
    Exclusion("dtypes", "bits", "unsteady", _ANY, UNINITIALISED),
    Exclusion("dtypes", "bits", "any mode", _ANY, SOLVERS),
    Exclusion("dtypes", "version", "any mode", _ANY, COMPOSED),
)

NOT_ON_THE_CPU = {
    "jiterator_2inputs_2outputs": "compiles for a GPU",
    "jiterator_4inputs_with_extra_args": "compiles for a GPU",
    "jiterator_binary": "compiles for a GPU",
    "jiterator_binary_return_by_ref": "compiles for a GPU",
    "jiterator_unary": "compiles for a GPU",
    "nn.functional.batch_norm.without_cudnn": "a variant of a GPU library",
    "torch.ops.aten._efficient_attention_forward": "a GPU kernel",
    "torch.ops.aten._flash_attention_forward": "a GPU kernel",
}
"""Entries without a forward sample that runs here."""


def excused(profile: str, entry: str, kind: str, cause: str) -> Exclusion | None:
    """The line that excuses a difference."""
    for line in (*FORWARD, *LONGER):
        fits = (line.profile, line.kind, line.cause) == (profile, kind, cause)
        if fits and (not line.entries or entry in line.entries):
            return line
    return None
