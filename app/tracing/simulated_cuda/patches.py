"""Attributes of torch that the simulation replaces, and puts back."""

from typing import Any

_ABSENT = object()


class Patches:
    """Replaced attributes, undone in the order opposite to that in which they were made."""

    def __init__(self) -> None:
        self._before: list[tuple[Any, str, Any]] = []

    def put(self, owner: Any, name: str, value: Any) -> None:
        """Replace an attribute of a module or class. One that a base class has is hidden."""
        self._before.append((owner, name, vars(owner).get(name, _ABSENT)))
        setattr(owner, name, value)

    def undo(self) -> None:
        """Put everything back."""
        while self._before:
            owner, name, value = self._before.pop()
            if value is _ABSENT:
                delattr(owner, name)
            else:
                setattr(owner, name, value)


class NotSimulated(NotImplementedError):
    """Something of CUDA that the simulation does not do."""


def not_simulated(what: str, why: str) -> NotSimulated:
    """The error for it.

    Args:
        what: What the program asked for.
        why: A sentence, or where to look instead.
    """
    return NotSimulated(f"simulated CUDA: {what} is not simulated. {why}")
