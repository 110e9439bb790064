"""A program ends in the same state watched and unwatched, and on its way things die on the same lines.

Values, gradients, versions, strides, sharing, graph nodes, generators, output, warnings, exceptions; over
every program at hand. What does differ is in `KNOWN`, with its cause, and nothing else does.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from tensor_anatomy.execution.comparison import Place
from tensor_anatomy.lessons.catalog import load

from .test_cases import UNBOUNDED
from .twins import effects, ended

ROOT = Path(__file__).parent.parent.parent
DATA = ROOT / "tests" / "data"

ENGINE = (
    "the engine adds gradients into a new tensor under a dispatch mode: the version of `.grad` is smaller"
)
RESHAPE = "batched matmul reshapes by another node under a dispatch mode"
STACK = "frames of the modes count towards the recursion limit"

KNOWN: dict[str, tuple[set[Place], str]] = {
    "case c060": ({("version", "x.grad")}, ENGINE),
    "case c128": ({("traceback", None)}, STACK),
    "claim 5.2-04": ({("version", "w.grad")}, ENGINE),
    "pitfall A18": ({("grad_fn", "y.grad_fn.next_functions[0][0].next_functions[1][0]")}, RESHAPE),
    "life saved_tensor_hooks": ({("version", "x.grad")}, ENGINE),
}
"""What watching does change, and why."""

LEFT_OUT = {
    "pitfall D12": "ends the process, watched or not",
    "pitfall E22": "ends the process, watched or not",
    "pitfall E28": "does not end",
    "claim 3.3-09": "runs a ResNet-50 for a minute",
}


def _of(file: str, kind: str) -> list[tuple[str, dict[str, Any]]]:
    lines = (DATA / file).read_text(encoding="utf-8").splitlines()
    return [(f"{kind} {row['id']}", row) for row in map(json.loads, lines)]


def _programs() -> dict[str, str]:
    cases = [
        (name, row)
        for name, row in _of("cases.jsonl", "case")
        if not any(limit in row["expect"].get("limits", {}) for limit in UNBOUNDED)
    ]
    rows = [*cases, *_of("pitfalls.jsonl", "pitfall"), *_of("claims.jsonl", "claim")]
    found = {name: row["source"] for name, row in rows}
    for kind, folder in (("life", DATA / "lives"), ("bench", ROOT / "benchmarks" / "programs")):
        files = sorted(folder.glob("[!_]*.py"))
        found |= {f"{kind} {file.stem}": file.read_text(encoding="utf-8") for file in files}
    for program in load().programs():
        found[f"lesson {program.key}"] = program.source
    return {name: source for name, source in found.items() if name not in LEFT_OUT}


PROGRAMS = _programs()
HEAVY = {"bench large", "bench million", "bench thousand", "bench graph_loop", "bench loop"}


def test_more_than_three_hundred_programs_are_compared() -> None:
    assert len(PROGRAMS) > 380
    assert set(KNOWN) <= set(PROGRAMS)


@pytest.mark.slow
@pytest.mark.timeout(180)
@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in HEAVY])
def test_a_program_ends_the_same_watched_and_unwatched(name: str) -> None:
    known, _ = KNOWN.get(name, (set(), ""))

    assert set(effects(PROGRAMS[name])) == known


@pytest.mark.parametrize(
    "name",
    ["life finalize_del", "life view_graph", "life exception_keeps_frames", "life warnings_recorded"],
)
def test_things_die_on_the_same_line(name: str) -> None:
    assert effects(PROGRAMS[name]) == {}


def test_the_output_of_finalizers_is_what_is_compared() -> None:
    run = ended(PROGRAMS["life finalize_del"], observed=True)

    assert run.stdout == "before\nx is gone\nafter\n"


def test_the_fingerprint_sees_a_single_changed_value() -> None:
    one = ended("import torch\nx = torch.arange(3.)\n", observed=False)
    other = ended("import torch\nx = torch.arange(3.)\nx.data[1] = 9\n", observed=False)

    assert one.fingerprint.tensors != other.fingerprint.tensors


def test_a_warning_of_watched_code_is_counted_once_and_filtered_by_its_own_module() -> None:
    source = (
        "import warnings, torch\nfor i in range(2):\n    torch.ones(2, 3, 4).T\n"
        'warnings.filterwarnings("error", module="__main__")\ntorch.tensor(torch.ones(1))\n'
    )
    run = ended(source, observed=True)

    assert [text.partition(":")[0] for text in run.warnings] == ["UserWarning at line 3"]
    assert (run.outcome.kind, run.outcome.type, run.outcome.line) == ("raised", "UserWarning", 5)
