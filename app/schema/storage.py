"""Untyped storages, the tensors that view them, and the values read from them.

A tensor's values are not recorded beside it: they follow from the bytes of its storage (`values.py`),
so that tensors that share memory cannot disagree. `TensorValues` is for what has no such bytes.
"""

from typing import Any, Literal

from .base import Record


class UntypedStorage(Record):
    """A storage came to be known, or its size or address changed."""

    kind: Literal["storage"]
    id: int
    """Stable within a trace. Equal ids share memory."""

    nbytes: int
    """Size in bytes."""

    address: str
    """`data_ptr()` in hexadecimal; `0x0` for meta and empty storages."""

    device: str
    """The device its bytes are on, as PyTorch writes it: `cpu`, `cuda:0`, `meta`."""


class StorageBytes(Record):
    """The bytes of a storage as they were observed."""

    kind: Literal["bytes"]
    storage: int
    """The storage's id."""

    data: str | None
    """All its bytes in base64; null when they changed and the new ones were not recorded."""

    late: bool
    """Recorded when the program was over, of a change that was told without its bytes."""


class StorageFreed(Record):
    """Storages whose bytes were given back."""

    kind: Literal["freed"]
    storages: tuple[int, ...]
    """Ids of the storages."""

    line: int | None
    """First line of the statement that was running."""


class StorageHeld(Record):
    """Who keeps a storage that no name, no `.grad` and no saved tensor accounts for: what a search found."""

    kind: Literal["held"]
    storage: int
    """The storage's id."""

    by: Literal["name", "cycle", "unknown"]
    """`name`: something the program's names reach; `cycle`: only objects that keep each other, until the
    garbage collector runs; `unknown`: something the program's names do not reach."""

    holders: tuple[str, ...]
    """For `name` how a name reaches it: `f.__defaults__[0]`, `keep.__traceback__ › f: x`."""


class TensorView(Record):
    """How a tensor looks at a storage. Kept in a table: many tensors of a trace look alike."""

    shape: tuple[int, ...] | None
    """Sizes per dimension; null where PyTorch raises (nested tensors)."""

    stride: tuple[int, ...] | None
    """Elements to skip per dimension, 0 where expanded; null where PyTorch raises (sparse, nested)."""

    storage_offset: int | None
    """Elements from the start of the storage; null where PyTorch raises."""

    dtype: str
    """`torch.float32` and so on."""

    layout: str
    """`torch.strided`, `torch.sparse_coo` and so on."""

    device: str
    """`cpu`, `cuda:0`, `meta`."""

    is_contiguous: bool | None
    """`is_contiguous()`; null where PyTorch raises."""

    is_conj: bool
    """The conjugate bit: values are read as conjugates of the bytes."""

    is_neg: bool
    """The negative bit: values are read as negatives of the bytes."""

    requires_grad: bool
    """Autograd records what is done with it."""

    is_leaf: bool | None
    """Made by the user rather than by a recorded operation; null where PyTorch raises."""


class TensorState(Record):
    """A tensor came to be known or changed: its whole state, values aside."""

    kind: Literal["tensor"]
    id: int
    """Stable within a trace: one Python tensor object."""

    view: int
    """Index into the trace's `views`."""

    storage: int | None
    """The storage it views; null for layouts without one."""

    version: int | None
    """The version counter at the end of the statement; null for inference tensors."""

    grad_fn: int | None
    """The autograd node that made it; null for a leaf."""

    grad: int | None
    """Id of the tensor in `.grad`; null when there is none or it is not accumulated here."""

    quantizer: str | None
    """Scale and zero point of a quantized tensor; null for others."""


class Histogram(Record):
    """How the values of a large tensor are spread, of some of them."""

    low: float
    """Where the first bin begins: the smallest finite value counted."""

    high: float
    """Where the last bin ends: the largest finite value counted."""

    counts: tuple[int, ...]
    """Finite values in each bin, all bins as wide as each other."""

    others: int
    """Values that were looked at and are infinite or not a number."""


class TensorSummary(Record):
    """What is said of a tensor too large to show every value."""

    elements: int
    """`numel()`."""

    looked_at: int
    """Elements the figures are taken from; fewer than `elements` when sampled."""

    minimum: float | str | None
    """Smallest value looked at, `"nan"`, `"inf"` or `"-inf"` where it is that."""

    maximum: float | str | None
    """Largest value looked at."""

    mean: float | str | None
    """Mean of the values looked at."""

    corner: Any
    """Nested list: the first values along each of the last two dimensions."""

    histogram: Histogram | None = None
    """Of up to 4,096 of the values looked at; null for complex values, and in traces of older versions."""


class TensorValues(Record):
    """Values of a tensor that do not follow from recorded storage bytes."""

    kind: Literal["values"]
    tensor: int
    """The tensor's id."""

    values: Any
    """Nested list as in the state document; null when there is only a summary or nothing readable."""

    summary: TensorSummary | None
    """For large tensors."""


class TensorTrait(Record):
    """Something about a tensor that its view does not say: `batched`, `uninitialized`, `foreign-memory`."""

    id: str
    """Which one; the catalogues say it as `trait.<id>`."""

    args: dict[str, Any]
    """Values for the placeholders of that message."""


class TensorTraits(Record):
    """The traits of a tensor came to be known or changed."""

    kind: Literal["traits"]
    tensor: int
    """The tensor's id."""

    traits: tuple[TensorTrait, ...]
    """All it has now."""


class TensorsGone(Record):
    """Tensors that were destroyed."""

    kind: Literal["gone"]
    tensors: tuple[int, ...]
    """Ids of the tensors."""
