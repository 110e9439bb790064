"""Copies from one device to another."""

from typing import Literal

from .base import Record


class Transfer(Record):
    """Bytes were copied between devices."""

    kind: Literal["transfer"]
    source: int
    """Id of the tensor copied from."""

    target: int
    """Id of the tensor copied to."""

    nbytes: int
    """Bytes copied."""
