"""T3: what a line costs, what an aten op costs, and whether a long loop stays as cheap as it began.

Run as a module of its own it is the child that takes the times. A line's and an op's cost are what tracing
adds: traced minus plain. An op's is the difference between lines of nine ops and lines of one.
"""

import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from . import marks
from .child import chunks_of, cpu_ms, get_ready, in_child, request_of
from .programs import source_of
from .report import Figure, figure

TITLE = "µs per line and per aten op; a loop of 10,000 iterations"

TURNS = 7
LOOP_TURNS = 3
REPEATS = 400
FEW, MANY = 1, 9
"""Ops in a line."""

ENDLESS: dict[str, Any] = {"steps_kept": 1 << 30, "trace_bytes": 1 << 40}
"""No step is folded: the loop's cost shows unmixed."""


def measure() -> Iterator[Figure]:
    """All from one child."""
    taken = in_child("t3_unit_costs", seconds=400)
    yield figure("a line with Python numbers only", "µs", taken["line"], at_most=60)
    yield figure("a line with one tensor op", "µs", taken["tensor_line"])
    yield figure("one more aten op in a line", "µs", taken["op"], at_most=25)
    yield figure("one more in-place op in a line", "µs", taken["in_place_op"], at_most=25)
    yield figure("loop, as served (later steps folded)", "s", taken["served"]["s"], at_most=2.5)
    yield figure("  last tenth ÷ first tenth", "x", taken["served"]["flat"], at_most=1.2)
    yield figure("loop, every step kept", "s", taken["kept"]["s"])
    yield figure("  last tenth ÷ first tenth", "x", taken["kept"]["flat"], at_most=1.2)
    yield figure("loop that grows a graph, as served", "s", taken["graph_served"]["s"])
    yield figure("  last tenth ÷ first tenth", "x", taken["graph_served"]["flat"])
    yield figure("loop that grows a graph, every step kept", "s", taken["graph"]["s"])
    yield figure("  last tenth ÷ first tenth", "x", taken["graph"]["flat"], at_most=1.2)


def _ops_line(ops: int) -> str:
    return _repeated("y = x" + " + 1" * ops)


def _in_place_line(ops: int) -> str:
    return _repeated("x" + ".add_(1)" * ops)


def _repeated(line: str) -> str:
    return f"import torch\nx = torch.zeros(3)\nfor i in range({REPEATS}):\n    {line}\n"


def _added_ms(source: str) -> float:
    code = compile(source, "program.py", "exec")
    plain = cpu_ms(lambda: exec(code, {"__name__": "__main__"}))
    return cpu_ms(lambda: chunks_of(request_of(source))) - plain


def _loop(name: str, **limits: Any) -> dict[str, list[float]]:
    taken: dict[str, list[float]] = {"s": [], "flat": []}
    request = request_of(source_of(name), **limits)
    for _ in range(LOOP_TURNS):
        taken["s"].append(cpu_ms(lambda: chunks_of(request)) / 1000)
        tenths = [after - before for before, after in pairwise(marks.TIMES)]
        taken["flat"].append(tenths[-1] / tenths[0])
    return taken


def _child() -> None:
    get_ready()
    lines: list[float] = []
    tensor_lines: list[float] = []
    ops: list[float] = []
    in_place_ops: list[float] = []
    for _ in range(TURNS):
        # 400 iterations of a header and three lines
        lines.append(_added_ms(source_of("lines")) * 1000 / (400 * 4))
        few, many = _added_ms(_ops_line(FEW)), _added_ms(_ops_line(MANY))
        header = lines[-1] / 1000
        tensor_lines.append((few / REPEATS - header) * 1000)
        ops.append((many - few) * 1000 / REPEATS / (MANY - FEW))
        written = _added_ms(_in_place_line(MANY)) - _added_ms(_in_place_line(FEW))
        in_place_ops.append(written * 1000 / REPEATS / (MANY - FEW))
    units = {"line": lines, "tensor_line": tensor_lines, "op": ops, "in_place_op": in_place_ops}
    loops = {
        "served": _loop("loop"),
        "kept": _loop("loop", **ENDLESS),
        "graph_served": _loop("graph_loop"),
        "graph": _loop("graph_loop", **ENDLESS),
    }
    print(json.dumps({**units, **loops}))


if __name__ == "__main__":
    _child()
