"""What a class says of itself, by the descriptors of `type`: no metaclass of the program is asked.

A program may give its classes a metaclass with a `__getattribute__`, an `__eq__` or a `__name__` of its own,
and its objects a property `__class__`. So a class is told from another by identity, or by `issubclass` of an
exact `type(x)` and a class that is not the program's; never by `==`, `in` or `isinstance`.
"""

import sys
import types
from collections.abc import Iterator
from typing import Any

_name = type.__dict__["__name__"].__get__
_module = type.__dict__["__module__"].__get__
_members = type.__dict__["__dict__"].__get__
_mro = type.__dict__["__mro__"].__get__
_qualified = type.__dict__["__qualname__"].__get__

_NAMED = frozenset(
    map(
        id,
        (
            types.FunctionType,
            types.BuiltinFunctionType,
            types.MethodDescriptorType,
            types.WrapperDescriptorType,
            types.MethodWrapperType,
            types.ClassMethodDescriptorType,
            types.GetSetDescriptorType,
            types.MemberDescriptorType,
        ),
    )
)
"""Types whose `__name__` and `__module__` Python itself answers."""


def class_name(kind: type) -> str:
    """`kind.__name__`."""
    return str.__str__(_name(kind))


def class_of(value: Any) -> str:
    """`type(value).__name__`."""
    return str.__str__(_name(type(value)))


def class_qualname(kind: type) -> str:
    """`kind.__qualname__`."""
    return str.__str__(_qualified(kind))


def name_of(function: Any) -> str | None:
    """`function.__name__` of whatever can be called, where no code of the program is asked for it."""
    kind = type(function)
    if id(kind) in _NAMED:
        return str.__str__(function.__name__)
    if kind is types.MethodType:
        return name_of(function.__func__)
    if issubclass(kind, type):
        return class_name(function)
    if not is_of_torch(kind):
        return None
    name = getattr(function, "__name__", None) or getattr(function, "_name", None)
    return name if type(name) is str else None


def module_of(function: Any) -> str:
    """`function.__module__`, as `name_of`; empty where it says nothing."""
    kind = type(function)
    if issubclass(kind, type):
        return class_module(function)
    module = getattr(function, "__module__", None) if id(kind) in _NAMED or is_of_torch(kind) else None
    return module if type(module) is str else ""


def is_of_torch(kind: type) -> bool:
    """It is a class of PyTorch, and does not only say so."""
    module = class_module(kind)
    if module != "torch" and not module.startswith("torch."):
        return False
    found: Any = sys.modules.get(module)
    for name in class_qualname(kind).split("."):
        found = None if found is None else vars(found).get(name)
    return found is kind


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
