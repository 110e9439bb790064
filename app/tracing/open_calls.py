"""Calls that are running: an API call, an op. What `calls` notes of each until it is over."""

from typing import Any, Protocol

from .ops import OpSchema
from .rows import TensorRow

Place = tuple[int | None, int | None]
"""Range of a sub-expression of the program, and name of the library it runs inside, both as indices."""

Origin = tuple[Any, int | None] | None
"""View key and storage id of the tensor a new one was made from; None: made from nothing."""


class Surroundings(Protocol):
    """What a new API call is put in place of."""

    api_now: int | None
    place: Place
    range_serial: int


class OpenApi:
    """An API call that is open."""

    __slots__ = ("events", "name", "name_before", "place", "place_before", "serial_before")

    def __init__(self, name: str, where: Place, events: int, calls: "Surroundings") -> None:
        self.name = name
        self.place = where
        self.events = events
        self.name_before = calls.api_now
        self.place_before = calls.place
        self.serial_before = calls.range_serial


class OpenOp:
    """An op that is running. Its operands are held by the call itself as long as this is."""

    __slots__ = (
        "api",
        "backward",
        "event",
        "given",
        "newcomers",
        "node",
        "place",
        "plain",
        "route",
        "rows",
        "schema",
    )

    def __init__(self, schema: OpSchema, given: list[Any], plain: bool) -> None:
        self.schema = schema
        self.plain = plain
        """No Python code can run within it."""
        self.node: int | None = None
        self.backward = False
        self.api: int | None = None
        self.route: int | None = None
        self.place: Place = (None, None)
        self.given = given
        self.rows: list[TensorRow] = []
        self.newcomers: list[TensorRow] = []
        """Operands that no op returned before."""
        self.event: dict[str, Any] | None = None
        """Its event; None in a step that is folded."""
