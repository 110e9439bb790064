"""Keeps the tracer's own weak references out of what a program can ask for.

`torch.utils.swap_tensors`, and with it `Module.to` where parameters are swapped, refuses a tensor that has
weak references. A program that counts them sees its own.
"""

import weakref
from typing import Any

from .rows import OurRef

_getweakrefs, _getweakrefcount = weakref.getweakrefs, weakref.getweakrefcount


def _of_the_program(thing: Any) -> list[Any]:
    return [ref for ref in _getweakrefs(thing) if type(ref) is not OurRef]


def _count(thing: Any) -> int:
    return len(_of_the_program(thing))


class HiddenWeakRefs:
    """While entered, `weakref` tells of the program's references only."""

    def __enter__(self) -> None:
        weakref.getweakrefs, weakref.getweakrefcount = _of_the_program, _count

    def __exit__(self, *error: object) -> None:
        weakref.getweakrefs, weakref.getweakrefcount = _getweakrefs, _getweakrefcount
