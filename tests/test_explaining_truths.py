"""Explanations name what is at fault in the very program: the table and not the indices, the cut and not a
layer before it, a function's own name for a tensor. Each expectation was read off what PyTorch does.
"""

from typing import Any

import pytest
from tensor_anatomy.explaining import explain
from tensor_anatomy.explaining.edits import Text
from tensor_anatomy.messages.format import text_of

from .conftest import record
from .tracing.children import in_child

NET = "import torch\nnet = torch.nn.Linear(2, 3)\n"

SAID: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "an argmax behind a layer": (
        NET + "loss = net(torch.ones(4, 2)).argmax(1).float().mean()\nloss.backward()\n",
        "no-graph",
        ("aten::argmax",),
    ),
    "a comparison behind a layer": (
        NET + "loss = ((net(torch.ones(4, 2)) > 0) * 1.).sum()\nloss.backward()\n",
        "no-graph",
        ("aten::gt.Scalar",),
    ),
    "a layer under no_grad": (
        NET + "with torch.no_grad():\n    loss = net(torch.ones(1, 2)).sum()\nloss.backward()\n",
        "no-graph",
        ("**loss**", "line 4"),
    ),
    "a batch of one": (
        "import torch\ny = torch.nn.BatchNorm1d(3)(torch.ones(1, 3))\n",
        "batch-of-one",
        ("[1, 3]",),
    ),
    "an index that a table has not": (
        "import torch\ntable = torch.nn.Embedding(5, 2)\nids = torch.tensor([0, 5])\nv = table(ids)\n",
        "index-out-of-range",
        ("**table.weight**", "(5, 2)", "**ids**"),
    ),
    "a place of another shape": (
        "import torch\nx = torch.zeros(3, 4)\nx[:, 0] = torch.ones(2)\n",
        "broadcast-shape",
        ("in **x** has shape (3,)", "**torch.ones(2)** is (2,)"),
    ),
    "a parameter that cannot hold the result": (
        "import torch\nw = torch.nn.Parameter(torch.zeros(3))\n"
        "with torch.no_grad():\n    w *= torch.ones(2, 3)\n",
        "broadcast-shape",
        ("**w** is written in place", "shape (2, 3)"),
    ),
    "the bits of a float": (
        "import torch\na = torch.ones(2)\nb = ~a\n",
        "dtype-unsupported",
        ("~ does not exist for float32", "first: .bool()"),
    ),
    "an index to scatter to": (
        "import torch\nidx = torch.tensor([[4]])\nx = torch.zeros(2, 4).scatter(1, idx, 1.0)\n",
        "index-out-of-range",
        ("**torch.zeros(2, 4)**", "shape (2, 4)", "in **idx**"),
    ),
    "a graph behind a result without a name": (
        "import torch\nw = torch.ones(2, requires_grad=True)\ny = w ** 3\ny.sum().backward()\n"
        "g = torch.autograd.grad(y.sum(), w)\n",
        "backward-twice",
        ("behind **y**", "line 4"),
    ),
    "a state that a loop carries": (
        "import torch\nw = torch.ones(2, requires_grad=True)\nh = w * 0\nfor i in range(2):\n    h = h * w\n"
        "    loss = h.sum()\n    loss.backward()\n",
        "backward-twice",
        ("**h** still has the graph of the round before", "line 7"),
    ),
    "an error of a hook": (
        "import torch\nw = torch.ones(2, requires_grad=True)\nw.register_hook(lambda g: [][1])\n"
        "w.sum().backward()\n",
        "python-error",
        ("list index out of range",),
    ),
    "keys that a wrapper left": (
        NET + "net.load_state_dict({'module.' + k: v for k, v in net.state_dict().items()})\n",
        "state-dict",
        ("lacks weight and bias", "begins with module."),
    ),
    "shapes of another model": (
        NET + "net.load_state_dict(torch.nn.Linear(2, 4).state_dict())\n",
        "state-dict",
        ("weight: [4, 2] → [3, 2]",),
    ),
    "a subscript of two sizes": (
        "import torch\nq = torch.ones(2, 3)\ny = torch.einsum('ij,jk->ik', q, torch.ones(4, 2))\n",
        "broadcast-shape",
        ("Subscript j", "q (2, 3)", "(4, 2)"),
    ),
    "a layout without the op": (
        "import torch\nq = torch.quantize_per_tensor(torch.ones(2), .1, 0, torch.quint8)\ny = q + q\n",
        "dtype-unsupported",
        ("quantized tensors", "**q**", ".dequantize()"),
    ),
    "a nan under anomaly detection": (
        "import torch\nx = torch.tensor([-1.], requires_grad=True)\ny = x.sqrt()\n"
        "with torch.autograd.set_detect_anomaly(True):\n    y.sum().backward()\n",
        "nan-gradient",
        ("SqrtBackward0", "Line 3"),
    ),
    "an input smaller than the kernel": (
        "import torch\nc = torch.nn.Conv1d(3, 2, 5)\ny = c(torch.zeros(1, 3, 4))\n",
        "kernel-size",
        ("torch.zeros(1, 3, 4) has shape (1, 3, 4)",),
    ),
    "a condition of floats": (
        "import torch\nx = torch.ones(2)\nz = torch.where(x, 1, 0)\n",
        "index-dtype",
        ("**x** has dtype float32",),
    ),
    "a matrix that is not positive": (
        "import torch\nl = torch.linalg.cholesky(torch.tensor([[1., 2.], [2., 1.]]))\n",
        "torch-error",
        ("not positive-definite",),
    ),
    "half by float": (
        "import torch\na = torch.ones(2, 2).half()\nc = a @ torch.ones(2, 2)\n",
        "dtype-mismatch",
        ("float16", "float32"),
    ),
    "a module that is not there": (
        "import torch\nimport somewhere_else.inside as other\n",
        "python-error",
        ("somewhere_else", "NumPy", "--local"),
    ),
    "an error of a library": (
        "import torch\nw = torch.ones(2, requires_grad=True)\no = torch.optim.SGD([w * 2], lr=.1)\n",
        "python-error",
        ("can't optimize a non-leaf Tensor", "library code"),
    ),
}


