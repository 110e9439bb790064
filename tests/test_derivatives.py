"""Every formula that the details of a node show gives the gradient that autograd gives."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from tensor_anatomy.messages import catalogue

TABLE = json.loads((Path(__file__).parent.parent / "static/src/features/derivatives.json").read_text())
ROOM = {
    **{"torch": torch, "zeros": torch.zeros, "alpha": 2, "beta": 3, "dim": 0, "dim0": 0, "dim1": 1},
    **{"start": 0, "end": 2, "step": 2, "min": -0.3, "max": 0.3, "exponent": 3, "negative_slope": 0.01},
}
PICK = torch.tensor([[0, 1, 0], [1, 1, 0]])
BOTH, ONE, FEW = ("self", "other"), ("self",), torch.tensor([2, 0])
CALLS: dict[str, tuple[tuple[str, ...], Any]] = {
    "Abs": (ONE, torch.abs),
    "Add": (BOTH, lambda a, b: torch.add(a, b, alpha=2)),
    "Addmm": (("self", "mat1", "mat2"), lambda s, a, b: torch.addmm(s, a, b, beta=3, alpha=2)),
    "Bmm": (("self", "mat2"), torch.bmm),
    "Clamp": (ONE, lambda a: a.clamp(-0.3, 0.3)),
    "Clone": (ONE, torch.clone),
    "Cos": (ONE, torch.cos),
    "Cumsum": (ONE, lambda a: a.cumsum(0)),
    "Div": (BOTH, torch.div),
    "Dot": (("self", "tensor"), lambda a, b: a.dot(b)),
    "Exp": (ONE, torch.exp),
    "Expand": (ONE, lambda a: a[:, None].expand(3, 4, 3)),
    "Gather": (ONE, lambda a: a.gather(0, PICK)),
    "Index": (ONE, lambda a: a[FEW]),
    "IndexSelect": (ONE, lambda a: a.index_select(0, FEW)),
    "LeakyRelu": (ONE, torch.nn.functional.leaky_relu),
    "Log": (ONE, lambda a: a.log()),
    "LogSoftmax": (ONE, lambda a: a.log_softmax(0)),
    "Mean": (ONE, torch.mean),
    "Mm": (("self", "mat2"), torch.mm),
    "MseLoss": (("self", "target"), torch.nn.functional.mse_loss),
    "Mul": (BOTH, torch.mul),
    "Mv": (("self", "vec"), torch.mv),
    "Neg": (ONE, torch.neg),
    "Permute": (ONE, lambda a: a.permute(1, 0)),
    "Pow": (ONE, lambda a: a**3),
    "Prod": (ONE, torch.prod),
    "Relu": (ONE, torch.relu),
    "Rsqrt": (ONE, torch.rsqrt),
    "Select": (ONE, lambda a: a.select(0, 1)),
    "Sigmoid": (ONE, torch.sigmoid),
    "Sin": (ONE, torch.sin),
    "Slice": (ONE, lambda a: a[0:2:2]),
    "Softmax": (ONE, lambda a: a.softmax(0)),
    "Sqrt": (ONE, torch.sqrt),
    "Squeeze": (ONE, lambda a: a[None].squeeze()),
    "Sub": (BOTH, lambda a, b: torch.sub(a, b, alpha=2)),
    "Sum": (ONE, torch.sum),
    "T": (ONE, torch.t),
    "Tanh": (ONE, torch.tanh),
    "Transpose": (ONE, lambda a: a.transpose(0, 1)),
    "UnsafeView": (ONE, lambda a: torch.ops.aten._unsafe_view(a, [9])),
    "Unsqueeze": (ONE, lambda a: a.unsqueeze(0)),
    "View": (ONE, lambda a: a.view(9)),
    "Where": (BOTH, lambda a, b: torch.where(SETTINGS["Where"]["condition"], a, b)),
}
SETTINGS: dict[str, dict[str, Any]] = {
    "Expand": {"self_sizes": (3, 1, 3)},
    "Gather": {"index": PICK},
    "Index": {"indices": (FEW,)},
    "IndexSelect": {"index": FEW},
    "Permute": {"dims": torch.tensor([1, 0])},
    "Select": {"index": 1},
    "Where": {"condition": torch.tensor([[True, False, True]])},
}
SHAPES = {"Bmm": (2, 3, 3), "Dot": (4,)}


@pytest.mark.parametrize("name", CALLS)
def test_a_formula_gives_the_gradient_that_autograd_gives(name: str) -> None:
    fields, call = CALLS[name]
    torch.manual_seed(1)
    positive = name in {"Log", "Rsqrt", "Sqrt"}
    tensors = {}
    for field in fields:
        shape = (3,) if field == "vec" else SHAPES.get(name, (3, 3))
        drawn = torch.rand(shape) + 0.5 if positive else torch.randn(shape)
        tensors[field] = drawn.requires_grad_(field != "target")
    result = call(*tensors.values())
    made = result.grad_fn
    while not type(made).__name__.startswith(f"{name}Backward"):
        made = made.next_functions[0][0]  # the call has a view around it
    grad = torch.randn_like(result)
    source = tensors["self"]
    known = {**ROOM, "grad": grad, "result": result.detach(), **SETTINGS.get(name, {})}
    known |= {field: tensor.detach() for field, tensor in tensors.items()}
    known |= {"self_sizes": known.get("self_sizes", source.shape), "self_numel": source.numel()}
    formulas = TABLE[name][1]
    shown = [field for field in fields if field in formulas]
    expected = torch.autograd.grad(result, [tensors[f] for f in shown], grad)
    for field, want in zip(shown, expected, strict=True):
        torch.testing.assert_close(eval(formulas[field], dict(known)).reshape(want.shape), want)


def test_every_rule_has_its_words_and_every_formula_its_proof() -> None:
    words = catalogue("en")
    assert all(f"ui.rule.{kind}" in words for kind, _ in TABLE.values())
    unproven = {name for name, (_, formulas) in TABLE.items() if formulas and name not in CALLS}
    # Of several tensors, or of a view that PyTorch never records under this name.
    assert unproven == {"Cat", "Reshape", "Stack", "ToCopy", "Unbind"}
