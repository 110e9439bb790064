"""A torch that lacks what we use of its inner parts: the facts that need it are not there, all others are."""

import builtins
import importlib
import sys
from typing import Any

import pytest
import torch

from .children import in_child

PROGRAM = """\
import torch
x = torch.arange(6.).reshape(2, 3)
y = x.t()
y.add_(1)
w = torch.ones(3, requires_grad=True)
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, t):
        return t * 2
    @staticmethod
    def backward(ctx, g):
        return g * 2
loss = Double.apply((x @ w).exp()).sum()
loss.backward()
torch._foreach_add_([x], 1)
z = torch.vmap(lambda t: t * 2)(x)
del y
"""

OF_MODULES = [
    "_C.DisableTorchFunction",
    "_C._DisableTorchDispatch",
    "_C._current_graph_task_id",
    "_C._current_autograd_node",
    "_C._dispatch_keys",
    "_C._functorch.is_batchedtensor",
    "_is_functional_tensor",
    "autograd.graph.increment_version",
]
OF_STORAGES = ["_cdata", "_weak_ref", "_expired", "_free_weak_ref"]
"""Types made in C++ do not let go of theirs, so only the tracer's own look at them finds nothing."""


def trace_without(path: str, *, really: bool) -> Any:
    """Take an attribute of torch away, load the tracer anew, trace; for a forked child."""
    owner_path, _, name = path.rpartition(".")
    owner = torch
    for part in filter(None, owner_path.split(".")):
        owner = getattr(owner, part)
    for module in [m for m in sys.modules if m.startswith("tensor_anatomy.tracing")]:
        del sys.modules[module]
    if really:
        kept = getattr(owner, name)
        delattr(owner, name)
    else:
        plain = getattr

        def lacking(thing: Any, wanted: str, *default: Any) -> Any:
            if thing is owner and wanted == name:
                return default[0]
            return plain(thing, wanted, *default)

        builtins.getattr = lacking
    private = importlib.import_module("tensor_anatomy.tracing.torch_private")
    from .. import conftest  # its `record` holds the tracer that was loaded first

    session = importlib.import_module("tensor_anatomy.tracing.session")
    conftest.record_program = session.record_program
    if really and name in ("increment_version", "_dispatch_keys"):
        setattr(owner, name, kept)  # PyTorch's own code needs it; the tracer has seen that it is not there
    from tensor_anatomy.schema.replay import state_document

    trace = conftest.record(PROGRAM)
    state = state_document(trace).model_dump(mode="json", by_alias=True)
    return {"state": state, "missing": private.unavailable()}


def check(found: Any, name: str) -> dict[str, Any]:
    state = found["state"]

    assert [path for path in found["missing"] if path.endswith(name)], found["missing"]
    assert state["outcome"]["kind"] == "finished", state["outcome"]
    assert state["changed"]["4"] == {"x": ["data"], "y": ["data"]}
    assert state["tensors"][str(state["bindings"]["x"])]["values"] == [[2, 3, 4], [5, 6, 7]]
    return state


@pytest.mark.parametrize("path", OF_MODULES)
def test_without_an_inner_part_of_torch_the_other_facts_stay(path: str) -> None:
    check(in_child(lambda: trace_without(path, really=True)), path.rpartition(".")[2])


def test_without_forward_mode_the_other_facts_stay() -> None:
    check(in_child(lambda: trace_without("_VF._unpack_dual", really=False)), "_unpack_dual")


@pytest.mark.parametrize("name", OF_STORAGES)
def test_without_weak_references_to_storages_none_is_said_to_be_freed(name: str) -> None:
    state = check(in_child(lambda: trace_without(f"UntypedStorage.{name}", really=False)), name)

    if name != "_cdata":
        assert not any(storage["freed"] for storage in state["storages"].values())


def test_this_torch_lacks_nothing() -> None:
    from tensor_anatomy.tracing.torch_private import unavailable

    assert unavailable() == {}
