"""Writes the tables that pin our cell arithmetic and our decoding of bytes to PyTorch's.

    python tests/data/make_layout_tables.py          rewrites them all

`strides.json`: views with, for each element in order, the cell it lies in. No stride is multiplied
here: the storage holds 0, 1, 2, … and PyTorch reads the view. `values.json`: bytes and what PyTorch
reads there, per dtype. `overlaps.json`: cells that a window of another width writes to. `tiles.json`: grids of
tiles, with the tile that each of some cells lies in. They are read by tests in Python and in TypeScript. No test runs this file
except to see that the tables are what it would write.
"""

import json
import math
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from tensor_anatomy.schema import TileGrid
from tensor_anatomy.schema.tiles import figures_of
from tensor_anatomy.tracing.reading import memory_at
from tensor_anatomy.tracing.tiles import row_length, tiles

HERE = Path(__file__).parent

NAMED: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "x": lambda s: s[:12].view(3, 4),
    "x.t()": lambda s: s[:12].view(3, 4).t(),
    "x[1:, ::2]": lambda s: s[:12].view(3, 4)[1:, ::2],
    "0-d": lambda s: s[5],
    "size 0": lambda s: s[:12].view(3, 4)[:, 2:2],
    "one element": lambda s: s[7:8].view(1, 1, 1),
    "expand": lambda s: s[2:5].view(3, 1).expand(3, 4),
    "expand 0-d": lambda s: s[3].expand(2, 2),
    "unfold": lambda s: s[:10].unfold(0, 4, 2),
    "overlap": lambda s: s.as_strided((4, 3), (1, 1), 2),
    "overlap, not by one": lambda s: s.as_strided((3, 3), (2, 3), 1),
    "diagonal": lambda s: s[:16].view(4, 4).diagonal(),
    "channels last": lambda s: s[:24].view(1, 2, 3, 4).permute(0, 3, 1, 2),
    "permute": lambda s: s[:24].view(2, 3, 4).permute(2, 0, 1),
    "column": lambda s: s[:12].view(3, 4)[:, 1],
    "strided blocks": lambda s: s.as_strided((2, 2, 2), (12, 5, 2), 1),
}
"""Views of a storage of 30 elements."""

FLOATS = [0.0, -0.0, 1.0, -1.5, 0.1, 3.14159265, 1e-8, 65504.0, 1e30, math.inf, -math.inf, math.nan]
BYTE_FLOATS = ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu")
INTS = {
    "int8": [-128, -1, 0, 1, 127],
    "uint8": [0, 1, 200, 255],
    "int16": [-32768, -2, 300, 32767],
    "uint16": [0, 40000, 65535],
    "int32": [-(2**31), -7, 0, 2**31 - 1],
    "uint32": [0, 3_000_000_000, 2**32 - 1],
    "int64": [-(2**63), -(2**53), -1, 0, 12, 2**53, 2**53 + 1, 2**63 - 1],
    "uint64": [0, 2**53 + 1, 2**64 - 1],
}


def views() -> Iterator[tuple[str, torch.Tensor]]:
    """Yield the named views, 120 random ones and 120 random windows."""
    for name, make in NAMED.items():
        yield name, make(torch.arange(30))
    chance = random.Random(0)
    for number in range(120):
        yield f"random {number}", random_view(chance)
    for number in range(120):
        yield f"window {number}", random_window(chance)