def explained(source: str) -> dict[str, Any]:
    def work() -> dict[str, Any]:
        trace = explain(record(source))
        why = trace.explanation
        assert why is not None
        return {
            "class": why.class_,
            "caused_by": why.caused_by,
            "operands": list(why.operands),
            "said": " ".join(text_of("en", s.id, s.args) for s in why.sentences),
            "fixed": [Text(source).apply(fix.edits) for fix in why.fixes],
        }

    found: dict[str, Any] = in_child(work)
    return found


@pytest.mark.parametrize("what", SAID)
def test_the_sentences_are_true_of_the_program_at_hand(what: str) -> None:
    source, name, words = SAID[what]
    found = explained(source)

    assert found["class"] == name
    assert [word for word in words if word.replace("**", "") not in found["said"].replace("**", "")] == []
    assert "?" not in found["said"]


def test_a_saved_tensor_is_called_as_the_function_called_it_that_made_it() -> None:
    found = explained(
        "import torch\nw = torch.ones(3, requires_grad=True)\n"
        "def forward(x):\n    h = x.sigmoid()\n    h += 1\n    return h.sum()\n"
        "loss = forward(w)\nloss.backward()\n"
    )

    assert (found["caused_by"], found["operands"]) == (5, ["h"])
    assert "    h = h + 1\n" in found["fixed"][0]
    assert in_child(lambda: record(found["fixed"][0]).outcome.kind) == "finished"


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ("loss = ((column - row) ** 2).mean()\n", True),
        ("loss = torch.sum((row - column).abs())\n", True),
        ("loss = ((column - row[:, None]) ** 2).mean()\n", False),
        ("loss = ((row[:, None] - row) ** 2).mean()\n", False),
        ("apart = column - row\n", False),
        ("loss = (column.mean() - row).sum()\n", False),
    ],
)
def test_a_mean_over_differences_of_every_pair_is_noticed_where_a_column_meets_a_row(
    lines: str, told: bool
) -> None:
    source = f"import torch\ncolumn = torch.arange(3.).view(3, 1)\nrow = torch.arange(3.)\n{lines}"
    notes = in_child(lambda: [f"{note.class_} on line {note.line}" for note in explain(record(source)).notes])

    assert notes == (["silent-broadcast on line 4"] if told else [])
