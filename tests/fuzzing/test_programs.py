"""Whatever the program, the answer is a trace by the contract, and all that is made of it can be made.

The programs are the same every time; `make fuzz` runs thousands of others.
"""

from collections.abc import Iterator

import pytest

from .edits import known_programs
from .oracles import faults_of
from .replies import PROGRAMS, frames, read, recorded
from .running import Fuzzer, each_program, fuzzer

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def fuzz() -> Iterator[Fuzzer]:
    with fuzzer() as each:
        yield each


def check(fuzz: Fuzzer, source: str) -> None:
    found = fuzz.faults(source)
    assert not found, "\n".join([source, *found])


@pytest.mark.parametrize(("kind", "count"), [("grammar", 40), ("edits", 60), ("noise", 50)])
def test_a_random_program_gets_an_answer_by_the_contract(fuzz: Fuzzer, kind: str, count: int) -> None:
    before = fuzz.report.ran
    each_program(kind, count, lambda source: check(fuzz, source))
    assert fuzz.report.ran - before >= count * 0.9  # hypothesis leaves out what it has had already


def test_the_random_programs_end_in_more_than_one_way(fuzz: Fuzzer) -> None:
    each_program("grammar", 20, fuzz.faults)
    assert {"finished", "raised"} <= set(fuzz.report.ends)
    assert fuzz.report.compared["same"] > 5


def test_the_oracles_see_what_is_wrong() -> None:
    source = PROGRAMS[0]
    trace = read(source, frames(recorded(source)))
    assert list(faults_of(source, trace)) == []

    outcome = trace.outcome.model_copy(update={"reason": "time-limit"})
    assert list(faults_of(source, trace.model_copy(update={"outcome": outcome})))

    step = trace.steps[3]
    lost = step.model_copy(update={"changed": {**step.changed, "nobody": ("data",)}})
    steps = (*trace.steps[:3], lost, *trace.steps[4:])
    assert any("nobody" in f for f in faults_of(source, trace.model_copy(update={"steps": steps})))

    gone = tuple(e for e in trace.steps[2].events if e.kind != "storage")
    steps = (*trace.steps[:2], trace.steps[2].model_copy(update={"events": gone}), *trace.steps[3:])
    with pytest.raises(KeyError):
        list(faults_of(source, trace.model_copy(update={"steps": steps})))


def test_there_are_hundreds_of_programs_to_edit() -> None:
    assert len(known_programs()) > 350
