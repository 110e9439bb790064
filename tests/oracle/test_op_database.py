"""PyTorch's own operator database through the tracer: what it tells is so, and watching changes nothing.

The walk is a program of its own (`python -m tests.oracle`), so that the database is imported and modes are
entered in another process than this one.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from .exclusions import FORWARD, LONGER, NOT_ON_THE_CPU

ROOT = Path(__file__).parents[2]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1500)]


@pytest.fixture(scope="module")
def forward() -> dict[str, Any]:
    """The walk over all entries with all their forward samples in the default dtype."""
    command = [sys.executable, "-m", "tests.oracle", "forward", "--json"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert ran.returncode in (0, 1), ran.stderr[-3000:]
    report: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return report


def test_traces_of_the_operator_database_tell_what_pytorch_did_and_change_nothing(
    forward: dict[str, Any],
) -> None:
    assert not forward["faults"], "\n".join(forward["faults"])


def test_every_entry_of_the_database_is_called(forward: dict[str, Any]) -> None:
    assert set(forward["without"]) == set(NOT_ON_THE_CPU)
    assert forward["entries"] + len(forward["without"]) >= 702


def test_the_walk_compares_as_much_as_it_says(forward: dict[str, Any]) -> None:
    """A rig that stopped comparing would find nothing either."""
    count = forward["count"]
    assert count["calls"] > 18_000
    assert count["ops"] > 50_000
    assert count["verdicts"] > 60_000
    assert count["values"] > 50_000
    assert count["apis"] > 2_000
    for kind, least in (("fresh", 40_000), ("view", 12_000), ("in-place", 1_500)):
        assert count["kinds"][kind] > least


def test_every_exclusion_has_a_reason_and_a_cause() -> None:
    for line in (*FORWARD, *LONGER):
        assert line.cause in ("unsteady", "any mode")
        assert len(line.reason) > 20
