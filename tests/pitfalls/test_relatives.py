"""Relatives of the pitfalls: found by running what PyTorch offers and comparing with plain PyTorch."""

import pytest

from .looking import gradient, node, storage, tensor, traits
from .programs import printed, said, state, traced


def test_tensors_can_be_swapped_while_they_are_watched() -> None:
    after = state(
        "import torch, weakref\nx = torch.ones(2)\ny = torch.zeros(3)\nn = len(weakref.getweakrefs(x))\n"
        "torch.utils.swap_tensors(x, y)\nx.add_(1)\nprint(n, weakref.getweakrefcount(x))\n"
    )

    assert (after["outcome"]["kind"], after["stdout"]) == ("finished", "0 0\n")
    assert (tensor(after, "x")["values"], tensor(after, "y")["values"]) == ([1.0] * 3, [1.0] * 2)
    assert after["changed"]["5"] == {"x": ["data", "metadata"], "y": ["data", "metadata"]}


def test_a_module_may_swap_its_parameters_when_it_is_converted() -> None:
    after = state(
        "import torch\ntorch.__future__.set_swap_module_params_on_conversion(True)\n"
        "m = torch.nn.Linear(2, 1)\nw = m.weight\nm.to(torch.float64)\n"
        "torch.__future__.set_swap_module_params_on_conversion(False)\n"
    )

    assert after["outcome"]["kind"] == "finished"
    assert after["bindings"]["w"] == after["bindings"]["m.weight"]
    assert tensor(after, "w")["dtype"] == "torch.float64"


def test_what_a_custom_function_returns_is_a_result_although_it_was_seen_inside_as_a_leaf() -> None:
    source = (
        "import torch\nclass V(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n"
        "        return x.view_as(x)\n    @staticmethod\n    def backward(ctx, g):\n        return g\n"
        "x = torch.ones(2, requires_grad=True) * 1\ny = V.apply(x)\nk = 1\n"
    )
    after = state(source)

    assert (node(after, "y")["name"], tensor(after, "y")["is_leaf"]) == ("VBackward", False)
    assert after["warnings"] == []  # `.grad` of a result was not asked for
    assert not [sentence for sentence in said(traced(source), 7) if "is a leaf" in sentence]


def test_a_write_through_one_alias_is_seen_by_the_others_however_they_were_made() -> None:
    after = state(
        "import torch\nx = torch.arange(4.)\nc = torch.utils.dlpack.to_dlpack(x)\n"
        "y = torch.utils.dlpack.from_dlpack(c)\ny[0] = 5\nk = 1\n"
    )

    assert after["changed"]["5"] == {"x": ["data"], "y": ["data"]}
    assert tensor(after, "x")["values"] == [5.0, 1.0, 2.0, 3.0]


def test_a_write_to_an_address_is_seen_because_the_address_was_asked_for() -> None:
    source = (
        "import ctypes\nimport torch\nx = torch.zeros(3)\n"
        "p = ctypes.cast(x.data_ptr(), ctypes.POINTER(ctypes.c_float))\np[1] = 6.\nk = 1\n"
    )
    after = state(source)

    assert (after["changed"]["5"], tensor(after, "x")["values"]) == ({"x": ["data"]}, [0.0, 6.0, 0.0])
    assert said(traced(source), 5)[0].startswith(
        "1 of 3 values in storage S1 changed through data_ptr of line 4"
    )


def test_numpy_is_seen_to_write_in_the_middle_of_a_large_array() -> None:
    source = (
        "import numpy as np\nimport torch\na = np.zeros(400_000)\nt = torch.from_numpy(a)\n"
        "s = t[200_000:200_003]\na[200_001] = 5\nk = 1\n"
    )
    after = state(source)

    assert after["changed"]["6"] == {"t": ["data"], "s": ["data"]}
    assert tensor(after, "s")["values"] == [0.0, 5.0, 0.0]
    assert said(traced(source), 6)[0].startswith("Values in storage S1 changed without a PyTorch operation")


