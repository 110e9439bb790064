"""Changes that an explanation offers: what they change, that the result runs, what is not offered."""

import warnings

import pytest
from tensor_anatomy.explaining import explain
from tensor_anatomy.explaining.edits import Text
from tensor_anatomy.explaining.mending import MENDERS
from tensor_anatomy.messages import LANGUAGES, catalogue
from tensor_anatomy.schema import Note

from .conftest import record
from .tracing.children import in_child

HEAD = "import torch\n"
W = "w = torch.ones(3, requires_grad=True)\n"

# Name of the rule, the program, and per kind of change what stands in the changed one.
MENDED = {
    "a view": (
        "view-stride",
        "x = torch.arange(6.).reshape(2, 3).t()\ny = x.view(6)  # flat\n",
        {"reshape": "y = x.reshape(6)  # flat", "contiguous": "y = x.contiguous().view(6)  # flat"},
    ),
    "a view of a result": (
        "view-stride",
        "a = torch.ones(2, 3)\nz = (a + a).t().view(-1)\n",
        {"reshape": "z = (a + a).t().reshape(-1)", "contiguous": "z = (a + a).t().contiguous().view(-1)"},
    ),
    "a saved result": (
        "saved-tensor-modified",
        W + "y = w.exp()\ns = y.sum()\ny.add_(1)\ns.backward()\n",
        {"rewrite": "y = y.add(1)"},
    ),
    "an element of a saved result": (
        "saved-tensor-modified",
        W + "y = w.exp()\ns = y.sum()\ny[0] = 5\ns.backward()\n",
        {"clone": "y = y.clone()\ny[0] = 5"},
    ),
    "a leaf": (
        "leaf-in-place",
        W + "w -= 0.1  # a step\n",
        {"no-grad": "no_grad():\n    w -= 0.1  # a step"},
    ),
    "a leaf in a loop": (
        "leaf-in-place",
        W + "for i in range(2):\n    w.mul_(2)\n",
        {"no-grad": "    with torch.no_grad():\n        w.mul_(2)"},
    ),
    "an element of a leaf": ("leaf-in-place", W + "w[0] = 5\n", {"no-grad": "no_grad():\n    w[0] = 5"}),
    "backward twice": (
        "backward-twice",
        W + "s = w.exp().sum()\ns.backward()\ns.backward()\n",
        {"retain-graph": "s.backward(retain_graph=True)\ns.backward()"},
    ),
    "grad, then backward": (
        "backward-twice",
        W + "s = w.exp().sum()\n(g,) = torch.autograd.grad(s, w)\ns.backward()\n",
        {"retain-graph": "torch.autograd.grad(s, w, retain_graph=True)"},
    ),
    "backward of one result in a loop": (
        "backward-twice",
        W + "s = w.exp().sum()\nfor i in range(2):\n    s.backward()\n",
        {"retain-graph": "    s.backward(retain_graph=True)"},
    ),
    "a result of before the loop, beside a sum for printing": (
        "backward-twice",
        W + "s = w.exp()\ntotal = 0\nfor i in range(2):\n    loss = s.sum()\n    total = total + loss\n"
        "    loss.backward()\n",
        {"retain-graph": "    loss.backward(retain_graph=True)"},
    ),
    "a result of before the loop, in a running sum": (
        "backward-twice",
        W + "s = w.exp()\ntotal = 0\nfor i in range(2):\n    total = total + s.sum()\n    total.backward()\n",
        {"retain-graph": "    total.backward(retain_graph=True)"},
    ),
    "a state that a loop carries": (
        "backward-twice",
        W + "h = torch.zeros(3)\nfor i in range(3):\n    h = torch.tanh(w * h + 1)\n    h.sum().backward()\n",
        {"detach-carried": "    h.sum().backward()\n    h = h.detach()\n"},
    ),
    "the states of an LSTM": (
        "backward-twice",
        "m = torch.nn.LSTM(2, 3)\ns = None\nfor i in range(2):\n    y, s = m(torch.ones(1, 1, 2), s)\n"
        "    y.sum().backward()  # of a round\n",
        {"detach-carried": "  # of a round\n    s = tuple(each.detach() for each in s)\n"},
    ),
    "two states, and one cut on the way": (
        "backward-twice",
        W + "h, c, d = w * 0, w * 0, w * 0\nfor i in range(2):\n"
        "    h, c, d = h * w + c, c * w, d.detach() * w\n"
        "    if i < 9:\n        (h + d).sum().backward()\n",
        {"detach-carried": "backward()\n    h, c = h.detach(), c.detach()\n"},
    ),
    "a running sum": (
        "backward-twice",
        W + "total = 0\nfor i in range(2):\n    total += (w * w).sum()\n    total.backward()\n",
        {"detach-carried": "    total.backward()\n    total = total.detach()\n"},
    ),
    "no leaf": (
        "no-graph",
        "x = torch.tensor([1., 2.])\nloss = (x * 2).sum()\nloss.backward()\n",
        {"requires-grad": "x = torch.tensor([1., 2.], requires_grad=True)"},
    ),
    "a graph cut": (
        "no-graph",
        W + "loss = (w * 2).sum().detach()\nloss.backward()\n",
        {"keep-graph": "loss = (w * 2).sum()\n"},
    ),
    "numpy": ("numpy-requires-grad", W + "a = w.numpy()\n", {"detach": "a = w.detach().numpy()"}),
    "numpy of a sum": (
        "numpy-requires-grad",
        W + "a = (w + 1).numpy()\n",
        {"detach": "a = (w + 1).detach().numpy()"},
    ),
    "an array": (
        "numpy-requires-grad",
        "import numpy as np\n" + W + "a = np.asarray(w)\n",
        {"detach": "np.asarray(w.detach())"},
    ),
    "integers and floats": (
        "dtype-mismatch",
        "x = torch.ones(2, 3, dtype=torch.int64)\nv = torch.ones(3, 2)\ny = x @ v\n",
        {"to-dtype": "y = x.float() @ v"},
    ),
    "doubles for a layer of floats": (
        "dtype-mismatch",
        "layer = torch.nn.Linear(2, 1)\nx = torch.ones(4, 2, dtype=torch.float64)\ny = layer(x)\n",
        {"to-dtype": "y = layer(x.float())"},
    ),
    "classes that are floats": (
        "dtype-mismatch",
        "p = torch.ones(2, 3)\nt = torch.ones(2, 1).squeeze()\nl = torch.nn.functional.nll_loss(p, t)\n",
        {"to-dtype": "nll_loss(p, t.long())"},
    ),
    "an index that is a float": (
        "index-dtype",
        "x = torch.arange(4.)\ni = torch.tensor([0., 2.])\ny = x[i]\n",
        {"to-dtype": "y = x[i.long()]"},
    ),
    "not one number": ("backward-non-scalar", W + "y = w * 2\ny.backward()\n", {"sum": "y.sum().backward()"}),
    "an unused input": (
        "unused-in-graph",
        W + "v = torch.ones(1, requires_grad=True)\ng = torch.autograd.grad(w.sum(), [w, v])\n",
        {"allow-unused": "[w, v], allow_unused=True)"},
    ),
    "integers that require grad": (
        "integer-requires-grad",
        "x = torch.tensor([1, 2], requires_grad=True)\n",
        {"float": "torch.tensor([1, 2], requires_grad=True, dtype=torch.float32)"},
    ),
    "no leaf any more": (
        "requires-grad-non-leaf",
        W + "y = w * 2\ny.requires_grad = False\n",
        {"detach": "y = y.detach()"},
    ),
    "a view detached in place": (
        "detach-view",
        "h = torch.ones(2, 3, requires_grad=True) * 2\nfirst = h[0]\nfirst.detach_()\n",
        {"detach": "first = first.detach()"},
    ),
    "an expanded tensor": (
        "overlapping-write",
        "b = torch.ones(2)\nt = b.expand(3, 2)\nt.add_(1)\n",
        {"clone": "t = t.clone()\nt.add_(1)"},
    ),
    "moved by one": (
        "overlapping-write-source",
        "b = torch.arange(8)\nb[1:] = b[:-1]\n",
        {"clone-source": "b[1:] = b[:-1].clone()"},
    ),
    "half a step of an integer": (
        "dtype-cast",
        "n = torch.tensor([1, 2])\nn += 0.5\n",
        {"rewrite": "n = n + 0.5"},
    ),
    "a result that does not fit": (
        "in-place-shape",
        "x = torch.ones(3, 1)\nx += torch.ones(3, 4)\n",
        {"rewrite": "x = x + torch.ones(3, 4)"},
    ),
    "one minus a mask": (
        "bool-minus",
        "mask = torch.tensor([True])\nleft = 1 - mask\n",
        {"invert": "left = ~mask"},
    ),
    "an activation in place": (
        "saved-tensor-modified",
        "y = torch.ones(2, requires_grad=True).sigmoid()\n"
        "z = torch.nn.functional.relu(y, inplace=True)\nz.sum().backward()\n",
        {"rewrite": "z = torch.nn.functional.relu(y, inplace=False)"},
    ),
    "a mask of floats": (
        "mask-dtype",
        "x = torch.zeros(2)\nm = torch.tensor([1., 0.])\ny = x.masked_fill(m, 5)\n",
        {"to-dtype": "y = x.masked_fill(m.bool(), 5)"},
    ),
    "a tensor for a parameter": (
        "assign-parameter",
        "net = torch.nn.Linear(2, 1)\nnet.weight = torch.zeros(1, 2)\n",
        {"parameter": "net.weight = torch.nn.Parameter(torch.zeros(1, 2))"},
    ),
    "a list of tensors": (
        "item-non-scalar",
        "rows = [torch.zeros(2), torch.ones(2)]\nm = torch.tensor(rows)\n",
        {"stack": "m = torch.stack(rows)"},
    ),
    "an array that runs backwards": (
        "negative-strides",
        "import numpy\na = numpy.zeros(3)[::-1]\nt = torch.from_numpy(a)\n",
        {"array-copy": "t = torch.from_numpy(a.copy())"},
    ),
    "a sparse tensor": (
        "sparse-uncoalesced",
        "s = torch.sparse_coo_tensor(torch.tensor([[0, 0]]), torch.ones(2), (3,))\nv = s.values()\n",
        {"coalesce": "v = s.coalesce().values()"},
    ),
    "gradients that were cleared": (
        "grad-none",
        "m = torch.nn.Linear(2, 1)\no = torch.optim.SGD(m.parameters(), lr=0.1)\n"
        "m(torch.ones(1, 2)).sum().backward()\no.zero_grad()\nm.weight.grad.add_(1)\n",
        {"zeros": "o.zero_grad(set_to_none=False)"},
    ),
}
ON_CUDA = {
    "two devices": (
        "device-mismatch",
        'x = torch.ones(3)\nw = torch.ones(3, device="cuda")\ny = x * w\n',
        {"to-device": "y = x.to(w.device) * w"},
    ),
    "a device and numpy": (
        "device-numpy",
        'x = torch.ones(3, device="cuda")\na = x.numpy()\n',
        {"cpu": "a = x.cpu().numpy()"},
    ),
}
ALL = MENDED | ON_CUDA

