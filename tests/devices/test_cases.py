"""Device trouble as people report it, and what is claimed about devices: each as a program with its facts."""

import pytest

from .cases import CASES, Case
from .claims import CLAIMS, LESSONS
from .running import Ran, run


def hold(case: Case) -> Ran:
    """Run a case on a simulated device; its facts must be so."""
    ran = run(case.source, "simulated-cuda")
    if case.error is None:
        assert ran.error is None
    else:
        assert ran.error is not None
        assert ran.error.startswith(case.error)
    assert {name: ran.device(name) for name in case.devices} == case.devices
    if case.printed is not None:
        assert tuple(ran.printed) == case.printed
    return ran


@pytest.mark.parametrize("name", CASES)
def test_device_trouble_is_as_it_is_on_cuda(name: str) -> None:
    hold(CASES[name])


@pytest.mark.parametrize("claim", CLAIMS)
def test_what_is_claimed_of_devices_is_as_it_was_checked(claim: str) -> None:
    hold(CLAIMS[claim])


@pytest.mark.parametrize("program", LESSONS)
def test_the_device_programs_of_the_lessons_have_the_facts_that_they_teach(program: str) -> None:
    ran = hold(LESSONS[program])

    about = ran.state["environment"]
    assert (about["device"], about["simulated"]) == ("simulated-cuda", True)
    if ran.trace["explanation"] is not None:
        assert ran.trace["explanation"]["class"] == "device-mismatch"
        assert ran.trace["explanation"]["sentences"][-1]["id"] == "error.simulated"


@pytest.mark.parametrize(
    ("model", "given"), [("cuda", "cpu"), ("cpu", "cuda"), ("cuda", "cuda"), ("cpu", "cpu")]
)
@pytest.mark.parametrize("layer", ["torch.nn.Linear(4, 2)", "torch.nn.Conv1d(1, 1, 2)"])
def test_a_model_and_its_input_must_be_on_one_device(layer: str, model: str, given: str) -> None:
    ran = run(f"model = {layer}.to('{model}')\ny = model(torch.ones(1, 4).to('{given}'))\n", "simulated-cuda")

    assert (ran.error is None) == (model == given)


def test_each_explicit_move_is_one_op() -> None:
    ran = run("s, c = torch.ones(2).cuda(), torch.ones(2)\ny = s + c.cuda()\n")

    assert ran.state["ops"]["3"] == ["aten::_to_copy", "aten::add.Tensor"]
    assert [event["nbytes"] for event in ran.events("transfer")] == [8, 8]
