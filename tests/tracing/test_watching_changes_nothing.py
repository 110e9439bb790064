"""A program ends in the same state watched and unwatched: values, versions, generators, output, error."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from tensor_anatomy.schema import RunRequest
from tensor_anatomy.tracing.session import record_program

from ..conftest import LIMITS
from .children import in_child
from .test_cases import CASES, UNBOUNDED
from .test_examples import INPLACE, MATMUL, MLP, TRAIN, VIEWS

UNSEEDED = {"empty", "torch.Tensor(3)"}
"""Words of programs that read what no seed fixes: uninitialised memory."""

KNOWN_EFFECTS = {"c060": "the engine sums gradients out of place under a dispatch mode: .grad has version 0"}
"""Cases that watching does change, and how. The second run is there to tell the reader."""


def closing(source: str, *, observed: bool) -> dict[str, Any]:
    payloads: list[bytes] = []
    request = RunRequest(source=source, device="cpu", seed=7, limits=LIMITS, observed=observed)
    record_program(request, payloads.append)
    last: dict[str, Any] = json.loads(payloads[-1])
    if last["outcome"]["type"] == "RecursionError":
        # Which call is one too many depends on the frames below the program, and so does the text.
        last["fingerprint"]["error"] = last["outcome"]["message"] = "RecursionError"
    return last


def both(source: str) -> list[Any]:
    runs: list[Callable[[], Any]] = [
        lambda: closing(source, observed=True),
        lambda: closing(source, observed=False),
    ]
    return [in_child(run) for run in runs]


@pytest.mark.parametrize(
    "source",
    [VIEWS, MLP, MATMUL, INPLACE, TRAIN],
    ids=["views", "mlp", "matmul", "in-place", "training"],
)
def test_values_versions_generators_and_output_are_the_same(source: str) -> None:
    watched, plain = both(source)

    assert watched["fingerprint"] == plain["fingerprint"]
    for field in ("kind", "type", "message", "line", "range", "traceback"):
        assert watched["outcome"][field] == plain["outcome"][field]


@pytest.mark.slow
@pytest.mark.parametrize(
    "case",
    [
        pytest.param(
            case,
            id=case["id"],
            marks=[pytest.mark.xfail(reason=KNOWN_EFFECTS[case["id"]])]
            if case["id"] in KNOWN_EFFECTS
            else [],
        )
        for case in CASES
        if not any(limit in case["expect"].get("limits", {}) for limit in UNBOUNDED)
        and not any(word in case["source"] for word in UNSEEDED)
    ],
)
def test_cases_end_the_same_watched_and_unwatched(case: dict[str, Any]) -> None:
    watched, plain = both(case["source"])

    assert watched["fingerprint"] == plain["fingerprint"]


def test_the_fingerprint_sees_a_single_changed_value() -> None:
    _, one = both("import torch\nx = torch.arange(3.)\n")
    _, other = both("import torch\nx = torch.arange(3.)\nx.data[1] = 9\n")

    assert one["fingerprint"]["tensors"] != other["fingerprint"]["tensors"]