NOT_OFFERED = {
    "two leaves may be meant": "a = torch.ones(2)\nb = torch.ones(2)\n(a * b).sum().backward()\n",
    "a second name reads the old tensor": "n = torch.tensor([1, 2])\nm = n\nn += 0.5\n",
    "two statements share the line": W + "a = 1; w -= 0.1\n",
    "the name stands twice in the expression": (
        "x = torch.ones(2, 2, dtype=torch.int64)\nv = torch.ones(2, 2)\ny = torch.addmm(v, x, x.t())\n"
    ),
    "what failed is not PyTorch's": W + "raise ValueError('no')\n",
}


def mended(source: str, device: str = "cpu") -> dict[str, str]:
    """The changed program per kind of change."""

    def traced() -> dict[str, str]:
        trace = explain(record(source, device=device))
        assert trace.outcome.kind == "raised"
        offered = trace.explanation.fixes if trace.explanation else ()
        return {fix.kind: Text(source).apply(fix.edits) or "" for fix in offered}

    found: dict[str, str] = in_child(traced)
    return found


def outcome(source: str, device: str) -> str:
    kind: str = in_child(lambda: record(source, device=device).outcome.kind)
    return kind


@pytest.mark.parametrize("name", ALL)
def test_a_change_is_made_in_the_statement_at_fault_and_the_changed_program_runs(name: str) -> None:
    device = "simulated-cuda" if name in ON_CUDA else "cpu"
    rule, program, expected = ALL[name]
    source = HEAD + program
    found = mended(source, device)
    assert list(found) == list(expected)
    assert rule in MENDERS
    for kind, words in expected.items():
        assert words in found[kind]
        assert len(found[kind].splitlines()) - len(source.splitlines()) in (0, 1)
        if device == "cpu":
            with warnings.catch_warnings(action="ignore"):
                exec(compile(found[kind], "mended.py", "exec"), {})  # plain PyTorch
        else:
            assert outcome(found[kind], device) == "finished"


