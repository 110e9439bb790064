"""Operands on two devices fail as they do on CUDA, in its words; what CUDA lets pass passes."""

import re
from pathlib import Path

import pytest
import torch
import torchgen
from tensor_anatomy.tracing.simulated_cuda.wrappers import WRAPPERS, compared
from torchgen import dest, gen
from torchgen.model import DispatchKey
from torchgen.selective_build.selector import SelectiveBuilder
from torchgen.utils import Target

from .running import run

PLACES = """
from torch import nn
import torch.nn.functional as F
g = torch.ones(2, 2, device="cuda")
c = torch.ones(2, 2)
"""
TWO = "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"


def elsewhere(name: str, wrapper: str, place: str = "cpu", others: str = "cuda:0") -> str:
    return (
        f"Expected all tensors to be on the same device, but got {name} is on {place}, different from "
        f"other tensors on {others} (when checking argument in method wrapper_CUDA_{wrapper})"
    )


TYPES = "Input type ({}) and weight type ({}) should be the same"
ON_HOST, ON_DEVICE = "torch.FloatTensor", "torch.cuda.FloatTensor"

REFUSED = [
    ("g + c", TWO),
    ("c + g", TWO),
    ("g * torch.ones(1)", TWO),
    ("c * torch.tensor(2., device='cuda')", TWO),
    ("g.add_(c)", TWO),
    ("c.add_(g)", TWO),
    ("torch.zeros(()).add_(g.sum())", TWO),
    ("g == c", TWO),
    ("torch.maximum(g, c)", TWO),
    ("torch.where(g > 0, g, c)", TWO),
    ("torch.add(g, g, out=c)", TWO),
    ("F.mse_loss(g, c)", TWO),
    ("F.l1_loss(g, c)", TWO),
    ("F.binary_cross_entropy(g, c)", TWO),
    ("F.binary_cross_entropy_with_logits(g, c)", TWO),
    ("g[torch.tensor([0])] = c[:1]", TWO),
    ("g @ c", elsewhere("mat2", "mm")),
    ("c @ g", elsewhere("mat2", "mm", "cuda:0", "cpu")),
    ("torch.bmm(g[None], c[None])", elsewhere("mat2", "bmm")),
    ("torch.einsum('ij,jk->ik', g, c)", elsewhere("mat2", "bmm")),
    ("g[0] @ c[0]", elsewhere("tensor", "_dot")),
    ("torch.addmm(c, g, g)", elsewhere("mat1", "addmm", "cuda:0", "cpu")),
    ("nn.Linear(2, 2).cuda()(c)", elsewhere("mat1", "addmm")),
    ("nn.Linear(2, 2)(g)", elsewhere("mat1", "addmm", "cuda:0", "cpu")),
    ("nn.Embedding(3, 2).cuda()(torch.tensor([1]))", elsewhere("index", "_index_select")),
    ("nn.Embedding(3, 2)(torch.tensor([1]).cuda())", elsewhere("index", "_index_select", "cuda:0", "cpu")),
    ("F.cross_entropy(g, torch.tensor([0, 1]))", elsewhere("target", "nll_loss_forward")),
    ("F.nll_loss(g, torch.tensor([0, 1]))", elsewhere("target", "nll_loss_forward")),
    ("torch.cat([g, c])", elsewhere("tensors", "cat")),
    ("torch.cat([c, g])", elsewhere("tensors", "cat", "cuda:0", "cpu")),
    ("torch.stack([g, c])", elsewhere("tensors", "cat")),
    ("torch.gather(g, 1, torch.tensor([[0], [1]]))", elsewhere("index", "gather")),
    ("g.index_select(0, torch.tensor([0]))", elsewhere("index", "_index_select")),
    ("g.masked_select(c > 0)", elsewhere("mask", "_masked_select")),
    ("g.scatter_(1, torch.tensor([[0], [1]]), 1.)", elsewhere("index", "scatter__value")),
    ("nn.LayerNorm(2)(g)", elsewhere("weight", "_native_layer_norm")),
    ("nn.BatchNorm1d(2)(g)", elsewhere("weight", "_native_batch_norm")),
    ("nn.BatchNorm2d(2)(g.expand(2, 2, 2, 2))", elsewhere("weight", "_cudnn_batch_norm")),
    ("torch.mm(g, g, out=c)", elsewhere("self", "mm_out_out", "cuda:0", "cpu")),
    ("torch.cat([g, g], out=torch.empty(4, 2))", elsewhere("tensors", "cat_out_out", "cuda:0", "cpu")),
    ("g.masked_scatter(g > 0, c)", elsewhere("source", "_masked_scatter_")),
    (
        "F.scaled_dot_product_attention(g[None, None], g[None, None], g[None, None], c[None, None])",
        elsewhere("attn_bias", "__scaled_dot_product_efficient_attention"),
    ),
    (
        "F.scaled_dot_product_attention(g[None], c[None], c[None])",
        "Expected query, key, and value to have the same device type, but got query.device: cuda:0 "
        "key.device: cpu and value.device: cpu instead.",
    ),
    (
        "F.grid_sample(g[None, None], torch.zeros(1, 2, 2, 2), align_corners=False)",
        "grid_sampler(): expected input and grid to be on same device, "
        "but input is on cuda:0 and grid is on cpu",
    ),
    (
        "torch.stft(torch.ones(64, device='cuda'), 16, window=torch.ones(16), return_complex=True)",
        "stft input and window must be on the same device but got self on cuda:0 and window on cpu",
    ),
    (
        "torch.linalg.multi_dot([g, c])",
        "multi_dot(): all tensors must be on the same device but tensor 0 is on cuda:0 and tensor 1 on cpu",
    ),
    ("torch.block_diag(g, c)", "torch.block_diag: input tensors must all be on the same device."),
    ("torch.meshgrid(g[0], c[0], indexing='ij')", "meshgrid expects all tensors to have the same device"),
    (
        "g.quantile(torch.tensor([0.5]))",
        "quantile() q tensor must be on the same device as the input tensor",
    ),
    (
        "g.tensor_split(torch.tensor([1], device='cuda'))",
        "tensor_split expected tensor_indices_or_sections to be on cpu, but it's on cuda:0",
    ),
    ("c.masked_fill(c > 0, g.sum())", "masked_fill_: Expected inputs to be on same device"),
    (
        "g.set_(c)",
        'Attempted to set the storage of a tensor on device "cuda:0" to a storage on different device '
        '"cpu".  This is no longer allowed; the devices must match.',
    ),
    (
        "g.index_put_((torch.tensor([0]),), c[:1], accumulate=True)",
        "expected device cuda:0 but got device cpu for value tensor",
    ),
    (
        "nn.Parameter(g.clone()).mul(2).backward(c)",
        "invalid gradient at index 0 - expected device cuda:0 but got cpu",
    ),
    ("nn.Conv2d(1, 1, 1).cuda()(c[None, None])", TYPES.format(ON_HOST, ON_DEVICE)),
    ("nn.Conv2d(1, 1, 1)(g[None, None])", TYPES.format(ON_DEVICE, ON_HOST)),
    (
        "nn.LSTM(2, 2).cuda()(c)",
        "Input and parameter tensors are not at the same device, "
        "found input tensor at cpu and parameter tensor at cuda:0",
    ),
    (
        "nn.GRU(2, 2).cuda()(g[None], torch.zeros(1, 2, 2))",
        "Input and hidden tensors are not at the same device, "
        "found input tensor at cuda:0 and hidden tensor at cpu",
    ),
    (
        "c[torch.tensor([0], device='cuda')]",
        "indices should be either on cpu or on the same device as the indexed tensor (cpu)",
    ),
    (
        "g.masked_fill(c > 0, 1.)",
        "expected self and mask to be on the same device, but got mask on cpu and self on cuda:0",
    ),
    (
        "nn.Parameter(g).grad = c",
        "attempting to assign a gradient with device type 'cpu' to a tensor with device type 'cuda'. "
        "Please ensure that the gradient and the tensor are on the same device",
    ),
    (
        "nn.utils.rnn.pack_padded_sequence(g[None], torch.tensor([2]).cuda(), batch_first=True)",
        "'lengths' argument should be a 1D CPU int64 tensor, but got 1D cuda:0 Long tensor",
    ),
    (
        "torch.rand(2, generator=torch.Generator(), device='cuda')",
        "Expected a 'cuda' device type for generator but found 'cpu'",
    ),
    ("g.pin_memory()", "cannot pin 'torch.cuda.FloatTensor' only dense CPU tensors can be pinned"),
]


