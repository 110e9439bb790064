"""Programs that crash or mislead a careless tracer: the trace is made, and says what is so."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from ..conftest import LIMITS
from .children import in_child

State = Callable[..., dict[str, Any]]


def named(state: dict[str, Any], name: str) -> dict[str, Any]:
    tensor: dict[str, Any] = state["tensors"][str(state["bindings"][name])]
    return tensor


def test_bytes_that_are_gone_are_not_read(state_after: State) -> None:
    source = "import torch\nx = torch.zeros(4)\nx.untyped_storage().resize_(0)\ny = 1\n"
    state = in_child(lambda: state_after(source))

    assert named(state, "x")["values"] is None
    assert state["storages"][str(named(state, "x")["storage"])]["nbytes"] == 0


def test_nested_tensors_are_a_list_per_component(state_after: State) -> None:
    source = (
        "import torch\nparts = [torch.zeros(2), torch.ones(3)]\n"
        "n = torch.nested.nested_tensor(parts)\n"
        "j = torch.nested.nested_tensor(parts, layout=torch.jagged)\n"
    )
    state = in_child(lambda: state_after(source))

    assert named(state, "n")["values"] == [[0.0, 0.0], [1.0, 1.0, 1.0]]
    assert named(state, "j")["values"] == [[0.0, 0.0], [1.0, 1.0, 1.0]]
    assert named(state, "n")["shape"] is None


def test_a_write_through_data_changes_values_and_not_the_version(state_after: State) -> None:
    state = state_after("import torch\nx = torch.zeros(2)\ny = x.data\ny.add_(1)\n")

    assert (named(state, "x")["version"], named(state, "y")["version"]) == (0, 1)
    assert named(state, "x")["values"] == [1.0, 1.0]
    assert state["changed"]["4"] == {"x": ["data"], "y": ["data"]}


@pytest.mark.parametrize(
    "made", ["torch.nn.utils.rnn.pad_sequence([torch.ones(2), torch.ones(1)])", "torch.zeros(2)"]
)
def test_filling_counts_as_a_write_only_where_it_does_unwatched(state_after: State, made: str) -> None:
    plain = eval(made, {"torch": torch})._version

    assert named(state_after(f"import torch\nx = {made}\n"), "x")["version"] == plain


def test_numpy_writes_past_every_counter(state_after: State) -> None:
    state = state_after("import torch\nx = torch.zeros(2)\nn = x.numpy()\nn[0] = 5\n")

    assert named(state, "x")["values"] == [5.0, 0.0]
    assert named(state, "x")["version"] == 0
    assert state["changed"]["4"] == {"x": ["data"]}


def test_a_storage_is_freed_on_the_line_that_drops_its_last_view(state_after: State) -> None:
    state = state_after("import torch\nx = torch.zeros(4)\nv = x[1:]\ndel x\ndel v\n")
    (storage,) = state["storages"].values()

    assert (storage["freed"], storage["freed_line"]) == (True, 5)
    assert state["changed"]["4"] == {"x": ["deleted"]}


def test_locals_die_when_the_function_returns(state_after: State) -> None:
    state = state_after(
        """
        import torch
        def f():
            x = torch.zeros(4)
            return x.sum()
        y = f()
        """
    )

    assert state["bytes"]["alive"] == {"cpu": 4}


def test_lines_inside_a_call_end_before_the_line_of_the_call(trace_of: Callable[..., Any]) -> None:
    trace = trace_of("import torch\ndef f(a):\n    b = a + 1\n    return b\nx = f(torch.ones(2))\n")
    lines = [trace.statements[s.statement].range.line for s in trace.steps]

    assert lines == [1, 2, 3, 4, 5]
    assert [s.depth for s in trace.steps] == [0, 0, 1, 1, 0]


def test_a_generator_goes_on_where_it_stopped(trace_of: Callable[..., Any]) -> None:
    trace = trace_of(
        "import torch\ndef g():\n    x = torch.zeros(1)\n    yield x\n    x += 1\n    yield x\n"
        "it = g()\na = next(it)\nb = next(it)\n"
    )
    lines = [trace.statements[s.statement].range.line for s in trace.steps]

    assert lines == [1, 2, 7, 3, 4, 8, 5, 6, 9]


def test_a_statement_of_several_lines_is_one_step(trace_of: Callable[..., Any]) -> None:
    trace = trace_of("import torch\nx = torch.cat([\n    torch.zeros(2),\n    torch.ones(2),\n])\ny = 1\n")

    assert len(trace.steps) == 3
    assert len([e for e in trace.steps[1].events if e.kind == "op"]) == 3


def test_a_loop_on_one_line_is_a_step_per_iteration(trace_of: Callable[..., Any]) -> None:
    trace = trace_of("import torch\nx = torch.zeros(1)\nfor i in range(3): x += 1\n")

    assert [trace.statements[s.statement].range.line for s in trace.steps] == [1, 2, 3, 3, 3, 3]


def test_a_long_loop_is_folded_and_its_end_is_exact(state_after: State) -> None:
    state = state_after(
        """
        import torch
        w = torch.ones(2, requires_grad=True)
        for i in range(1500):
            y = (w * 2).sum()
            y.backward()
        z = w.grad + 1
        """
    )

    assert state["steps"] < 2020
    assert named(state, "z")["values"] == [3001.0, 3001.0]
    assert state["ops"]["7"] == ["aten::add.Tensor"]
    assert state["changed"]["6"] == {"w": ["autograd"]}


def test_an_endless_loop_is_stopped_and_keeps_its_state(state_after: State) -> None:
    limits = LIMITS.model_copy(update={"statements": 9000})
    state = state_after("import torch\nx = torch.zeros(1)\nwhile True:\n    x += 1\n", limits=limits)

    assert (state["outcome"]["kind"], state["outcome"]["reason"]) == ("stopped", "step-limit")
    assert named(state, "x")["version"] == named(state, "x")["values"][0] > 4000


def test_a_storage_is_freed_when_its_tensor_takes_another(state_after: State) -> None:
    state = state_after("import torch\nx = torch.zeros(2)\nx.set_(torch.ones(3))\nx.data = torch.zeros(5)\n")
    first, second, third = state["storages"].values()

    assert (first["freed_line"], second["freed_line"], third["freed"]) == (3, 4, False)


def test_a_warning_points_at_the_line_that_called(state_after: State) -> None:
    state = state_after(
        "import torch\nimport torch.nn.functional as F\n"
        "l = F.mse_loss(torch.zeros(3), torch.zeros(3, 1))\n"
        "g = (torch.ones(2, requires_grad=True) * 2).grad\n"
    )

    assert [(w["line"], w["category"]) for w in state["warnings"]] == [(3, "UserWarning"), (4, "UserWarning")]


def test_lines_are_heard_again_after_the_recursion_limit(state_after: State) -> None:
    source = (
        "import torch\ndef f(x):\n    return f(x + 1)\ntry:\n    f(torch.zeros(1))\n"
        "except RecursionError:\n    y = torch.ones(2)\nz = y + 1\n"
    )
    state = in_child(lambda: state_after(source))

    assert state["line"] == 8
    assert named(state, "z")["values"] == [2.0, 2.0]
    assert state["changed"]["8"] == {"z": ["new"]}


def test_a_wrapper_subclass_has_no_bytes_to_read(state_after: State) -> None:
    source = (
        "import torch\nclass W(torch.Tensor):\n    @staticmethod\n"
        "    def __new__(cls, n):\n"
        "        return torch.Tensor._make_wrapper_subclass(cls, (n,), dtype=torch.float32)\n"
        "    @classmethod\n"
        "    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):\n        return W(2)\n"
        "a = W(2)\n"
    )
    state = in_child(lambda: state_after(source))

    assert (state["outcome"]["kind"], named(state, "a")["values"]) == ("finished", None)


@pytest.mark.parametrize("write", ["y.add_(1)", "y[0] = 1"])
def test_a_write_past_the_version_of_a_large_storage_is_seen(state_after: State, write: str) -> None:
    state = state_after(
        f"import torch\nx = torch.zeros(5000)\ns = x[:4]\ny = x.data\n{write}\nk = 1\n", step=5
    )

    assert named(state, "s")["values"][0] == 1.0
    assert state["changed"]["5"]["s"] == ["data"]


def test_values_that_were_not_recorded_are_unknown_and_not_old(state_after: State) -> None:
    source = "import torch\nx = torch.zeros(5000)\ns = x[:4]\nfor i in range(6):\n    x.add_(1)\nk = 1\n"

    assert named(state_after(source, step=9), "s")["values"] == [3.0] * 4
    assert named(state_after(source, step=11), "s")["values"] is None
    assert named(state_after(source), "s")["values"] == [6.0] * 4


def test_nodes_of_two_threads_are_told_apart(state_after: State) -> None:
    source = (
        "import threading\nimport torch\nw = torch.ones(2, requires_grad=True)\nz = w * 2\nout = []\n"
        "def work():\n    out.append(w.exp())\nt = threading.Thread(target=work)\nt.start()\nt.join()\n"
        "y = out[0]\n"
    )
    state = in_child(lambda: state_after(source))

    assert state["nodes"][str(named(state, "y")["grad_fn"])]["name"] == "ExpBackward0"


def test_a_name_is_an_expression_that_gives_the_tensor(state_after: State) -> None:
    source = """
        import torch
        from collections import OrderedDict
        from torch import nn
        m = nn.Sequential(OrderedDict([('1', nn.Linear(1, 2)), ('0', nn.Linear(2, 3))]))
        n = nn.Module()
        n.add_module('a-b', nn.Linear(1, 4))
        d = {"it's": torch.ones(5), 'b\\\\s': torch.ones(6), float('inf'): torch.ones(7)}
        """
    state = state_after(source)
    names = {name: named(state, name)["shape"] for name in state["bindings"]}

    assert names["m[0].bias"] == [2]
    assert names["m[1].bias"] == [3]
    assert names["getattr(n, 'a-b').bias"] == [4]
    assert names["d['it\\'s']"] == [5]
    assert names["d['b\\\\s']"] == [6]
    assert names["list(d.values())[2]"] == [7]


def test_gradients_added_in_place_change_their_parameter(state_after: State) -> None:
    for size in (3, 5000):
        state = state_after(
            f"import torch\nw = torch.ones({size}, requires_grad=True)\n(w * 2).sum().backward()\n"
            "(w * 2).sum().backward()\nw.grad.zero_()\n"
        )

        assert state["changed"]["4"] == state["changed"]["5"] == {"w": ["autograd"]}


def test_one_warning_from_two_lines_is_two_warnings(state_after: State) -> None:
    state = state_after(
        "import torch\nimport torch.nn.functional as F\na = torch.zeros(3, 1)\nb = torch.zeros(3)\n"
        "for i in range(3):\n    l = F.mse_loss(a, b)\nm = F.mse_loss(a, b)\n"
    )

    assert [w["line"] for w in state["warnings"]] == [6, 7]


def test_attributes_of_a_custom_function_outlive_backward(state_after: State) -> None:
    state = state_after(
        """
        import torch
        class Times(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, k):
                ctx.save_for_backward(x)
                ctx.k = k + 1
                return x * k
            @staticmethod
            def backward(ctx, g):
                return g, None
        x = torch.ones(2, requires_grad=True)
        y = Times.apply(x, torch.ones(2))
        y.sum().backward()
        """
    )
    (node,) = [n for n in state["nodes"].values() if n["name"] == "TimesBackward"]

    assert {s["field"]: s["freed"] for s in node["saved"]} == {"tensors[0]": True, "ctx.k": False}
