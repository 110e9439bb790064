"""What is kept of a tensor and of a storage while a program runs: a row each, and no reference to either.

`storage.Ledger` makes the rows; `contents.Contents` fills in what was read of bytes and values. `Running`
says which statement runs, to all who write down what it does.
"""

import weakref
from typing import Any

from .changes import Effects

State = tuple[Any, int | None, int | None, int | None, int | None, str | None]
"""A tensor's state: view key, storage id, version, node, `.grad` id, quantizer."""


class OurRef(weakref.ref[Any]):
    """A weak reference of the tracer's, to be told from the program's own: see `hidden`."""

    __slots__ = ("address", "tensor_id")
    address: int
    """Of the tensor's Python object."""
    tensor_id: int


class TensorRow:
    """What is known of a tensor."""

    __slots__ = (
        "grad_of",
        "id",
        "look",
        "parts",
        "ref",
        "state",
        "storage",
        "traits",
        "valued",
        "values",
        "values_key",
        "withheld",
    )

    def __init__(self, tensor_id: int, ref: "weakref.ref[Any]") -> None:
        self.id = tensor_id
        self.ref = ref
        self.state: State | None = None
        self.look: Any = None
        """Its view key when an op last returned it, below autograd."""
        self.storage: StorageRow | None = None
        self.traits: tuple[Any, ...] = ()
        """See `traits`."""
        self.parts: dict[str, TensorRow] | None = None
        """Of a sparse or nested tensor: expression after its own → row. PyTorch makes a part's Python
        object anew whenever it is asked for, so parts are known by their owner: its reference is theirs."""
        self.grad_of: set[int] = set()
        """Ids of the tensors whose `.grad` it is."""
        self.valued = False
        """Its values travel with it rather than with its storage."""
        self.values_key: Any = None
        """What its values were read at."""
        self.values: Any = None
        """The values last recorded, of a small tensor."""
        self.withheld = False
        """Its values changed and the new ones were not recorded."""


class StorageRow:
    """What is known of a storage."""

    __slots__ = (
        "address",
        "data",
        "device",
        "digest",
        "foreign",
        "id",
        "impl",
        "nbytes",
        "odd",
        "read_at",
        "recorded",
        "shrunk",
        "tensors",
        "tile_rows",
        "tiled",
        "versionless",
        "writes",
    )

    def __init__(self, storage_id: int, impl: int, nbytes: int, address: int, device: str) -> None:
        self.id = storage_id
        self.impl = impl
        self.nbytes = nbytes
        self.address = address
        self.device = device
        self.data: bytes | None = None
        """The last observed bytes of a small storage."""
        self.recorded: bool | None = None
        """The trace has these bytes; False when it was told that it has not; None before either."""
        self.digest: tuple[bool, int] | None = None
        """Whether of all bytes, and the checksum."""
        self.read_at: Any = None
        """Of a storage on a real device: what its bytes were last copied at, and in which look."""
        self.tensors: dict[int, TensorRow] = {}
        self.tiled: bool | None = None
        """The trace has figures of these bytes by tiles; False when it has not; None before it was drawn."""
        self.tile_rows: tuple[str, int] | None = None
        """The dtype it was read as then and the cells of a row: so that tiles can be compared."""
        self.writes = 0
        """Ops that wrote it, and changes that were found."""
        self.versionless = True
        """It can be written without a version counter: exported to NumPy, or not made by an op."""
        self.foreign = False
        """Its memory is not of PyTorch's allocator: NumPy's, a buffer's, a file's."""
        self.shrunk = False
        """It was resized below what it had."""
        self.odd = False
        """Foreign or shrunk: tensors on it have something to tell."""


class Running:
    """The statement that is running."""

    __slots__ = ("early", "effects", "full_records", "late", "line", "looks")

    def __init__(self) -> None:
        self.effects = Effects(0)
        """What it has done so far."""
        self.full_records = True
        """Storages of more than a few cells are recorded at this execution."""
        self.early = True
        """It is one of the first executions of the statement."""
        self.late = False
        """The program is over: what is recorded now changed earlier."""
        self.line: int | None = None
        """Its first line."""
        self.looks = 0
        """How often was looked at what statements did: within one look nothing changes."""
