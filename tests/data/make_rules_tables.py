"""Writes the tables that pin the what-if panel to PyTorch: what a view allows, and which call gives it.

    python tests/data/make_rules_tables.py          rewrites all three

`rules.json`: views, with what PyTorch answers of each: contiguous, dense, overlapping, and the strides
of `view(shape)` or null where it raises. `calls.json`: from one view of a storage to another, and the call
that `static/src/layout/calls.ts` finds (Node runs it). The call is not taken on trust:
`test_rules_tables.py` runs it. `casts.json`: values and their bytes in each dtype.
"""

import itertools
import json
import random
import runpy
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
LAYOUTS = runpy.run_path(str(HERE / "make_layout_tables.py"))
views, random_window, text = LAYOUTS["views"], LAYOUTS["random_window"], LAYOUTS["text"]

# Each must be found again as it is written, but for those that have a shorter name.
PLAIN = (
    "x",
    "x.t()",
    "x[1]",
    "x[1:]",
    "x[:, 1]",
    "x[1:, ::2]",
    "x[1, 2]",
    "x[:, 1:3]",
    "x[1:, ::2].t()",
    "x[None]",
    "x.view(-1)",
    "x.view(6, 2)",
    "x.view(2, 6)",
    "x.view(2, 2, 3)",
    "x.view(-1)[::5]",
    "x.view(-1)[1:9]",
    "x.view(-1)[1::3]",
    "x[0].expand(2, 4)",
    "x[:, 1:2].expand(3, 5)",
    "x.diagonal()",
    "x.diagonal(1)",
    "x.unfold(1, 2, 1)",
    "x.unfold(0, 2, 1)",
    "x.view(-1).unfold(0, 4, 2)",
    "x.view(2, 6).t()",
    "torch.as_strided(x, (2, 3), (1, 1), 3)",
)
"""Of `x`, contiguous, 3 by 4."""


def rule_rows() -> list[dict[str, Any]]:
    """What PyTorch answers of each view, and of each asked to be another shape."""
    chance = random.Random(7)
    rows = []
    for name, view in itertools.chain(views(), windows(chance)):
        wanted = [shape_of(chance, view) for _ in range(2)]
        rows.append(
            {
                "name": name,
                **described(view),
                "contiguous": view.is_contiguous(),
                "channels_last": view.dim() == 4 and view.is_contiguous(memory_format=torch.channels_last),
                "dense": torch.ops.aten.is_non_overlapping_and_dense(view),
                "overlaps": view.numel() > len(set(view.flatten().tolist())),
                "views": [{"shape": shape, "stride": viewed(view, shape)} for shape in wanted],
            }
        )
    return rows


def windows(chance: random.Random) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield permuted and merged blocks, as `view` meets them, and images in channels_last."""
    for number in range(120):
        shape = [chance.choice((1, 2, 3, 4)) for _ in range(chance.randint(2, 4))]
        block = torch.arange(torch.Size(shape).numel()).view(shape)
        if chance.random() < 0.6:
            block = block.permute(*chance.sample(range(len(shape)), len(shape)))
        if chance.random() < 0.4:
            block = block[1:] if block.shape[0] > 1 else block
        yield f"block {number}", block
    for number in range(12):
        shape = [chance.choice((1, 2, 3)) for _ in range(4)]
        image = torch.arange(torch.Size(shape).numel()).view(shape)
        yield f"image {number}", image.contiguous(memory_format=torch.channels_last)


def shape_of(chance: random.Random, view: torch.Tensor) -> list[int]:
    """Return a shape to ask for: mostly one with as many elements."""
    if chance.random() < 0.1:
        return [chance.randint(0, 4) for _ in range(chance.randint(0, 3))]
    rest, shape = view.numel(), []
    while rest > 1 and len(shape) < 4:
        size = chance.choice([n for n in range(1, rest + 1) if rest % n == 0])
        shape.append(size)
        rest //= size
    shape.append(rest)
    if len(view.shape) > 1 and chance.random() < 0.3:
        at = chance.randrange(view.dim() - 1)
        return [*view.shape[:at], view.shape[at] * view.shape[at + 1], *view.shape[at + 2 :]]
    chance.shuffle(shape)
    return shape


def viewed(view: torch.Tensor, shape: list[int]) -> list[int] | None:
    """Return the strides of the view's view; None where PyTorch raises."""
    try:
        return list(view.view(shape).stride())
    except RuntimeError:
        return None


def described(view: torch.Tensor) -> dict[str, Any]:
    """Return the three that place elements."""
    return {"shape": list(view.shape), "stride": list(view.stride()), "offset": view.storage_offset()}


