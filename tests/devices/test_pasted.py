"""Device programs as people paste them end as on CUDA, with every tensor, copy and word in its place."""

import pytest

from .cases import Case
from .pasted import QUESTIONS, SLOW, TRAINING
from .pasted_trouble import LOST, MEMORY, MIXED, REFUSED
from .running import Ran, run, run_all

PASTED = {**TRAINING, **QUESTIONS, **MIXED, **LOST, **REFUSED}

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def ran() -> dict[str, Ran]:
    """What came of each; those about memory in a process of their own."""
    runs = [
        run_all([(case.source, {"devices": case.places}) for case in cases.values()])
        for cases in (PASTED, MEMORY)
    ]
    return dict(zip([*PASTED, *MEMORY], [*runs[0], *runs[1]], strict=True))


def check(case: Case, it: Ran) -> None:
    """The facts of a program are those of its case."""
    ended = case.error or "finished"
    assert (it.error or "finished")[: len(ended)] == ended
    assert {name: it.device(name) for name in case.devices} == case.devices
    if case.printed is not None:
        said = zip(it.printed, case.printed, strict=True)
        assert [line[: len(begin)] for line, begin in said] == list(case.printed)
    if case.copies is not None:
        places = ("line", "source_device", "target_device", "nbytes")
        assert [tuple(e[p] for p in places) for e in it.events("transfer")] == list(case.copies)
    assert it.trace["environment"]["simulated"]


@pytest.mark.parametrize("name", [*PASTED, *MEMORY])
def test_a_pasted_program_goes_as_on_cuda(ran: dict[str, Ran], name: str) -> None:
    check({**PASTED, **MEMORY}[name], ran[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW)
def test_a_pasted_program_that_imports_much_goes_as_on_cuda(name: str) -> None:
    check(SLOW[name], run(SLOW[name].source, compare=False))


def test_only_copies_that_forward_makes_are_a_ping_pong_and_each_is_told_once() -> None:
    ran = run(
        """
        a, b = torch.nn.Linear(2, 2).cuda(), torch.nn.Linear(2, 2)
        y = b(a(torch.ones(1, 2).cuda()).cpu())
        y.sum().backward()
        x = torch.ones(3)
        there = (x * 2).cuda()
        back = (there * 2).cpu()
        again = (back * 2).cuda()
        home = (again * 2).cpu()
        once_more = home.cuda()
        """
    )

    assert [(n["class"], n["line"]) for n in ran.state["notes"]] == [("device-ping-pong", 8)]
