"""FX graphs as plain data: what each node calls, on what, from which line. Holds no graph and no tensor.

The results that the compiler wrote beside the nodes are fake tensors: shapes and dtypes without bytes. A
symbolic size stays a text, because comparing one would add a guard.

Source: torch 2.13, torch/fx/node.py; torch/_dynamo/output_graph.py.
"""

import re
from typing import Any

import torch

from .guards import readable

MOST_NODES = 200
_MOST_TEXT = 120
_CALLS = ("call_function", "call_method", "call_module")
_WHERE = re.compile(r'File "(.+?)", line (\d+), in ')
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
    if isinstance(target, str):
        return target
    if type(target).__name__ in ("OpOverload", "OpOverloadPacket"):
        return str(target)
    name = getattr(target, "__name__", None) or getattr(target, "_name", None) or str(target)
    module = getattr(target, "__module__", None) or "torch"
    module = _MODULES.get(module, module)
    if getattr(torch, name, None) is target or module.startswith("torch._ops"):
        module = "torch"
    return f"{module}.{name}" if module else str(name)


def _name_of(source: Any) -> str:
    name = source.name
    return str(name() if callable(name) else name)


def _arguments(args: Any, kwargs: Any) -> str:
    parts = [_text(value) for value in args]
    parts += [f"{name}={_text(value)}" for name, value in kwargs.items()]
    text = ", ".join(parts)
    return text if len(text) <= _MOST_TEXT else text[: _MOST_TEXT - 1] + "…"


def _text(value: Any) -> str:
    if type(value) in (tuple, list) or type(value).__name__.startswith("immutable_"):
        if isinstance(value, dict):
            return "{" + ", ".join(f"{k}: {_text(v)}" for k, v in value.items()) + "}"
        inner = ", ".join(_text(each) for each in value)
        return f"[{inner}]" if isinstance(value, list) else f"({inner}{',' if len(value) == 1 else ''})"
    if isinstance(value, torch.fx.Node):
        return str(value.name)
    if value is None or isinstance(value, bool | int | float | complex | torch.dtype | torch.device):
        return str(value)
    if isinstance(value, str):
        return repr(value[:_MOST_TEXT])
    return type(value).__name__


def _result(meta: dict[str, Any]) -> tuple[list[int | str] | None, str | None]:
    value = meta.get("val", meta.get("example_value"))
    if isinstance(value, torch.Tensor):
        sizes = [size if type(size) is int else str(size) for size in value.shape]
        return sizes, str(value.dtype).removeprefix("torch.")
    if value is None or isinstance(value, tuple | list):
        return None, None
    return None, type(value).__name__


def _line(node: Any, program: str) -> int | None:
    """The innermost line of the program; the stack ends with the newest call."""
    for file, line in reversed(_WHERE.findall(node.stack_trace or "")):
        if file == program:
            return int(line)
    return None
