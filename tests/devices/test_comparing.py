"""A simulated device changes nothing but where things are: held against the CPU, fact by fact."""

import pytest

from .comparing import EXPECTED, NOT_EACH_TIME, Difference, Program, differences, programs

ALL = list(programs())
SAMPLE = [each for i, each in enumerate(ALL) if i % 15 == 0]


@pytest.mark.timeout(240)
def test_programs_come_to_the_same_on_a_simulated_device() -> None:
    assert [each for each in differences(SAMPLE, "simulated-cuda") if each.reason is None] == []


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_all_programs_come_to_the_same_and_every_exception_is_needed() -> None:
    found = differences(ALL, "simulated-cuda")

    assert [each for each in found if each.reason is None] == []
    used = {each.reason for each in found}
    assert used | NOT_EACH_TIME == {reason for _, _, reason in EXPECTED}


def test_another_value_elsewhere_is_found() -> None:
    program = Program("a program", "x = torch.ones(2)\n", "x = torch.ones(2).cuda() * 2\n")

    found = differences([program], "simulated-cuda")

    assert Difference("a program", "x.values", "[1.0, 1.0]", "[2.0, 2.0]") in found
    assert all(each.reason is None for each in found)
