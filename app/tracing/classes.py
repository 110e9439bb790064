"""What a class says of itself, by the descriptors of `type`: no metaclass of the program is asked.

A program may give its classes a metaclass with a `__getattribute__`, an `__eq__` or a `__name__` of its own,
and its objects a property `__class__`. So a class is told from another by identity, or by `issubclass` of an
exact `type(x)` and a class that is not the program's; never by `==`, `in` or `isinstance`.
"""

from collections.abc import Iterator
from typing import Any

_name = type.__dict__["__name__"].__get__
_module = type.__dict__["__module__"].__get__
_members = type.__dict__["__dict__"].__get__
_mro = type.__dict__["__mro__"].__get__


def class_name(kind: type) -> str:
    """`kind.__name__`."""
    return str.__str__(_name(kind))


def class_of(value: Any) -> str:
    """`type(value).__name__`."""
    return str.__str__(_name(type(value)))


def class_module(kind: type) -> str:
    """`kind.__module__`; empty where that is no text."""
    module = _module(kind)
    return module if type(module) is str else ""


def members_of(kind: type) -> Any:
    """`vars(kind)`, to be read."""
    return _members(kind)


def bases_of(kind: type) -> Any:
    """`kind.__mro__`."""
    return _mro(kind)


def member(kind: type, name: str) -> Any:
    """What a class or a base of it has under a name, unbound; None where none has."""
    for base in _mro(kind):
        found = _members(base).get(name)
        if found is not None:
            return found
    return None


def texts(namespace: Any) -> Iterator[tuple[str, Any]]:
    """The entries of a dictionary, however it is subclassed, whose keys are plain texts."""
    if issubclass(type(namespace), dict):
        for name, value in list(dict.items(namespace)):
            if type(name) is str:
                yield name, value