@pytest.fixture(scope="module")
def said() -> dict[str, str]:
    """What each expression raises, in one program."""
    attempts = "\n".join(
        f"try:\n    {text}\nexcept RuntimeError as e:\n    print({i}, str(e).splitlines()[0])"
        for i, (text, _) in enumerate(REFUSED)
    )
    ran = run(f"{PLACES}\n{attempts}\n", statements=100_000)
    assert ran.error is None
    numbered = dict(line.split(" ", 1) for line in ran.printed)
    return {text: numbered.get(str(i), "nothing") for i, (text, _) in enumerate(REFUSED)}


@pytest.mark.parametrize(("expression", "message"), REFUSED, ids=[text for text, _ in REFUSED])
def test_operands_on_two_devices_are_refused_in_the_words_of_cuda(
    said: dict[str, str], expression: str, message: str
) -> None:
    assert said[expression] == message


def test_a_tensor_on_a_device_becomes_no_array() -> None:
    ran = run("x = torch.ones(2, device='cuda', requires_grad=True)\nx.numpy()\n")

    assert ran.error == (
        "TypeError: can't convert cuda:0 device type tensor to numpy. "
        "Use Tensor.cpu() to copy the tensor to host memory first."
    )


def test_a_device_that_is_not_there_cannot_be_used() -> None:
    ran = run("x = torch.ones(2, device='cuda:1')\n")

    assert ran.error is not None
    assert ran.error.startswith("AcceleratorError: CUDA error: invalid device ordinal\n")


