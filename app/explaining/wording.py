"""How facts are written inside a sentence: storages, shapes, dtypes. Words are in the catalogues."""

from collections.abc import Iterable
from typing import Any

from ..schema import Layer, Sentence

_LONGEST = 2_000


def say(layer: Layer | None, message_id: str, **args: Any) -> Sentence:
    """Make a sentence about a layer.

    Args:
        layer: The layer; None when it is about names or the run.
        message_id: Id in the catalogues.
        **args: Values of its placeholders.

    Returns:
        The sentence.
    """
    return Sentence(layer=layer, id=message_id, args={name: _cut(value) for name, value in args.items()})


def _cut(value: Any) -> Any:
    """A name of megabytes would be in every sentence about it."""
    if isinstance(value, str) and len(value) > _LONGEST:
        return value[: _LONGEST - 1] + "…"
    return [_cut(each) for each in value] if isinstance(value, list) else value


def storage_label(storage: int) -> str:
    """`S0`, as every view labels a storage."""
    return f"S{storage}"


def storage_labels(storages: Iterable[int]) -> list[str]:
    """`S0`, `S1` …"""
    return [storage_label(s) for s in storages]


def tuple_text(values: tuple[int, ...] | None) -> str:
    """A shape or stride as PyTorch writes it, `(3,)` for one dimension; `?` where PyTorch raises."""
    return "?" if values is None else str(tuple(values))


def dtype_text(dtype: str) -> str:
    """`float32`."""
    return dtype.removeprefix("torch.")


_OPERATORS = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "matmul": "@",
    "truediv": "/",
    "floordiv": "//",
    "mod": "%",
    "pow": "**",
    "and": "&",
    "or": "|",
    "xor": "^",
    "lshift": "<<",
    "rshift": ">>",
    "invert": "~",
    "neg": "-",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "eq": "==",
    "ne": "!=",
}


def api_text(api: str) -> str:
    """An API call as a program writes it.

    >>> api_text("__rsub__"), api_text("__iadd__"), api_text("__invert__"), api_text("add_")
    ('-', '+=', '~', 'add_')
    """
    name = api[2:-2] if api[:2] == api[-2:] == "__" else ""
    if name in _OPERATORS:
        return _OPERATORS[name]
    operator = _OPERATORS.get(name[1:], api)
    return operator + "=" if operator != api and name[0] == "i" else operator
