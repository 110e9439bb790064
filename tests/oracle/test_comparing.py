"""The oracle can fail: a trace that tells something else than PyTorch did is caught. And lies it found."""

import dataclasses
from collections.abc import Callable
from typing import Any

import torch

from ..tracing.children import in_child
from .comparing import Count, lies_in
from .running import Run, run
from .samples import Call, Entry


def watched() -> Run:
    x = torch.arange(6.0).reshape(2, 3)
    calls = [Call(torch.t, [x], {}, "view"), Call(torch.Tensor.add_, [x, 1], {}, "in place")]
    return run(Entry("t", calls), "forward", how="watched")


def kinds(change: Callable[[Run], None]) -> list[str]:
    """Kinds of lies once a true run's notes were changed."""

    def work() -> list[str]:
        made = watched()
        change(made)
        return sorted({kind for lies in lies_in(made, "forward", Count()) for kind, _ in lies})

    result: list[str] = in_child(work)
    return result


def test_a_true_trace_tells_no_lie() -> None:
    assert kinds(lambda made: None) == []


def test_a_false_verdict_is_caught() -> None:
    def fresh(made: Run) -> None:
        made.notes[0].ops[0].relations[0] = "fresh"

    assert kinds(fresh) == ["op verdict"]


def test_a_write_that_is_not_told_is_caught() -> None:
    def unwritten(made: Run) -> None:
        facts = made.notes[1]
        facts.after["args[0]"] = dict(facts.before["args[0]"])

    assert "changed" in kinds(unwritten)
    assert "told version" in kinds(unwritten)


def test_sharing_and_values_that_differ_are_caught() -> None:
    def other(made: Run) -> None:
        made.notes[0].after["answer"]["storage"] = 1
        made.notes[0].values["answer"] = [[0.0]]

    assert kinds(other) == ["sharing", "told values"]


def test_ops_that_were_not_heard_are_caught() -> None:
    assert kinds(lambda made: made.notes[0].ops.clear()) == ["ops heard"]


def test_counts_add_up() -> None:
    total = Count(calls=1, kinds={"view": 2})
    total.add(Count(calls=2, kinds={"view": 1, "fresh": 4}))
    assert dataclasses.astuple(total)[0] == 3
    assert total.kinds == {"view": 3, "fresh": 4}


def test_a_tensor_multiplied_by_itself_in_place_makes_what_its_node_saved_stale(
    state_after: Callable[..., dict[str, Any]],
) -> None:
    """The operand is saved, then written by the same call: backward will raise."""
    state = state_after("""
        import torch
        a = torch.ones(2, requires_grad=True).clone()
        a.mul_(a)
    """)
    saved = [
        (s["field"], s["version"], s["stale"])
        for node in state["nodes"].values()
        if node["name"] == "MulBackward0"
        for s in node["saved"]
    ]

    assert ("other", 0, True) in saved
    assert ("self", 0, False) in saved


def test_a_result_saved_by_an_in_place_call_is_not_stale(
    state_after: Callable[..., dict[str, Any]],
) -> None:
    state = state_after("""
        import torch
        a = torch.ones(2, requires_grad=True).clone()
        a.exp_()
    """)
    stale = [s["stale"] for node in state["nodes"].values() for s in node["saved"]]

    assert stale == [False]


def test_adding_nothing_to_a_gradient_does_not_change_its_tensor(
    state_after: Callable[..., dict[str, Any]],
) -> None:
    """The gradient is bumped, and no number in it differs."""
    state = state_after("""
        import torch
        w = torch.ones(3, requires_grad=True)
        w.sum().backward()
        w.grad.add_(0)
    """)

    assert "w" not in state["changed"].get("5", {})
