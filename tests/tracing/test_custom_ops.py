"""Kernels of custom ops that are Python code count versions and make graphs as they do unwatched."""

import contextlib
import io
from collections.abc import Callable
from typing import Any

from .children import in_child

SOURCE = """import torch
library = torch.library.Library("{space}", "FRAGMENT")
library.define("twice_(Tensor(a!) x) -> ()")
library.define("square(Tensor x) -> Tensor")
def twice_(x):
    x.add_(1)
    torch._foreach_mul_([x], 2)
def square(x):
    return x * x
library.impl("twice_", twice_, "CPU")
library.impl("square", square, "CPU")
a = torch.zeros(3)
torch.ops.{space}.twice_(a)
torch.ops.{space}.twice_(a[1:])
w = torch.ones(2, requires_grad=True)
y = torch.ops.{space}.square(w)
print(a, a._version, y.requires_grad, type(y.grad_fn))
"""
CUSTOM = """
@torch.library.custom_op("{space}::cube_", mutates_args={{"x"}})
def cube_(x: torch.Tensor) -> None:
    x.pow_(3)
    x.add_(1)
b = torch.full((2,), 2.0)
cube_(b)
print(b, b._version)
"""


def both(state_after: Callable[..., dict[str, Any]], source: str) -> tuple[str, str, dict[str, list[str]]]:
    """What a program prints unwatched and watched, and the ops told of each line."""
    plain = io.StringIO()
    with contextlib.redirect_stdout(plain):
        exec(compile(source.format(space="plain"), "plain", "exec"), {"__name__": "plain"})
    state = state_after(source.format(space="heard"))
    assert state["outcome"]["kind"] == "finished", state["outcome"]
    return plain.getvalue(), state["stdout"], state["ops"]


def test_a_kernel_in_python_does_the_same_watched_and_is_told_line_by_line(
    state_after: Callable[..., dict[str, Any]],
) -> None:
    plain, watched, ops = in_child(lambda: both(state_after, SOURCE))

    assert watched == plain
    assert ops["6"] == ["aten::add_.Tensor"] * 2
    assert ops["7"] == ["aten::_foreach_mul_.Scalar"] * 2
    assert ops["9"] == ["aten::mul.Tensor"]


def test_a_decorated_op_counts_its_own_writes_and_those_of_its_kernel(
    state_after: Callable[..., dict[str, Any]],
) -> None:
    plain, watched, ops = in_child(lambda: both(state_after, "import torch" + CUSTOM))

    assert watched == plain == "tensor([9., 9.]) 3\n"
    assert (ops["4"], ops["5"]) == (["aten::pow_.Scalar"], ["aten::add_.Tensor"])