@pytest.mark.parametrize("features", [3, 3000])
def test_batch_norm_writes_its_running_statistics_in_training_only(features: int) -> None:
    after = state(
        f"import torch\nm = torch.nn.BatchNorm1d({features})\nr = m.running_mean\n"
        f"x = torch.randn(4, {features})\ny = m(x)\nm.eval()\nz = m(x)\n"
    )

    assert after["changed"]["5"]["r"] == ["data"]
    assert after["changed"]["5"]["m.running_var"] == ["data"]
    assert set(after["changed"]["7"]) == {"z"}


def test_nodes_that_threads_make_alike_are_told_apart() -> None:
    after = state(
        "import threading\nimport torch\nw = torch.ones(2, requires_grad=True)\nout = {}\n"
        "def work(i):\n    out[i] = w * 2\n"
        "ts = [threading.Thread(target=work, args=(i,)) for i in range(3)]\n"
        "for t in ts: t.start()\nfor t in ts: t.join()\n"
        "a, b, c = out[0], out[1], out[2]\nb.sum().backward()\n"
    )
    nodes = {name: tensor(after, name)["grad_fn"] for name in "abc"}

    assert len(set(nodes.values())) == 3
    assert [node(after, name)["saved"][0]["freed"] for name in "abc"] == [False, True, False]
    assert gradient(after, "w")["values"] == [2.0, 2.0]


def test_memory_of_a_buffer_is_not_of_pytorch_and_counts_once() -> None:
    source = (
        "import torch\nb = bytearray(8)\nx = torch.frombuffer(b, dtype=torch.int16)\n"
        "y = torch.frombuffer(b, dtype=torch.uint8, offset=4)\nb[4] = 3\n"
    )
    after = state(source)

    assert traits(after, "x") == {"foreign-memory": {}}
    assert after["bytes"]["alive"] == {"cpu": 8}
    assert after["changed"]["5"] == {"x": ["data"], "y": ["data"]}
    assert "memory that PyTorch did not allocate" in said(traced(source), 3)[0]


def test_views_made_without_gradients_say_why_their_history_is_lost() -> None:
    after = state(
        "import torch\nb = torch.ones(4, requires_grad=True) * 1\nwith torch.no_grad():\n    v = b[:2]\n"
        "b.add_(1)\nk = 1\n"
    )

    assert traits(after, "v") == {"grad-fn-unavailable": {"why": "no-grad"}}


def test_dual_numbers_and_differentiated_tensors_are_named() -> None:
    source = (
        "import torch\nimport torch.autograd.forward_ad as fw\nwith fw.dual_level():\n"
        "    d = fw.make_dual(torch.ones(2), torch.ones(2))\n    y = d * 2\nz = torch.ones(2)\n"
        "def f(v):\n    u = v * 2\n    return u.sum()\ng = torch.func.grad(f)(z)\n"
    )
    trace = traced(source)
    dual = next(
        i for i, step in enumerate(trace.steps, 1) if trace.statements[step.statement].range.line == 5
    )
    inside = next(
        i for i, step in enumerate(trace.steps, 1) if trace.statements[step.statement].range.line == 8
    )

    assert traits(state(source, dual), "y") == {"dual": {"level": 0}}
    assert any("dual number" in sentence for sentence in said(trace, dual))
    assert "u and v" in printed(trace, step=inside) or "v and u" in printed(trace, step=inside)
    assert "differentiated by torch.func (level 1)" in printed(trace, step=inside)


def test_bytes_that_are_allocated_again_can_be_read_again() -> None:
    after = state(
        "import torch\nx = torch.ones(4)\ns = x.untyped_storage()\ns.resize_(0)\ns.resize_(16)\nx.fill_(2)\n"
    )

    assert traits(after, "x") == {}
    assert (tensor(after, "x")["values"], storage(after, "x")["nbytes"]) == ([2.0] * 4, 16)
