"""What is said of tensors too large to keep: figures of a sample, and how its values are spread."""

from typing import Any

import pytest
import torch
from tensor_anatomy.schema import Histogram
from tensor_anatomy.tracing.reading import summary


def spread(t: torch.Tensor) -> dict[str, Any]:
    found = summary(t)
    assert found is not None
    return found["histogram"]


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.randn(2000),
        lambda: torch.randn(64, 64).t(),
        lambda: torch.randint(-5, 90, (3000,)),
        lambda: torch.rand(60, 60, dtype=torch.float64)[::2],
        lambda: torch.randn(2048).to(torch.bfloat16),
        lambda: torch.rand(1500) > 0.7,
    ],
    ids=["floats", "transposed", "integers", "sliced", "bfloat16", "booleans"],
)
def test_the_bins_of_all_values_are_those_of_torch_histc(make):
    t = make()
    values = t.to(torch.float64).reshape(-1)
    found = spread(t)

    Histogram.model_validate(found)
    assert (found["low"], found["high"]) == (values.min().item(), values.max().item())
    # A value on an edge may fall to either side.
    expected = torch.histc(values, len(found["counts"]), found["low"], found["high"])
    assert torch.tensor(found["counts"]).cumsum(0).sub(expected.cumsum(0)).abs().max() <= len(values) * 0.05
    assert sum(found["counts"]) == len(values) and found["others"] == 0


def test_of_a_million_values_about_four_thousand_are_counted_wherever_they_lie():
    found = spread(torch.arange(1_000_000.0).reshape(1000, 1000))
    counted = sum(found["counts"])
    assert 2_000 <= counted <= 4_096
    assert found["low"] < 50_000 and found["high"] > 950_000
    assert max(found["counts"]) < 2 * counted / len(found["counts"])  # even values, even bins


def test_what_is_not_finite_is_counted_apart():
    t = torch.linspace(0, 1, 2000)
    t[:3] = torch.tensor([float("nan"), float("inf"), float("-inf")])
    found = spread(t)
    assert found["others"] == 3 and sum(found["counts"]) == 1997


def test_a_tensor_of_one_value_has_one_bin_and_one_without_finite_values_none():
    assert spread(torch.full((2000,), 7.0)) == {"low": 7.0, "high": 7.0, "counts": [2000], "others": 0}
    assert spread(torch.full((2000,), float("nan"))) is None
    assert spread(torch.randn(2000, dtype=torch.complex64)) is None
    assert spread(torch.tensor([-1.7e308, 1.7e308]).repeat(1000).to(torch.float64)) is None  # infinitely wide


def test_subnormal_values_are_binned_too():
    tiny = torch.tensor([0.0, 5e-324, 1e-323], dtype=torch.float64).repeat(700)
    assert sum(spread(tiny)["counts"]) == 2100
