"""Device trouble as people report it, and what is claimed about devices: each as a program with its facts."""

import pytest

from .cases import CASES
from .running import run


@pytest.mark.parametrize("name", CASES)
def test_device_trouble_is_as_it_is_on_cuda(name: str) -> None:
    case = CASES[name]

    ran = run(case.source, "simulated-cuda")

    if case.error is None:
        assert ran.error is None
    else:
        assert ran.error is not None
        assert ran.error.startswith(case.error)
    assert {name: ran.device(name) for name in case.devices} == case.devices
    if case.printed is not None:
        assert tuple(ran.printed) == case.printed


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
