"""What a trace reaches: tensors in containers of libraries, variables that functions share, other threads."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from .children import in_child

State = Callable[..., dict[str, Any]]

CONTAINERS = {
    "a deque": (
        "from collections import deque\nq = deque([torch.zeros(1)], maxlen=2)\nq.append(torch.ones(2))\n",
        {"q[0]", "q[1]"},
    ),
    "a deque that lets go of its oldest": (
        "from collections import deque\nq = deque([torch.zeros(1)], maxlen=1)\nq.append(torch.ones(2))\n",
        {"q[0]"},
    ),
    "a namespace": (
        "from types import SimpleNamespace\nn = SimpleNamespace(x=torch.zeros(1), y=[torch.ones(1)])\n",
        {"n.x", "n.y[0]"},
    ),
    "parsed arguments": ("import argparse\na = argparse.Namespace(w=torch.ones(2))\n", {"a.w"}),
    "maps behind each other": (
        "from collections import ChainMap\nc = ChainMap({'a': torch.ones(1)})\n",
        {"c.maps[0]['a']"},
    ),
    "a partial call": (
        "from functools import partial\np = partial(torch.add, torch.ones(2), other=torch.ones(1))\n",
        {"p.args[0]", "p.keywords['other']"},
    ),
    "a function": (
        "def f(a, b=torch.ones(1), *, c=torch.zeros(1)):\n    pass\nf.last = torch.ones(3)\n",
        {"f.__defaults__[0]", "f.__kwdefaults__['c']", "f.last"},
    ),
    "lists and dictionaries of one's own": (
        "class L(list): pass\nclass D(dict): __getattr__ = dict.__getitem__\n"
        "s = L([torch.zeros(2)])\ns.best = torch.ones(1)\nd = D(w=torch.zeros(1))\n",
        {"s[0]", "s.best", "d['w']"},
    ),
    "a dataset": (
        "from torch.utils.data import TensorDataset, Subset\n"
        "d = Subset(TensorDataset(torch.zeros(2), torch.ones(2)), [0])\n",
        {"d.dataset.tensors[0]", "d.dataset.tensors[1]"},
    ),
    "a distribution": (
        "n = torch.distributions.Normal(torch.zeros(2), torch.ones(2))\n",
        {"n.loc", "n.scale"},
    ),
}


@pytest.mark.parametrize("kind", CONTAINERS)
def test_every_expression_that_gives_a_tensor_is_a_name(kind: str, state_after: State) -> None:
    program, names = CONTAINERS[kind]
    state = state_after("import torch\n" + program)

    assert set(state["bindings"]) == names
    variables: dict[str, Any] = {"__name__": "__main__"}
    exec("import torch\n" + program, variables)
    assert all(torch.is_tensor(eval(name, variables)) for name in names)


def test_a_container_that_answers_with_code_of_its_own_is_not_asked(state_after: State) -> None:
    state = state_after(
        """
        import torch
        class L(list):
            def __getitem__(self, i):
                print("asked")
                return list.__getitem__(self, i) * 2
            def __len__(self):
                print("counted")
                return 0
        s = L([torch.zeros(2)])
        s.kept = torch.ones(1)
        """
    )

    assert set(state["bindings"]) == {"s.kept"}
    assert state["stdout"] == ""


SHARED = """
import torch
def outer():
    local = torch.ones(2)
    def inner():
        nonlocal local
        local = local * 2
        made = local[:1]
        return made
    made = inner()
    return local, inner
r, inner = outer()
"""


def test_a_variable_that_a_called_function_binds_anew_frees_its_tensor_there(state_after: State) -> None:
    state = state_after(SHARED)
    first = next(s for s in state["storages"].values() if s["freed"])

    assert first["freed_line"] == 7
    assert state["changed"]["7"] == {"local": ["rebound"]}


def test_a_dictionary_of_locals_keeps_what_it_had(state_after: State) -> None:
    source = """
        import torch
        def f():
            x = torch.ones(2)
            def g():
                return x.sum()
            mine = locals()
            g()
            return sorted(mine), mine["x"] is x
        print(f())
        """
    state = state_after(source)

    # Python adds `mine` itself where it calls a trace function.
    assert state["stdout"] in ("(['g', 'mine', 'x'], True)\n", "(['g', 'x'], True)\n")


def test_code_that_is_executed_in_a_function_keeps_its_variables(state_after: State) -> None:
    state = state_after(
        """
        import torch
        def f():
            x = torch.ones(2)
            def g():
                return x.sum()
            exec("g(); y = x + 1; g(); print(y.tolist(), x.tolist())")
            return g
        f()
        """
    )

    assert (state["outcome"]["kind"], state["stdout"]) == ("finished", "[2.0, 2.0] [1.0, 1.0]\n")


def test_what_a_backward_pass_in_a_thread_frees_is_told_as_freed(state_after: State) -> None:
    source = """
        import threading, torch
        w = torch.ones(2, requires_grad=True)
        loss = (w * w).sum()
        t = threading.Thread(target=lambda: loss.backward())
        t.start()
        t.join()
        g = w.grad
        """
    state = in_child(lambda: state_after(source))
    saved = [slot for node in state["nodes"].values() for slot in node["saved"]]

    assert [slot["freed"] for slot in saved if slot["field"] in ("self", "other")] == [True, True]
    assert state["tensors"][str(state["bindings"]["g"])]["values"] == [2.0, 2.0]


COPIES = ("y.clone()", "y.double()", "y.t().contiguous()", "y.to(torch.float32)", "y + 1", "y.contiguous()")


@pytest.mark.parametrize("copy", COPIES)
def test_a_copy_of_an_inference_tensor_has_pytorchs_version(copy: str, state_after: State) -> None:
    source = f"import torch\nwith torch.inference_mode():\n    y = torch.ones(2, 3)\nz = {copy}\n"
    variables: dict[str, Any] = {}
    exec(source, variables)
    z = variables["z"]
    state = state_after(source)

    version = state["tensors"][str(state["bindings"]["z"])]["version"]
    assert version == (None if z.is_inference() else z._version)