@pytest.mark.parametrize("why", NOT_OFFERED)
def test_nothing_is_offered_where_it_would_be_a_guess(why: str) -> None:
    assert mended(HEAD + NOT_OFFERED[why]) == {}


NOT_CLEARED = {
    "an optimizer": (
        "m = torch.nn.Linear(2, 1)\nopt = torch.optim.SGD(m.parameters(), lr=0.1)\nfor i in range(2):\n"
        "    loss = m(torch.ones(1, 2)).sum()\n    loss.backward()\n    opt.step()\n",
        "    opt.zero_grad()\n    loss.backward()",
    ),
    "one leaf": (
        W + "for i in range(2):\n    (w * 2).sum().backward()\n    v = w.grad * 2\n",
        "    w.grad = None\n    (w * 2).sum().backward()",
    ),
}


@pytest.mark.parametrize("what", NOT_CLEARED)
def test_gradients_that_nobody_clears_are_cleared_and_then_nothing_is_noticed(what: str) -> None:
    program, words = NOT_CLEARED[what]

    def noticed(source: str) -> list[Note]:
        return [n for n in explain(record(source)).notes if n.class_ == "forgotten-zero-grad"]

    def both() -> tuple[str, int]:
        (note,) = noticed(HEAD + program)
        assert note.fix is not None
        changed = Text(HEAD + program).apply(note.fix.edits) or ""
        return changed, len(noticed(changed))

    changed, left = in_child(both)
    assert words in changed
    assert left == 0


