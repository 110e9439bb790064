"""FX graphs as plain data: what each node calls, on what, from which line. Holds no graph and no tensor.

The results that the compiler wrote beside the nodes are fake tensors: shapes and dtypes without bytes. A
symbolic size stays a text, because comparing one would add a guard.

Source: torch 2.13, torch/fx/node.py; torch/_dynamo/output_graph.py.
"""

import re
from typing import Any

import torch
from torch._ops import OpOverload, OpOverloadPacket
from torch.fx.immutable_collections import immutable_dict, immutable_list

from .classes import class_name, module_of, name_of
from .guards import readable

MOST_NODES = 200
_MOST_TEXT = 120
_CALLS = ("call_function", "call_method", "call_module")
_WHERE = re.compile(r'File "(.+?)", line (\d+), in ')
_PLAIN = frozenset(
    map(
        id,
        (type(None), bool, int, float, complex, torch.dtype, torch.device, torch.memory_format, torch.layout),
    )
)
_MODULES = {"_operator": "operator", "torch._C._nn": "torch.nn.functional", "builtins": ""}


def graph_row(stage: str, graph: Any, program: str) -> dict[str, Any]:
    """An FX graph as a row of `schema.FxGraph`.

    Args:
        stage: What it is.
        graph: The `torch.fx.Graph`.
        program: File name of the program, to tell its lines.

    Returns:
        The row.
    """
    nodes = list(graph.nodes)
    kept = nodes if len(nodes) <= MOST_NODES else [*nodes[: MOST_NODES - 1], nodes[-1]]
    place = {id(node): index for index, node in enumerate(kept)}
    return {
        "stage": stage,
        "calls": sum(node.op in _CALLS for node in nodes),
        "nodes": [_node_row(node, place, program) for node in kept],
        "omitted": len(nodes) - len(kept),
    }


def _node_row(node: Any, place: dict[int, int], program: str) -> dict[str, Any]:
    shape, dtype = _result(node.meta)
    return {
        "name": str(node.name),
        "op": node.op,
        "target": _target(node),
        "arguments": "" if node.op == "placeholder" else _arguments(node.args, node.kwargs),
        "inputs": [place[id(n)] for n in node.all_input_nodes if id(n) in place],
        "shape": shape,
        "dtype": dtype,
        "line": _line(node, program),
    }


def _target(node: Any) -> str:
    target = node.target
    if node.op == "call_method":
        return f"Tensor.{target}"
    if node.op == "placeholder":
        source = getattr(node.meta.get("grapharg"), "source", None)
        return str(target) if source is None else readable(_name_of(source))
    kind = type(target)
    if issubclass(kind, str):
        return str.__str__(target)
    if kind is OpOverload or kind is OpOverloadPacket:
        return str(target)
    name = name_of(target) or class_name(kind)
    module = module_of(target) or "torch"
    module = _MODULES.get(module, module)
    if getattr(torch, name, None) is target or module.startswith("torch._ops"):
        module = "torch"
    return f"{module}.{name}" if module else name


def _name_of(source: Any) -> str:
    name = source.name
    return str(name() if callable(name) else name)


def _arguments(args: Any, kwargs: Any) -> str:
    parts = [_text(value) for value in args]
    parts += [f"{name}={_text(value)}" for name, value in kwargs.items()]
    text = ", ".join(parts)
    return text if len(text) <= _MOST_TEXT else text[: _MOST_TEXT - 1] + "…"


def _text(value: Any) -> str:
    kind = type(value)
    if kind is immutable_dict or kind is dict:
        return (
            "{"
            + ", ".join(f"{k if type(k) is str else _text(k)}: {_text(v)}" for k, v in value.items())
            + "}"
        )
    if kind is tuple or kind is list or kind is immutable_list:
        inner = ", ".join(_text(each) for each in value)
        return f"({inner}{',' if len(value) == 1 else ''})" if kind is tuple else f"[{inner}]"
    if kind is torch.fx.Node:
        return str(value.name)
    if id(kind) in _PLAIN:
        return str(value)
    if kind is str:
        return repr(value[:_MOST_TEXT])
    return class_name(kind)


def _result(meta: dict[str, Any]) -> tuple[list[int | str] | None, str | None]:
    value: Any = meta.get("val", meta.get("example_value"))
    kind = type(value)
    if issubclass(kind, torch.Tensor):
        sizes = [size if type(size) is int else str(size) for size in value.shape]
        return sizes, str(value.dtype).removeprefix("torch.")
    if value is None or issubclass(kind, tuple) or issubclass(kind, list):
        return None, None
    return None, class_name(kind)


def _line(node: Any, program: str) -> int | None:
    """The innermost line of the program; the stack ends with the newest call."""
    for file, line in reversed(_WHERE.findall(node.stack_trace or "")):
        if file == program:
            return int(line)
    return None
