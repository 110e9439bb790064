"""Where a program's references begin: its variables, and what it can name without a variable.

Variables of running functions are read from the dictionaries Python keeps for a watched frame anyway. Modules
and NumPy arrays have to be asked: the collector does not list what was frozen before the program began, nor
what an array keeps. Nothing of the program runs.
"""

import ctypes
import sys
import types
from typing import Any

from .chains import function_name
from .classes import class_module, class_name, class_of, texts
from .names import Walk
from .statements import COMPREHENSIONS


def namespaces_of(
    variables: dict[str, Any], error: BaseException | None
) -> tuple[dict[int, str], list[dict[str, Any]]]:
    """Variables of the program and of its running functions.

    Args:
        variables: Its globals.
        error: What ended it, which Python keeps as `sys.last_value`.

    Returns:
        By `id` what goes before a variable, and the namespaces themselves.
    """
    roots, namespaces = {id(variables): ""}, [variables]
    frame = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if frame.f_globals is variables and code.co_name != "<module>" and code.co_name not in COMPREHENSIONS:
            local = frame.f_locals
            roots[id(local)] = f"{function_name(code.co_qualname)}: "
            namespaces.append(local)
        frame = frame.f_back  # type: ignore[assignment]
    if error is not None:
        last = {"sys.last_value": error}
        roots[id(last)] = ""
        namespaces.append(last)
    return roots, namespaces


def given_to_modules(
    variables: dict[str, Any], wanted: set[int], roots: dict[int, str]
) -> list[tuple[Any, Any]]:
    """Attributes that the program gave to modules it knows.

    Args:
        variables: Its globals.
        wanted: `id`s of the objects looked for.
        roots: Takes the namespaces of the modules that have one.

    Returns:
        Namespace and object.
    """
    modules: dict[int, tuple[str, Any]] = {
        id(m): (f"{n}.", m) for n, m in texts(variables) if type(m) is types.ModuleType
    }
    modules.setdefault(id(sys), ("sys.", sys))
    modules[id(variables.get("__builtins__"))] = ("", variables.get("__builtins__"))
    found = []
    for label, module in modules.values():
        namespace = getattr(module, "__dict__", None) if type(module) is types.ModuleType else None
        if namespace is None or namespace is variables:
            continue
        for value in list(namespace.values()):
            if id(value) in wanted:
                roots.setdefault(id(namespace), label)
                found.append((namespace, value))
    return found


def buffers_in(
    namespaces: list[dict[str, Any]], roots: dict[int, str], program_module: str
) -> list[tuple[str, int]]:
    """Arrays, memoryviews and capsules that names lead to, each with the address of its memory."""
    found = []
    for namespace in namespaces:
        for variable, value in texts(namespace):
            walk = Walk(program_module)
            walk.go(variable, value)
            for path, buffer in walk.buffers:
                if address := _address_of(buffer):
                    found.append((roots[id(namespace)] + path, address))
    return found


def _address_of(buffer: Any) -> int:
    """Where the memory of an array, a memoryview or a DLPack capsule begins; 0 when it has none."""
    kind = type(buffer)
    if kind is memoryview:
        exporter = buffer.obj
        return _address_of(exporter) if class_of(exporter) == "ndarray" else 0
    if class_name(kind) == "ndarray" and class_module(kind) == "numpy":
        return int(buffer.__array_interface__["data"][0])
    if class_name(kind) == "PyCapsule":
        return _address_in_capsule(buffer)
    return 0


def _address_in_capsule(capsule: Any) -> int:
    """`DLTensor.data`: first in the old struct, 32 bytes into the new one.

    Source: dlpack.h, `DLManagedTensor` and `DLManagedTensorVersioned`.
    """
    api = ctypes.pythonapi
    for name, offset in ((b"dltensor", 0), (b"dltensor_versioned", 32)):
        if api.PyCapsule_IsValid(ctypes.py_object(capsule), name):
            get = api.PyCapsule_GetPointer
            get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
            start = get(capsule, name)
            return int(ctypes.c_void_p.from_address(start + offset).value or 0) if start else 0
    return 0