def pairs() -> Iterator[tuple[str, torch.Tensor, torch.Tensor]]:
    """Yield a view of a storage, and another of the same storage."""
    x = torch.arange(12).view(3, 4)
    for call in PLAIN:
        yield call, x, eval(call, {"x": x, "torch": torch})
    chance = random.Random(11)
    for number in range(220):
        shape = [chance.randint(1, 4) for _ in range(chance.randint(1, 3))]
        base = torch.arange(torch.Size(shape).numel()).view(shape)
        if chance.random() < 0.3:
            base = base.permute(*chance.sample(range(len(shape)), len(shape)))
        other = base
        for _ in range(chance.randint(1, 3)):
            other = changed(chance, other)
        yield f"chain {number}", base, other
    for number in range(80):
        window = random_window(chance)
        cells = window.untyped_storage().nbytes() // 8
        yield f"window {number}", torch.arange(cells), window


def changed(chance: random.Random, view: torch.Tensor) -> torch.Tensor:
    """Apply one random view operation."""
    d = chance.randrange(view.dim()) if view.dim() else 0
    moves: list[Callable[[], torch.Tensor]] = [lambda: view.unsqueeze(chance.randint(0, view.dim()))]
    if view.dim():
        moves += [
            lambda: view.permute(*chance.sample(range(view.dim()), view.dim())),
            lambda: view[(slice(None),) * d + (slice(chance.randint(0, view.shape[d] - 1), None),)],
            lambda: view[(slice(None),) * d + (slice(None, None, 2),)],
            lambda: view.select(d, chance.randrange(view.shape[d])),
            lambda: view[None].expand(2, *view.shape) if view.dim() < 4 else view,
            lambda: view.unfold(d, 2, 1) if view.shape[d] >= 2 and view.dim() < 4 else view,
            lambda: view.diagonal() if view.dim() >= 2 else view,
        ]
    return chance.choice(moves)()


def call_rows() -> list[dict[str, Any]]:
    """Describe each pair, with the call that the front end finds."""
    rows = [{"name": name, "base": described(a), "target": described(b)} for name, a, b in pairs()]
    for row, call in zip(rows, found(rows), strict=True):
        row["call"] = call
    return rows


def found(rows: list[dict[str, Any]]) -> list[str]:
    """Ask the front end, in Node."""
    program = (
        'import { callFor } from "./static/src/layout/calls";'
        f"console.log(JSON.stringify({json.dumps(rows)}.map((row) => callFor(row.base, row.target, 'x').text)));"
    )
    build = ["node_modules/.bin/esbuild", "--bundle", "--platform=node", "--loader=ts"]
    script = subprocess.run(build, input=program, capture_output=True, text=True, check=True, cwd=ROOT).stdout
    answer = subprocess.run(["node", "-"], input=script, capture_output=True, text=True, check=True, cwd=ROOT).stdout
    calls: list[str] = json.loads(answer)
    return calls


CAST_TO = (
    "float64",
    "float32",
    "float16",
    "bfloat16",
    "float8_e4m3fn",
    "float8_e5m2",
    "float8_e4m3fnuz",
    "float8_e5m2fnuz",
    "int64",
    "int32",
    "int16",
    "int8",
    "uint8",
    "bool",
)
VALUES = (0.0, -0.0, 1.0, 1.5, -2.0, 0.1, 1 / 3, 3.14159265, 100.0, 127.0, -128.0, 255.0, 2.5, 3.5, 448.0)
EDGES = (449.0, 464.0, 465.0, 57344.0, 61440.0, 65504.0, 65520.0, 1e-3, 2**-9, 2**-10, 2**-17, 1e-8, 1e5, 1e30)


def cast_rows() -> list[dict[str, Any]]:
    """Values and the bytes they have in each dtype; null where an integer dtype cannot hold them."""
    chance = random.Random(3)
    values = [*VALUES, *EDGES, *(-value for value in EDGES)]
    values += [chance.choice((-1, 1)) * chance.random() * 10.0 ** chance.randint(-9, 6) for _ in range(120)]
    # Halves of what the fraction can say: ties.
    values += [(16 + odd + 0.5) * 2.0**power for odd in range(8) for power in (-12, -6, -1, 3)]
    return [
        {"value": value, "hex": value.hex(), "bytes": {name: stored(value, name) for name in CAST_TO}}
        for value in values
    ]


def stored(value: float, name: str) -> str | None:
    """Let PyTorch store a value."""
    dtype = getattr(torch, name)
    if name.startswith(("int", "uint")):
        limits = torch.iinfo(dtype)
        if not limits.min <= int(value) <= limits.max:
            return None
    tensor = torch.tensor(value, dtype=torch.float64).to(dtype)
    return bytes(tensor.untyped_storage()).hex()


def main() -> None:
    """Rewrite the tables."""
    (HERE / "casts.json").write_text(text(cast_rows()), encoding="utf-8")
    (HERE / "rules.json").write_text(text(rule_rows()), encoding="utf-8")
    (HERE / "calls.json").write_text(text(call_rows()), encoding="utf-8")


if __name__ == "__main__":
    main()