def test_two_optimizers_are_not_chosen_between() -> None:
    source = (
        HEAD + W + "v = torch.ones(1, requires_grad=True)\na = torch.optim.SGD([w], lr=0.1)\n"
        "b = torch.optim.SGD([v], lr=0.1)\nfor i in range(2):\n    (w.sum() * v).sum().backward()\n"
        "    a.step()\n    b.step()\n"
    )
    fixes = in_child(lambda: [note.fix for note in explain(record(source)).notes])
    assert fixes
    assert set(fixes) == {None}


def test_places_count_characters_and_not_bytes() -> None:
    source = HEAD + 'x = torch.ones(2, 3).t()\nnames = ["é", "中文", x.view(6)]\n'
    assert mended(source)["reshape"].splitlines()[2] == 'names = ["é", "中文", x.reshape(6)]'


def test_every_kind_of_change_has_words_in_both_languages() -> None:
    kinds = {kind for _, _, expected in ALL.values() for kind in expected} | {"zero-grad", "backend"}
    for language in LANGUAGES:
        assert {f"ui.compare.fix.{kind}" for kind in kinds} <= catalogue(language).keys()


def test_every_rule_that_can_be_mended_is_tried_here() -> None:
    assert {rule for rule, _, _ in ALL.values()} == set(MENDERS)
