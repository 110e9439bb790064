"""What a trace says of five programs that are typical of learners' code, against facts from PyTorch."""

from collections.abc import Callable
from typing import Any

import pytest
from tensor_anatomy.schema import Trace

State = Callable[..., dict[str, Any]]

VIEWS = """
import torch
a = torch.arange(12.0).reshape(3, 4)
b = a.t()
c = b[1:]
d = a[::2, 1:3]
e = b.contiguous()
f = a[0].expand(2, 4)
a.add_(100)
g = a.flatten()
h = torch.as_strided(a, (2, 2), (5, 1), 1)
"""
MLP = """
import torch
from torch import nn
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
x = torch.randn(5, 8)
target = torch.randn(5, 4)
out = model(x)
loss = ((out - target) ** 2).mean()
loss.backward()
g = model[0].weight.grad
"""
MATMUL = """
import torch
torch.manual_seed(0)
x = torch.randn(5, 8)
W = torch.randn(4, 8)
bias = torch.randn(4)
h = x @ W + bias
"""
INPLACE = """
import torch
w = torch.ones(3, requires_grad=True)
y = w.exp()
s = y.sum()
y.add_(1)
s.backward()
"""
TRAIN = """
import torch
from torch import nn
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
opt = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.randn(32, 8)
t = torch.randn(32, 4)
for i in range(50):
    opt.zero_grad()
    out = model(x)
    loss = ((out - t) ** 2).mean()
    loss.backward()
    opt.step()
"""
GEOMETRY = {
    "a": ([3, 4], [4, 1], 0),
    "b": ([4, 3], [1, 4], 0),
    "c": ([3, 3], [1, 4], 1),
    "d": ([2, 2], [8, 1], 1),
    "e": ([4, 3], [3, 1], 0),
    "f": ([2, 4], [0, 1], 0),
    "g": ([12], [1], 0),
    "h": ([2, 2], [5, 1], 1),
}


def named(state: dict[str, Any], name: str) -> dict[str, Any]:
    tensor: dict[str, Any] = state["tensors"][str(state["bindings"][name])]
    return tensor


def test_seven_views_share_one_storage_and_the_copy_has_its_own(state_after: State) -> None:
    state = state_after(VIEWS)
    storages = {name: named(state, name)["storage"] for name in GEOMETRY}

    assert len({storages[n] for n in "abcdfgh"}) == 1
    assert storages["e"] not in {storages[n] for n in "abcdfgh"}
    assert state["storages"][str(storages["a"])]["nbytes"] == 48
    assert state["storages"][str(storages["e"])]["nbytes"] == 48


@pytest.mark.parametrize("name", GEOMETRY)
def test_each_view_has_its_shape_stride_and_offset(state_after: State, name: str) -> None:
    t = named(state_after(VIEWS), name)

    assert (t["shape"], t["stride"], t["storage_offset"]) == GEOMETRY[name]
    assert t["version"] == (0 if name == "e" else 1)
    assert t["is_contiguous"] is (name in "aeg")


def test_an_in_place_write_changes_every_view_and_no_copy(state_after: State) -> None:
    state = state_after(VIEWS)

    assert state["changed"]["9"] == {n: ["data"] for n in "abcdf"}
    assert state["lamps"]["9"] == ["data"]
    assert named(state, "e")["values"][0] == [0.0, 4.0, 8.0]
    assert named(state, "c")["values"][0] == [101.0, 105.0, 109.0]


@pytest.mark.parametrize(
    ("line", "lamps"),
    [("4", ["metadata"]), ("5", ["metadata"]), ("7", ["data", "metadata"]), ("8", ["metadata"])],
)
def test_a_view_lights_metadata_and_a_copy_lights_data(
    state_after: State, line: str, lamps: list[str]
) -> None:
    assert state_after(VIEWS)["lamps"][line] == lamps


def test_five_saved_tensors_lie_in_four_storages(state_after: State) -> None:
    state = state_after(MLP, step=8)
    slots = [s for node in state["nodes"].values() for s in node["saved"]]
    storages = {s["storage"] for s in slots}
    bytes_of = {s: state["storages"][str(s)]["nbytes"] for s in storages}

    assert state["line"] == 9
    # Pow saves its input, two Addmm each an input; the second also the weight behind it.
    assert len(slots) == 5
    assert len(storages) == 4
    assert sum(bytes_of.values()) == 816


