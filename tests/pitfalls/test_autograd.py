"""Graphs, saved tensors, gradients: kept without a name, released, rewritten; and what must not be asked."""

import asyncio

import pytest
from tensor_anatomy.execution import Pool, Turns
from tensor_anatomy.execution.zygote_client import ZygoteClient
from tensor_anatomy.explaining import explain
from tensor_anatomy.messages import text_of
from tensor_anatomy.schema import Trace, TraceRequest

from ..conftest import LIMITS
from .looking import gradient, node, storage, tensor, traits
from .programs import PROGRAMS, op_names, ops, printed, said, state, traced


def by_node(program: str, step: int) -> dict[str, list[str]]:
    """Backward node → the ops it ran in a step."""
    trace, found = traced(program), {}
    for op in ops(trace, step):
        if op.node is not None:
            found.setdefault(trace.names[op.node], []).append(trace.names[op.op])
    return found


def released(program: str, step: int) -> list[int]:
    """Nodes whose saved tensors were released in a step."""
    return [n for e in traced(program).steps[step - 1].events if e.kind == "saved-freed" for n in e.nodes]


def test_a_saved_output_keeps_a_storage_without_a_name_until_backward() -> None:
    trace, before, kept, after = traced("A01"), state("A01", 4), state("A01", 5), state("A01")
    number = str(tensor(before, "y")["storage"])

    assert str(before["bindings"]["y"]) not in kept["tensors"]
    assert (kept["storages"][number]["freed"], kept["storages"][number]["held_by"]) == (
        False,
        ["ExpBackward0#1.result"],
    )
    assert said(trace, 5) == [
        "y no longer leads to a tensor.",
        "No change: storage S2 (12 B) stays; ExpBackward0._saved_result keeps it for backward.",
        *said(trace, 5)[2:],
    ]
    assert after["nodes"]["1"]["saved"][0]["freed"]
    assert (after["storages"][number]["freed"], after["storages"][number]["freed_line"]) == (True, 6)
    assert "Storage S2 (12 B) freed: nothing refers to it any more." in said(trace, 6)


def test_retain_graph_releases_nothing() -> None:
    after = state("A02")

    assert released("A02", 4) == []
    assert not [s for n in after["nodes"].values() for s in n["saved"] if s["freed"]]
    assert gradient(after, "w") is not None
    assert not [sentence for sentence in said(traced("A02"), 4) if "saved tensor" in sentence]


def test_the_first_gradient_is_moved_in_and_the_second_added_in_place() -> None:
    trace, first, second = traced("A03"), state("A03", 3), state("A03", 4)

    assert op_names(trace, 3)[-1] == "aten::detach"
    assert not {"aten::copy_", "aten::clone", "aten::new_empty_strided"} & set(op_names(trace, 3))
    assert tensor(first, "w")["grad"] == tensor(second, "w")["grad"]
    assert (gradient(first, "w")["version"], gradient(second, "w")["version"]) == (0, 1)
    assert (gradient(first, "w")["values"], gradient(second, "w")["values"]) == ([2.0] * 3, [4.0] * 3)
    assert by_node("A03", 4)["AccumulateGrad"] == ["aten::add_.Tensor"]
    assert "New gradients were added to w.grad." in said(trace, 4)


def test_watching_does_not_turn_a_moved_gradient_into_a_copy() -> None:
    names = op_names(traced("A04"), 3)

    assert by_node("A04", 3)["AccumulateGrad"] == ["aten::detach"]
    assert names[-1] == "aten::detach"
    assert not {"aten::new_empty_strided", "aten::copy_"} & set(names)


def test_gradients_of_results_are_not_asked_for_so_nothing_warns() -> None:
    after = state("A05")

    assert (after["outcome"]["kind"], after["warnings"]) == ("finished", [])
    assert [tensor(after, name)["grad"] for name in "wyz"] == [None, None, None]


def test_a_view_whose_history_pytorch_refuses_to_give_says_why() -> None:
    trace, before, after = traced("A06"), state("A06", 3), state("A06")

    assert after["outcome"]["kind"] == "finished"
    assert node(before, "s[0]")["name"] == "UnbindBackward0"
    for i in range(4):
        view = tensor(after, f"s[{i}]")
        assert (view["grad_fn"], view["is_leaf"]) == (None, None)
        assert traits(after, f"s[{i}]") == {"grad-fn-unavailable": {"why": "multi-output"}}
    assert not [sentence for sentence in said(trace, 4) if "cut from the graph" in sentence]
    assert any(
        sentence.startswith("grad_fn of s[0], s[1], s[2] and s[3] is unavailable")
        for sentence in said(trace, 4)
    )
    shown = printed(trace)
    assert "s[0], s[1], s[2] and s[3]: grad_fn unavailable (multi-output view modified in place)" in shown


