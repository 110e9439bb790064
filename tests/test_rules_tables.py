"""What the what-if panel says of views, against PyTorch: every row of its tables, and every call, run.

The browser's side passes the same tables (`tests/js/layout-rules.test.ts`).
"""

import json
import runpy
from pathlib import Path
from typing import Any

import pytest
import torch

DATA = Path(__file__).parent / "data"
CALLS: list[dict[str, Any]] = json.loads((DATA / "calls.json").read_text(encoding="utf-8"))


def view_of(row: dict[str, Any], storage: torch.Tensor) -> torch.Tensor:
    """Place a view on a storage."""
    return storage.as_strided(row["shape"], row["stride"], row["offset"])


@pytest.mark.parametrize("row", CALLS, ids=lambda row: row["name"])
def test_the_call_found_gives_the_view_it_was_found_for(row: dict[str, Any]) -> None:
    """Strides of dimensions of size 1 are never used; without elements no stride is."""
    storage = torch.arange(64)
    x = view_of(row["base"], storage)
    found = eval(row["call"], {"x": x, "torch": torch})
    target = row["target"]
    assert found.untyped_storage().data_ptr() == storage.untyped_storage().data_ptr()
    assert (list(found.shape), found.storage_offset()) == (target["shape"], target["offset"])
    used = [d for d, size in enumerate(target["shape"]) if size > 1 and 0 not in target["shape"]]
    assert [found.stride(d) for d in used] == [target["stride"][d] for d in used]


def test_what_one_call_made_is_never_told_as_as_strided() -> None:
    plain = [row for row in CALLS if not row["name"].startswith(("chain", "window", "torch.as_strided"))]
    chains = [row for row in CALLS if row["name"].startswith("chain")]
    assert len(plain) >= 20
    assert not [row for row in plain if "as_strided" in row["call"]]
    assert sum("as_strided" in row["call"] for row in chains) <= len(chains) / 50


def test_the_rules_are_what_torch_answers_now() -> None:
    """A new release of PyTorch with other rules shows here; so does a table that was not written anew."""
    made = runpy.run_path(str(DATA / "make_rules_tables.py"))
    rows = made["rule_rows"]()
    assert made["text"](rows) == (DATA / "rules.json").read_text(encoding="utf-8"), "run make_rules_tables.py"
    refused = [view for row in rows for view in row["views"] if view["stride"] is None]
    assert len(rows) > 350
    assert len(refused) > 100
    assert sum(row["overlaps"] for row in rows) > 50


def test_casts_are_what_torch_stores_now() -> None:
    made = runpy.run_path(str(DATA / "make_rules_tables.py"))
    rows = made["cast_rows"]()
    assert made["text"](rows) == (DATA / "casts.json").read_text(encoding="utf-8"), "run make_rules_tables.py"
    assert all(float.fromhex(row["hex"]) == row["value"] for row in rows)
