"""Which device a program gets, and that a trace says when it is a simulated one."""

import pytest
import torch

from ..conftest import record
from ..tracing.children import in_child
from .running import run

PLACE = (
    "device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')\nx = torch.ones(2).to(device)\n"
)
NO_CUDA = "AssertionError: Torch not compiled with CUDA enabled"


def test_a_program_that_names_cuda_has_it_and_is_told_that_it_is_simulated() -> None:
    ran = run(PLACE)

    assert ran.device("x") == "cuda:0"
    about = ran.state["environment"]
    assert (about["device"], about["simulated"]) == ("simulated-cuda", True)


@pytest.mark.parametrize("source", ["x = torch.ones(2)\n", "# cuda\nx = torch.ones(2)\nprint('barracuda')\n"])
def test_a_program_that_does_not_name_cuda_runs_on_the_cpu(source: str) -> None:
    ran = run(source)

    about = ran.state["environment"]
    assert (about["device"], about["simulated"], ran.device("x")) == ("cpu", False, "cpu")


def test_on_the_cpu_pytorch_speaks_for_itself() -> None:
    assert run(PLACE, "cpu").device("x") == "cpu"
    assert run("x = torch.ones(2).cuda()\n", "cpu").error == NO_CUDA


def test_asked_for_it_is_there_for_a_program_that_does_not_name_it() -> None:
    ran = run("x = torch.ones(2).to(torch.accelerator.current_accelerator())\n", "simulated-cuda")

    assert ran.device("x") == "cuda:0"


def test_everything_is_put_back_after_the_run() -> None:
    def names() -> dict[str, int]:
        owners = (torch, torch.Tensor, torch.cuda, torch.cuda.memory, torch.UntypedStorage, torch.accelerator)
        return {f"{o.__name__}.{n}": id(v) for o in owners for n, v in vars(o).items() if n[:2] != "__"}

    def run_and_compare() -> list[str]:
        record(
            "import torch\nx = torch.ones(2).cuda()\n", device="auto"
        )  # what is imported late is there now
        before = names()
        record("import torch\nx = torch.ones(2).cuda() * 2\n", device="auto")
        after = names()
        return [name for name in {*before, *after} if before.get(name) != after.get(name)]

    assert in_child(run_and_compare) == []


def test_a_trace_tells_values_devices_and_layers_of_what_is_simulated() -> None:
    ran = run("x = torch.ones(2, requires_grad=True)\ny = x.cuda()\ny2 = y * 3\nx2 = torch.ones(2).cuda()\n")

    assert (ran.values("y2"), ran.device("y2")) == ([3.0, 3.0], "cuda:0")
    assert ran.state["lamps"]["3"] == ["data", "autograd", "device"]
    assert ran.state["lamps"]["5"] == ["data", "metadata", "device"]
    assert ran.state["ops"]["3"] == ["aten::_to_copy"]
    storages = {s["device"] for s in ran.state["storages"].values()}
    assert storages == {"cpu", "cuda:0"}


def test_what_goes_to_and_fro_between_host_and_device_is_noticed() -> None:
    ran = run(
        """
        w = torch.ones(3)
        x = torch.ones(3).cuda()
        for i in range(4):
            y = w.cuda() * x
            h = y.cpu() + 1
            x = h.cuda()
        """
    )

    found = [(note["line"], note["sentence"]["args"]["how"]) for note in ran.trace["notes"]]
    assert found == [(5, "again"), (7, "back")]


def test_a_batch_that_goes_and_a_result_that_comes_are_not_noticed() -> None:
    ran = run(
        """
        model = torch.nn.Linear(2, 1).cuda()
        results = []
        for batch in torch.ones(4, 3, 2):
            results.append(model(batch.cuda()).cpu())
        """
    )

    assert ran.trace["notes"] == []