def test_two_devices_are_a_setting_and_do_not_mix() -> None:
    ran = run("a = torch.ones(2, device='cuda:0')\nb = torch.ones(2, device='cuda:1')\na + b\n", devices=2)

    assert ran.error == f"RuntimeError: {TWO.replace('and cpu', 'and cuda:1')}"
    assert (ran.device("a"), ran.device("b")) == ("cuda:0", "cuda:1")


def test_what_cuda_lets_pass_passes() -> None:
    ran = run(
        """
        g = torch.arange(4., device="cuda").reshape(2, 2)
        c = torch.ones(2, 2)
        print((g * torch.tensor(2.)).device, (torch.tensor(2.) * g).device, (g * 2).device)
        print(g[torch.tensor([1])].device, g[torch.tensor([True, False])].device)
        print(torch.where(g > 0, g, torch.tensor(0.)).device, (torch.zeros(()) + g.sum()).device)
        g[0] = c[0]
        g[torch.tensor([1])] = torch.tensor(9.)
        g[g > 8] = 7.
        c.copy_(g)
        c[0, 0] = torch.tensor(1., device="cuda")
        print(g.quantile(0.5).item(), torch.zeros(1).fill_(g[1, 1]).device)
        w = torch.ones(2, device="cuda", requires_grad=True)
        w.sum().backward(torch.tensor(2.))
        print(w.grad)
        print(c.tolist(), c.device, g.cpu().numpy().shape)
        """
    )

    assert ran.printed == [
        "cuda:0 cuda:0 cuda:0",
        "cuda:0 cuda:0",
        "cuda:0 cuda:0",
        "4.0 cpu",
        "tensor([2., 2.], device='cuda:0')",
        "[[1.0, 1.0], [7.0, 7.0]] cpu (2, 2)",
    ]


def test_a_function_of_ones_own_that_returns_a_gradient_from_elsewhere_is_named() -> None:
    ran = run(
        """
        class Double(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, factor):
                return x * factor
            @staticmethod
            def backward(ctx, grad):
                return torch.full((2,), 2.), None
        x = torch.ones(2, device="cuda", requires_grad=True)
        Double.apply(x, 2).sum().backward()
        """
    )

    assert ran.error == (
        "RuntimeError: Function DoubleBackward returned an invalid gradient at index 0 "
        "- expected device cuda:0 but got cpu"
    )


@pytest.mark.slow
def test_the_wrappers_are_those_that_the_code_generator_of_pytorch_makes() -> None:
    made = wrappers_generated()

    for op, wrapper in WRAPPERS.items():
        name, _, overload = op.partition(".")
        function = getattr(getattr(torch.ops.aten, name), overload or "default")
        types = {a.name: str(a.type) for a in function._schema.arguments}
        compares = [argument for _, argument in compared(function) if "Tensor" in types[argument]]
        assert made.get(wrapper) == compares, op


def wrappers_generated() -> dict[str, list[str]]:
    """What each wrapper of a CUDA kernel compares, in order, by the generator that PyTorch ships."""
    native = Path(torchgen.__file__).parent / "packaged/ATen/native"
    parsed = gen.parse_native_yaml(str(native / "native_functions.yaml"), str(native / "tags.yaml"))
    write = dest.RegisterDispatchKey(
        parsed.backend_indices[DispatchKey.CUDA],
        Target.ANONYMOUS_DEFINITION,
        SelectiveBuilder.get_nop_selector(),
        rocm=False,
        symint=True,
        class_method_name=None,
        skip_dispatcher_op_registration=False,
    )
    text = "\n".join(
        part for group in gen.get_grouped_native_functions(parsed.native_functions) for part in write(group)
    )
    made: dict[str, list[str]] = {}
    for wrapper, argument in re.findall(
        r'update_common_device\(common_device, \w+, "(\w+)", "(\w+)"\)', text
    ):
        made.setdefault(wrapper, []).append(argument)
    return made
