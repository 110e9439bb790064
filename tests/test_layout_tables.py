"""Where elements lie and what their bytes mean, against tables that PyTorch computed.

The browser's twins of `schema/values.py` pass the same tables (`tests/js/layout-*.test.ts`).
"""

import json
import math
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tensor_anatomy.schema import TensorView
from tensor_anatomy.schema.values import values_of

DATA = Path(__file__).parent / "data"
TABLES = (
    ("strides.json", "stride_rows"),
    ("values.json", "value_rows"),
    ("overlaps.json", "overlap_rows"),
    ("tiles.json", "tile_rows"),
)


def rows(name: str) -> list[dict[str, Any]]:
    """The rows of a table."""
    table: list[dict[str, Any]] = json.loads((DATA / name).read_text(encoding="utf-8"))
    return table


def a_view(dtype: str, shape: list[int], stride: list[int], offset: int, **bits: bool) -> TensorView:
    """A strided view on the CPU."""
    return TensorView(
        shape=tuple(shape),
        stride=tuple(stride),
        storage_offset=offset,
        dtype=dtype,
        layout="torch.strided",
        device="cpu",
        is_contiguous=None,
        is_conj=bits.get("is_conj", False),
        is_neg=bits.get("is_neg", False),
        requires_grad=False,
        is_leaf=True,
    )


def leaves(nested: Any, depth: int) -> Iterator[Any]:
    """The elements of a nested list of `depth` levels, in order."""
    if depth == 0:
        yield nested
        return
    for part in nested:
        yield from leaves(part, depth - 1)


@pytest.mark.parametrize("row", rows("strides.json"), ids=lambda row: row["name"])
def test_an_element_lies_where_torch_reads_it(row: dict[str, Any]) -> None:
    """The storage holds 0, 1, 2, … so each value is its own cell."""
    view = a_view("torch.int16", row["shape"], row["stride"], row["offset"])
    stored = b"".join(cell.to_bytes(2, "little") for cell in range(row["size"]))
    assert list(leaves(values_of(view, stored), len(row["shape"]))) == row["cells"]


@pytest.mark.parametrize("row", rows("values.json"), ids=lambda row: row["dtype"])
def test_bytes_mean_what_torch_reads(row: dict[str, Any]) -> None:
    """Every dtype with a decoder, every pattern of the one-byte floats, the conj and neg bits."""
    view = a_view(row["dtype"], [len(row["bytes"])], [1], 0, is_conj=row["is_conj"], is_neg=row["is_neg"])
    values = values_of(view, bytes.fromhex("".join(row["bytes"])))
    assert [written(value) for value in values] == [written(value) for value in row["values"]]


def written(value: Any) -> Any:
    """A value so that 0 and -0 differ and 1 and 1.0 do not."""
    if isinstance(value, list):
        return [written(part) for part in value]
    if isinstance(value, (str, bool)):
        return value
    return (float(value), math.copysign(1.0, value))


@pytest.mark.filterwarnings("ignore:ComplexHalf")
def test_the_tables_are_what_torch_computes_now() -> None:
    """A new release of PyTorch that reads a byte otherwise shows here."""
    made = runpy.run_path(str(DATA / "make_layout_tables.py"))
    for name, make in TABLES:
        table = made["text"](made[make]())
        assert table == (DATA / name).read_text(encoding="utf-8"), "run make_layout_tables.py"
