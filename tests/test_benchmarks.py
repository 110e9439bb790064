"""That the benchmarks start and measure the programs that are tested. What they measure is not tested."""

import subprocess
import sys
from pathlib import Path

import pytest

from .tracing import test_examples as examples

ROOT = Path(__file__).resolve().parent.parent
SHARED = {
    "mlp": examples.MLP,
    "views": examples.VIEWS,
    "matmul": examples.MATMUL,
    "inplace": examples.INPLACE,
    "train": examples.TRAIN,
}


def test_there_is_a_benchmark_for_each_target() -> None:
    answer = subprocess.run(
        [sys.executable, "-m", "benchmarks", "--list"], cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert [line.split()[0] for line in answer.stdout.splitlines()] == [
        *(f"T{n}" for n in range(1, 8)),
        "LAYERS",
        "LOAD",
        "TABLE",
        "ENDURANCE",
    ]


def test_an_unknown_target_is_refused() -> None:
    answer = subprocess.run(
        [sys.executable, "-m", "benchmarks", "T8"], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert answer.returncode == 2
    assert "unknown: T8" in answer.stderr


@pytest.mark.parametrize("name", SHARED)
def test_the_programs_that_are_measured_are_those_that_are_tested(name: str) -> None:
    program = ROOT / "benchmarks" / "programs" / f"{name}.py"

    assert program.read_text().strip() == SHARED[name].strip()


@pytest.mark.parametrize("program", sorted((ROOT / "benchmarks" / "programs").glob("[a-z]*.py")))
def test_every_program_compiles(program: Path) -> None:
    compile(program.read_text(), program.name, "exec")