def random_view(chance: random.Random) -> torch.Tensor:
    """Make a view by a few random view operations on a block of random shape."""
    shape = [chance.randint(1, 4) for _ in range(chance.randint(1, 4))]
    size = torch.Size(shape).numel()
    view = torch.arange(size + chance.randint(0, 5))[:size].view(shape)
    for _ in range(chance.randint(1, 4)):
        d = chance.randrange(view.dim()) if view.dim() else 0
        match chance.choice(["permute", "slice", "step", "expand", "select", "unfold"]):
            case "permute":
                view = view.permute(*chance.sample(range(view.dim()), view.dim()))
            case "slice" if view.dim():
                view = view.narrow(d, chance.randrange(view.shape[d] or 1), 0 if view.shape[d] == 0 else 1)
            case "step" if view.dim():
                view = view[(slice(None),) * d + (slice(None, None, 2),)]
            case "expand":
                view = view.unsqueeze(0).expand(chance.randint(1, 3), *view.shape)
            case "select" if view.dim() > 1 and view.shape[d]:
                view = view.select(d, chance.randrange(view.shape[d]))
            case "unfold" if view.dim() and view.shape[d] >= 2:
                view = view.unfold(d, 2, 1)
    return view


def random_window(chance: random.Random, dtype: torch.dtype = torch.int64) -> torch.Tensor:
    """Make a window of any form: 0-d, sizes of 0 and 1, strides of 0, elements that overlap."""
    shape = [chance.choice((0, 1, 2, 2, 3, 4)) for _ in range(chance.randint(0, 4))]
    stride = [chance.choice((0, 1, 1, 2, 3, 5)) for _ in shape]
    offset = chance.randint(0, 4)
    last = offset + sum(max(n - 1, 0) * s for n, s in zip(shape, stride, strict=True))
    size = last + 1 + chance.randint(0, 4)
    return torch.arange(size, dtype=dtype).as_strided(shape, stride, offset)


