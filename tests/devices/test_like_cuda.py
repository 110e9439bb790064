"""What PyTorch does in C++ by device, which a label beside CPU memory does not tell it, is as on CUDA."""

import pytest

from .running import run


def test_autocast_casts_what_is_on_the_device_and_nothing_else() -> None:
    ran = run(
        """
        h, d = torch.ones(2, 2), torch.ones(2, 2).cuda()
        with torch.autocast("cuda"):
            print((h @ h).dtype, (d @ d).dtype)
            print(torch.nn.Linear(2, 2)(h).dtype, torch.nn.Linear(2, 2).cuda()(d).dtype)
            with torch.device("cuda"):
                print((h @ h).dtype, (torch.ones(2, 2) @ d).dtype)
            with torch.autocast("cpu"):
                print((h @ h).dtype, (d @ d).dtype)
            with torch.autocast("cuda", enabled=False):
                print((h @ h).dtype, (d @ d).dtype)
        print((d @ d).dtype)
        """
    )

    half, whole = "torch.float16", "torch.float32"
    assert ran.printed == [
        f"{whole} {half}",
        f"{whole} {half}",
        f"{whole} {half}",
        f"torch.bfloat16 {half}",
        f"{whole} {whole}",
        whole,
    ]


@pytest.mark.parametrize(
    ("use", "gradient"),
    [
        ("g[0] = c.expand(2) * 3", "6."),
        ("g[torch.tensor([0])] = c * 3", "6."),
        ("g = g * c", "4."),
        ("g = torch.where(g > 0, c, g)", "4."),
        ("g.copy_(c.expand(2, 2))", "4."),
        ("g = g + c.cuda()", "4."),
    ],
)
def test_gradients_of_what_is_on_the_cpu_come_back_to_it(use: str, gradient: str) -> None:
    ran = run(
        f"""
        c = torch.tensor(2., requires_grad=True)
        g = torch.ones(2, 2, device="cuda")
        {use}
        g.sum().backward()
        print(c.grad, c.grad.device, g.device)
        """
    )

    assert (ran.error, ran.printed) == (None, [f"tensor({gradient}) cpu cuda:0"])
    assert ran.device("c") == "cpu"
    grad = ran.state["tensors"][str(ran.state["tensors"][str(ran.state["bindings"]["c"])]["grad"])]
    assert grad["device"] == "cpu"


def test_a_scalar_in_a_long_loop_gets_its_gradient_back_once() -> None:
    ran = run(
        """
        scale = torch.tensor(1., requires_grad=True)
        x = torch.ones(2, device="cuda")
        for _ in range(50):
            x = x * scale
        x.sum().backward()
        print(scale.grad, scale.grad.device)
        """
    )

    assert ran.printed == ["tensor(100.) cpu"]


def test_errors_name_the_types_that_tensors_have_on_cuda() -> None:
    lookup = "torch.nn.functional.embedding(torch.ones(2{}), torch.ones(2, 2{}))\n"
    there, here = (
        run(lookup.replace("{}", ", device='cuda'")),
        run(lookup.replace("{}", ""), "simulated-cuda"),
    )

    assert "but got torch.cuda.FloatTensor instead" in (there.error or "")
    assert "but got torch.FloatTensor instead" in (here.error or "")


def test_data_parallel_on_one_device_is_a_plain_call() -> None:
    ran = run(
        """
        model = torch.nn.DataParallel(torch.nn.Linear(2, 1).cuda())
        x = torch.ones(4, 2, requires_grad=True)
        y = model(x)
        y.sum().backward()
        print(y.device, y.shape, model.device_ids, x.grad.device, model.module.weight.grad.device)
        """
    )

    assert ran.printed == ["cuda:0 torch.Size([4, 1]) [0] cpu cuda:0"]


@pytest.mark.parametrize(
    "attempt",
    [
        "torch.jit.trace(lambda x: x.cuda() * 2, torch.ones(2))",
        "torch.jit.trace(lambda x: torch.ones(2, device='cuda') + x.cuda(), torch.ones(2))",
        "torch.jit.trace(lambda x: x * 2, torch.ones(2).cuda())",
        "torch.jit.script(move)",
    ],
)
def test_what_cannot_be_simulated_is_refused_by_name(attempt: str) -> None:
    ran = run(
        f"def move(x):\n    return x.to('cuda')\n{attempt}\n",
        "simulated-cuda",
        devices=2,
    )

    assert (ran.error or "").startswith("NotSimulated: simulated CUDA: "), ran.error


def test_streams_and_events_of_torch_itself_are_simulated_too() -> None:
    ran = run("s = torch.Stream('cuda')\ne = torch.Event('cuda')\nprint(s.query(), e.query(), s.device)\n")

    assert ran.printed == ["True True cuda:0"]


def test_a_simulated_allocator_tells_its_figures_and_that_it_is_a_model() -> None:
    ran = run("x = torch.ones(2, device='cuda')\ny = x.cpu()\ndel x\n")

    told = ran.events("allocator")
    assert [(e["line"], e["allocated_bytes"], e["reserved_bytes"]) for e in told] == [
        (2, 512, 2 << 20),
        (4, 0, 2 << 20),
    ]
    assert all(e["simulated"] for e in told)


def test_a_mask_that_pytorch_makes_for_itself_is_where_its_operands_are() -> None:
    ran = run(
        """
        from torch.nn.functional import scaled_dot_product_attention
        q = torch.randn(1, 2, 4, 8, device="cuda", requires_grad=True)
        out = scaled_dot_product_attention(q, q, q, dropout_p=0.5, is_causal=True)
        out.sum().backward()
        print(out.device, q.grad.device)
        """
    )

    assert (ran.error, ran.printed) == (None, ["cuda:0 cuda:0"])