def test_relu_and_the_next_layer_save_one_memory_and_the_weight_by_a_view(
    state_after: State,
) -> None:
    state = state_after(MLP, step=8)
    saved = {
        (node["name"], slot["field"]): slot["storage"]
        for node in state["nodes"].values()
        for slot in node["saved"]
        if slot["storage"] is not None
    }
    weight = named(state, "model[2].weight")["storage"]

    assert ("AddmmBackward0", "mat2") in saved
    assert saved["AddmmBackward0", "mat2"] == weight
    result = saved["ReluBackward0", "result"]
    held = state["storages"][str(result)]["held_by"]
    assert sum("ReluBackward0" in h for h in held) == 1
    assert sum("AddmmBackward0" in h and h.endswith(".mat1") for h in held) == 1


def test_backward_frees_what_was_saved_and_fills_grad(state_after: State) -> None:
    state = state_after(MLP)
    slots = [s for node in state["nodes"].values() for s in node["saved"]]

    assert slots
    assert all(s["freed"] for s in slots)
    assert state["bindings"]["g"] == named(state, "model[0].weight")["grad"]


def test_a_failing_product_names_its_operands_and_their_shapes(
    trace_of: Callable[..., Trace],
) -> None:
    trace = trace_of(MATMUL)
    outcome = trace.outcome

    assert (outcome.kind, outcome.type, outcome.line) == ("raised", "RuntimeError", 7)
    assert outcome.range is not None
    assert (outcome.range.column, outcome.range.end_column) == (4, 9)  # x @ W
    assert outcome.failure is not None
    assert outcome.failure.op == "aten::mm"
    assert [(o.name, o.text) for o in outcome.failure.operands] == [
        ("x", "(5, 8) float32"),
        ("W", "(4, 8) float32"),
    ]
    assert len(trace.steps) == 6


def test_a_saved_tensor_goes_stale_on_the_line_that_writes_it(state_after: State) -> None:
    before, after = state_after(INPLACE, step=4), state_after(INPLACE, step=5)

    def exp(state: dict[str, Any]) -> dict[str, Any]:
        (node,) = [n for n in state["nodes"].values() if n["name"] == "ExpBackward0"]
        slot: dict[str, Any] = node["saved"][0]
        return slot

    assert (exp(before)["version"], exp(before)["stale"]) == (0, False)
    assert after["line"] == 6
    assert (exp(after)["version"], exp(after)["stale"]) == (0, True)
    assert after["lamps"]["6"] == ["data", "autograd"]


def test_a_training_loop_is_kept_step_by_step(state_after: State) -> None:
    state = state_after(TRAIN)

    # 7 lines before the loop, 50 iterations of a header and 5 lines, one test that ends it
    assert state["steps"] == 7 + 50 * 6 + 1
    # one write by the initialisation, 50 by the optimizer
    assert named(state, "model[0].weight")["version"] == 1 + 50
    assert named(state, "model[0].weight")["values"] is not None


@pytest.mark.parametrize(
    ("line", "lamps"),
    [
        ("y = a @ b", ["data", "metadata"]),
        ("y = a.transpose(1, 2).reshape(2, 12)", ["data", "metadata"]),
        ("y = a.clone()", ["data"]),
        ("y = a.transpose(0, 1)", ["metadata"]),
        ("y = torch.ones(2)", ["data", "metadata"]),
        ("y = torch.ones(2, requires_grad=True)", ["data", "metadata", "autograd"]),
        ("y = a.contiguous()", []),
        ("y = w.detach()", ["autograd"]),
        ("y = w.clone()", ["data", "autograd"]),
        ("a.mul_(2)", ["data"]),
    ],
)
def test_a_line_lights_the_layers_it_touched(state_after: State, line: str, lamps: list[str]) -> None:
    state = state_after(
        "import torch\na = torch.ones(2, 3, 4)\nb = torch.ones(2, 4, 5)\n"
        f"w = torch.ones(3, requires_grad=True)\n{line}\n"
    )

    assert state["lamps"].get("5", []) == lamps