def overlap_rows() -> list[dict[str, Any]]:
    """Describe windows on cells of another width, and which cells share a byte with one of their elements.

    PyTorch finds them: it writes through the window, and cells of the zeroed storage are zero no more.
    """
    chance = random.Random(1)
    rows = []
    for number in range(80):
        item, cell = chance.sample((torch.uint8, torch.int16, torch.int32, torch.int64), 2)
        window = random_window(chance, item)
        nbytes = -(-window.untyped_storage().nbytes() // 8) * 8
        stored = torch.zeros(nbytes, dtype=torch.uint8)
        place = (window.shape, window.stride(), window.storage_offset())
        stored.view(item).as_strided(*place).fill_(255 if item == torch.uint8 else -1)
        rows.append(
            {
                "name": f"window {number} of {item} on {cell}",
                "shape": list(window.shape),
                "stride": list(window.stride()),
                "offset": window.storage_offset(),
                "item": item.itemsize,
                "cell": cell.itemsize,
                "covered": (stored.view(cell) != 0).int().tolist(),
            }
        )
    return rows


def stride_rows() -> list[dict[str, Any]]:
    """Describe each view and where PyTorch finds its elements."""
    return [
        {
            "name": name,
            "shape": list(view.shape),
            "stride": list(view.stride()),
            "offset": view.storage_offset(),
            "size": view.untyped_storage().nbytes() // view.element_size(),
            "cells": view.flatten().tolist(),
        }
        for name, view in views()
    ]


def value_rows() -> list[dict[str, Any]]:
    """For each dtype, bytes in hexadecimal and the values PyTorch reads there."""
    rows = [tensor_row(torch.tensor(FLOATS, dtype=dtype)) for dtype in (torch.float64, torch.float32)]
    rows += [tensor_row(torch.tensor(FLOATS).to(dtype)) for dtype in (torch.float16, torch.bfloat16)]
    every_byte = torch.arange(256, dtype=torch.uint8)
    rows += [tensor_row(every_byte.view(getattr(torch, name))) for name in BYTE_FLOATS]
    rows += [tensor_row(torch.tensor(values, dtype=getattr(torch, name))) for name, values in INTS.items()]
    rows.append(tensor_row(torch.tensor([True, False])))
    z = torch.tensor([1 + 2j, -0.5 - 0.25j, complex(0, float("inf"))], dtype=torch.complex64)
    rows += [tensor_row(z), tensor_row(z.to(torch.complex128)), tensor_row(z.to(torch.complex32))]
    rows += [tensor_row(z[:2].conj()), tensor_row(torch._neg_view(z[:2])), tensor_row(z[:2].conj().imag)]
    return rows


def tensor_row(tensor: torch.Tensor) -> dict[str, Any]:
    """Read a contiguous tensor's bytes, and its values through the widest dtype that holds them."""
    size, stride = tensor.element_size(), (tensor.stride() or (1,))[0]
    stored = bytes(tensor.untyped_storage())
    start = tensor.storage_offset() * size
    pieces = [stored[start + i * stride * size :][:size].hex() for i in range(tensor.numel())]
    return {
        "dtype": str(tensor.dtype),
        "is_conj": tensor.is_conj(),
        "is_neg": tensor.is_neg(),
        "bytes": pieces,
        "values": [plain(value) for value in read(tensor)],
    }


def tile_rows() -> list[dict[str, Any]]:
    """Grids of storages of several forms, with what they say."""
    ramp = torch.arange(6000, dtype=torch.float32)
    odd = torch.linspace(-2, 2, 6000).view(60, 100).clone()
    odd[:7, :13], odd[30, 30], odd[59, 99] = math.nan, math.inf, -math.inf
    tensors = {
        "one row": ramp,
        "rows": ramp.view(60, 100),
        "transposed": ramp.view(60, 100).t(),
        "rows that do not fill the storage": ramp[: 59 * 101].view(59, 101),
        "not finite": odd,
        "one value": torch.full((60, 100), 0.1),
        "far apart": torch.tensor([-1e300, 1e-40, 3.0, 1e300], dtype=torch.float64).repeat(1500).view(60, 100),
        "integers": torch.arange(6000, dtype=torch.int64).view(120, 50) * 977,
    }
    return [tile_row(name, t) for name, t in tensors.items()]


def tile_row(name: str, t: torch.Tensor) -> dict[str, Any]:
    """The grid of a tensor's storage; PyTorch cuts the cells, no cell is divided here."""
    storage = t.untyped_storage()
    memory = memory_at(storage.data_ptr(), storage.nbytes())
    grid = tiles(memory, str(t.dtype), row_length(tuple(t.shape), t.stride()) or storage.nbytes())
    assert grid is not None
    figures = [list(map(plain, each)) for each in figures_of(TileGrid.model_validate(grid))]
    rows = -(-grid["cells"] // grid["columns"])
    cells = torch.arange(rows * grid["columns"]).view(rows, grid["columns"])
    at, tile = {}, 0
    for band in cells.split(grid["height"], 0):
        for piece in band.split(grid["width"], 1):
            own = [cell for cell in piece.flatten().tolist() if cell < grid["cells"]]
            at.update(dict.fromkeys([*own[:2], *own[-2:]], tile))
            tile += 1
    return {"name": name, "grid": grid, "figures": figures, "at": sorted(at.items())}


def read(tensor: torch.Tensor) -> list[Any]:
    """Let PyTorch read the values."""
    if tensor.dtype == torch.complex32:
        tensor = tensor.to(torch.complex64)
    elif tensor.dtype.is_floating_point and tensor.dtype != torch.float64:
        tensor = tensor.to(torch.float64)
    values: list[Any] = tensor.resolve_conj().resolve_neg().tolist()
    return values


def plain(value: Any) -> Any:
    """Write a value as the state document does: strings for what JSON or JavaScript would lose."""
    if isinstance(value, complex):
        return [plain(value.real), plain(value.imag)]
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, int) and abs(value) > 2**53:
        return str(value)
    return value


def text(rows: list[dict[str, Any]]) -> str:
    """Write one row a line, so that a change shows as the rows it changes."""
    return "[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n"


def main() -> None:
    """Rewrite the tables."""
    (HERE / "overlaps.json").write_text(text(overlap_rows()), encoding="utf-8")
    (HERE / "strides.json").write_text(text(stride_rows()), encoding="utf-8")
    (HERE / "values.json").write_text(text(value_rows()), encoding="utf-8")
    (HERE / "tiles.json").write_text(text(tile_rows()), encoding="utf-8")


if __name__ == "__main__":
    main()
