"""Inside which modules' calls something happens: `model`, `model[0]` and their classes, outermost first.

Read off the Python stack, so that nothing is hooked in and no module is held: a module's `_call_impl` has it
as `self`. Named as the program reaches it: the root by a variable of the program, the rest by the modules
around it. A module that no variable leads to has its class alone.

None of the program's code is run for that: a module may have a class, a dictionary or keys of its own making.
"""

import sys
import weakref
from typing import Any

import torch

from . import torch_private
from .classes import class_of
from .names import dictionary_of

_MOST_FRAMES = 200
_MOST_TEXT = 200


class Modules:
    """Names modules.

    Args:
        program: File name of the program in code objects.
    """

    def __init__(self, program: str) -> None:
        self._program = program
        self._labels: dict[int, tuple[weakref.ref[Any], str, str]] = {}
        """id of a module → itself, the path that it was called, the whole label."""

    def around(self) -> tuple[str, ...]:
        """Labels of the modules that are being called, as `model[0]: Linear`."""
        called = torch_private.module_call
        if called is None:
            return ()
        found: list[Any] = []
        frame: Any = sys._getframe(1)
        for _ in range(_MOST_FRAMES):
            if frame is None:
                break
            code = frame.f_code
            if code is called:
                module = frame.f_locals.get("self")
                if issubclass(type(module), torch.nn.Module):
                    found.append(module)
            elif code.co_name == "<module>" and code.co_filename == self._program:
                break
            frame = frame.f_back
        if not found:
            return ()
        labels: list[str] = []
        parent, path = None, ""
        for module in reversed(found):
            path, label = self._label(module, parent, path, frame)
            labels.append(label)
            parent = module
        return tuple(labels)

    def _label(self, module: Any, parent: Any, path: str, frame: Any) -> tuple[str, str]:
        known = self._labels.get(id(module))
        if known is not None and known[0]() is module:
            return known[1], known[2]
        name = _root(module, frame) if parent is None else _within(module, parent, path)
        kind = class_of(module)[:_MOST_TEXT]
        label = f"{name}: {kind}" if name else kind
        self._labels[id(module)] = (weakref.ref(module), name, label)
        return name, label


def _root(module: Any, frame: Any) -> str:
    """The variable of the program that is the module."""
    variables = [] if frame is None else list(dict.items(frame.f_globals))
    return next((name for name, value in variables if value is module and type(name) is str), "")


def _children(module: Any) -> dict[str, Any]:
    if not issubclass(type(module), torch.nn.Module):
        return {}
    children: Any = dict.get(dictionary_of(module, type(module)), "_modules")
    if not issubclass(type(children), dict):
        return {}
    return {key: child for key, child in dict.items(children) if type(key) is str}


def _within(module: Any, parent: Any, path: str) -> str:
    """How it is reached from a module around it: as its child, or in a list among its children."""
    if not path:
        return ""
    for key, child in _children(parent).items():
        if child is module:
            return path + _step(key)
        if child is not None:
            for inner, grandchild in _children(child).items():
                if grandchild is module:
                    return path + _step(key) + _step(inner)
    return ""


def _step(key: str) -> str:
    return f"[{key}]" if key.isdigit() else f".{key}"
