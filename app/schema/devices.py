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

    source_device: str
    """Where it was."""

    target_device: str
    """Where the copy is."""

    nbytes: int
    """Bytes copied."""