def test_writing_to_a_view_rewrites_the_history_of_both() -> None:
    trace, before, after = traced("A07"), state("A07", 3), state("A07")

    assert (node(before, "b")["name"], node(after, "b")["name"]) == ("MulBackward0", "CopySlices")
    assert (node(before, "v")["name"], node(after, "v")["name"]) == ("SliceBackward0", "AsStridedBackward0")
    (leaf,) = [n for n in after["nodes"].values() if n["name"] == "AccumulateGrad"]
    assert leaf == next(n for n in before["nodes"].values() if n["name"] == "AccumulateGrad")
    of_the_leaf = [s for s in after["storages"].values() if s["nbytes"] == 16 and s != storage(after, "b")]
    assert [s["freed"] for s in of_the_leaf] == [False]
    assert "b.grad_fn is now CopySlices instead of MulBackward0." in said(trace, 4)
    assert "v.grad_fn is now AsStridedBackward0 instead of SliceBackward0." in said(trace, 4)


@pytest.mark.parametrize(("program", "name", "runs"), [("A08", "n", 1), ("A09", "log", 0)])
def test_saved_tensors_are_looked_at_without_running_hooks_or_recomputing(
    program: str, name: str, runs: int
) -> None:
    asserted = f"{PROGRAMS[program]}assert k == {runs}, k\nprint(len({name}), k)\n"
    after = state(asserted)

    assert (after["outcome"]["kind"], after["stdout"]) == ("finished", f"{runs} {runs}\n")


def test_backward_that_refuses_names_who_wrote_and_who_had_saved() -> None:
    trace, after = traced("A11"), state("A11")
    outcome = after["outcome"]

    assert (outcome["kind"], outcome["line"]) == ("raised", 6)
    assert "is at version 1; expected version 0" in outcome["message"]
    explanation = outcome["explanation"]
    assert (explanation["class"], explanation["line"], explanation["caused_by"]) == (
        "saved-tensor-modified",
        6,
        5,
    )
    assert op_names(trace, 5) == ["aten::add_.Tensor"]
    (saver,) = [n for n in after["nodes"].values() if n["saved"] and n["saved"][0]["stale"]]
    assert (saver["name"], saver["line"], saver["saved"][0]["version"]) == ("ExpBackward0", 3, 0)
    assert tensor(after, "y")["version"] == 1
    assert (
        "backward() needs y as it was when ExpBackward0 saved it, at version 0. "
        "Line 5 wrote to it in place through y: it is at version 1."
    ) in " ".join(printed(trace).split())


def test_a_write_to_a_leaf_is_refused_before_any_op_runs() -> None:
    trace, after = traced("A12"), state("A12")

    assert (after["outcome"]["type"], after["outcome"]["line"]) == ("RuntimeError", 3)
    assert op_names(trace, 3) == []
    assert (tensor(after, "w")["version"], tensor(after, "w")["values"]) == (0, [1.0, 1.0])
    assert "3" not in after["changed"]


def test_inference_tensors_have_no_version_and_their_writes_are_seen() -> None:
    trace, after = traced("A13"), state("A13")

    assert (tensor(after, "x")["version"], traits(after, "x")) == (None, {"inference": {}})
    assert (tensor(state("A13", 3), "x")["values"], tensor(after, "x")["values"]) == ([0.0] * 2, [1.0] * 2)
    assert after["changed"]["4"] == {"x": ["data"]}
    assert any(sentence.startswith("x is an inference tensor") for sentence in said(trace, 3))
    assert "No version counts this write: inference tensors have no counter." in said(trace, 4)
    assert "x: inference tensor: no version counter" in printed(trace)
    composite = state(
        "import torch\na = torch.ones(2, 2)\nb = a @ a\nwith torch.inference_mode():\n    c = a @ a\n"
    )
    assert (composite["ops"]["3"], composite["ops"]["5"]) == (["aten::mm"], ["aten::matmul"])


def test_a_result_that_retains_its_gradient_gets_one() -> None:
    trace, before, after = traced("A15"), state("A15", 4), state("A15")

    assert tensor(before, "y")["grad"] is None
    assert gradient(after, "y")["values"] == [1.0, 1.0]
    assert after["changed"]["5"] == {"w": ["autograd"], "y": ["autograd"]}
    assert "y.grad now holds 2 values." in said(trace, 5)


def test_an_optimizer_makes_its_buffers_and_clearing_gradients_frees_them() -> None:
    trace, before, stepped, after = traced("A16"), state("A16", 6), state("A16", 7), state("A16")
    (buffer,) = [
        n for n in stepped["bindings"] if "momentum_buffer" in n and tensor(stepped, n)["shape"] == [1, 2]
    ]
    grads = [str(gradient(before, name)["storage"]) for name in ("m.weight", "m.bias")]

    assert buffer == "o.state[m.weight]['momentum_buffer']"
    assert tensor(stepped, "m.weight")["version"] == tensor(before, "m.weight")["version"] + 1
    assert stepped["changed"]["7"][buffer] == ["new"]
    assert (tensor(after, "m.weight")["grad"], tensor(after, "m.bias")["grad"]) == (None, None)
    assert str(tensor(stepped, buffer)["storage"]) not in grads  # the buffer is a clone
    assert [after["storages"][g]["freed_line"] for g in grads] == [8, 8]
    assert "m.weight.grad and m.bias.grad are None again." in said(trace, 8)


