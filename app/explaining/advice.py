"""What a class of error needs to be explained. How it is found out is in `operands` and `saved`."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Advice:
    """What a class of error needs to be explained."""

    caused_by: int | None
    """The line at fault, when it is not the one that raised."""

    operands: tuple[str, ...]
    """Names of the tensors concerned."""

    args: dict[str, Any] = field(default_factory=dict)
    """Further values for its sentences."""