def test_edges_to_leaves_go_through_accumulate_grad() -> None:
    trace, after = traced("A17"), state("A17")
    number, _ = node(after, "b")["next_functions"][0]
    leaf = after["nodes"][str(number)]

    assert (node(after, "b")["name"], leaf["name"]) == ("MulBackward0", "AccumulateGrad")
    assert leaf["variable"] == after["bindings"]["a"]
    assert "b.grad_fn is MulBackward0: gradients will flow to a." in said(trace, 3)
    freed = state("import torch\na = torch.ones(4, requires_grad=True)\nb = a.exp().exp()\ndel b\nk = 1\n")
    assert {s["freed_line"] for s in freed["storages"].values()} == {None, 4}
    assert freed["bytes"]["alive"] == {"cpu": 16}  # no node was kept, nor what it saved


def test_node_names_that_watching_changes_are_flagged() -> None:
    async def run() -> Trace:
        client = ZygoteClient()
        await client.start()
        try:
            if client.state != "ready":
                pytest.skip(str(client.reason))
            return await Pool(LIMITS, turns=Turns(1, 1), zygote=client).run(
                TraceRequest(source=PROGRAMS["A18"])
            )
        finally:
            await client.close()

    trace = explain(asyncio.run(run()))
    pairs = {(each.observed, each.plain) for each in trace.observer_effects if each.what == "grad_fn"}

    assert pairs == {("ViewBackward0", "ReshapeAliasBackward0")}
    assert any("ReshapeAliasBackward0" in text_of("en", s.id, s.args) for s in trace.comparison.sentences)


def test_ops_of_backward_say_which_node_ran_them() -> None:
    trace = traced("A19")
    ran = by_node("A19", 4)

    assert ran["SumBackward0"] == ["aten::expand"]
    assert "aten::mul.Tensor" in ran["ExpBackward0"]
    assert ran["MulBackward0"] == ["aten::mul.Tensor"]
    assert ran["AccumulateGrad"] == ["aten::detach"]
    assert [op.node for op in ops(trace, 3)] == [None] * len(ops(trace, 3))


def test_a_number_saved_for_backward_is_shown_as_that_number() -> None:
    trace, after = traced("A20"), state("A20")
    (saved,) = node(after, "y")["saved"]
    hidden = after["storages"][str(saved["storage"])]

    # PyTorch 2.13 saves the int 2 as int64, a float as float64: 8 bytes either way.
    assert (saved["field"], saved["scalar"], hidden["nbytes"]) == ("other", "2", 8)
    assert hidden["held_by"] == ["MulBackward0#1.other"]
    assert "MulBackward0 keeps the scalar 2 for backward (8 B without a name)." in said(trace, 3)
    assert "MulBackward0 keeps the scalar 2 for backward." in said(trace, 3)
    halves = state(
        "import torch\nw = torch.ones(2, requires_grad=True)\ny = w * 0.5\nt = torch.tensor(2.)\nz = w * t\n"
    )
    assert [s["scalar"] for s in node(halves, "y")["saved"]] == ["0.5"]
    assert [s["scalar"] for s in node(halves, "z")["saved"]] in ([None], [None, None])


def test_create_graph_gives_gradients_a_graph_that_backward_releases() -> None:
    trace, made, after = traced("A21"), state("A21", 3), state("A21")

    assert released("A21", 3) == []
    assert not [s for n in made["nodes"].values() for s in n["saved"] if s["freed"]]
    assert node(made, "g")["name"] == "MulBackward0"
    assert set(released("A21", 4)) >= {tensor(made, "g")["grad_fn"]}
    assert gradient(after, "w")["values"] == [6.0 * w for w in tensor(after, "w")["values"]]
    assert "w.grad now holds 2 values." in said(trace, 4)


def test_requires_grad_and_detach_touch_autograd_alone() -> None:
    trace, plain, leaf, result, after = traced("A22"), *(state("A22", step) for step in (2, 3, 4, 5))

    assert (tensor(plain, "w")["requires_grad"], tensor(leaf, "w")["requires_grad"]) == (False, True)
    assert op_names(trace, 3) == []
    assert tensor(plain, "w")["version"] == tensor(leaf, "w")["version"]
    assert leaf["changed"]["3"] == {"w": ["autograd"]}
    assert tensor(result, "y")["grad_fn"] is not None
    assert (tensor(after, "y")["grad_fn"], tensor(after, "y")["is_leaf"]) == (None, True)
    assert storage(after, "y") == storage(result, "y")
    assert after["changed"]["5"] == {"y": ["autograd"]}
    assert "y was cut from the graph: it has no grad_fn any more." in said(trace, 5)
