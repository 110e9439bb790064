"""What programs ask of a device by name is answered as on CUDA, and says that it is simulated."""

import pytest

from .running import run

FACTORIES = [
    "torch.zeros(2, device='cuda')",
    "torch.ones(2, device=torch.device('cuda'))",
    "torch.empty(2, device='cuda:0')",
    "torch.full((2,), 1., device=0)",
    "torch.arange(3, device='cuda')",
    "torch.linspace(0, 1, 3, device='cuda')",
    "torch.logspace(0, 1, 3, device='cuda')",
    "torch.eye(2, device='cuda')",
    "torch.rand(2, device='cuda')",
    "torch.randn(2, device='cuda')",
    "torch.randint(0, 3, (2,), device='cuda')",
    "torch.randperm(4, device='cuda')",
    "torch.normal(0., 1., (2,), device='cuda')",
    "torch.empty_strided((2,), (1,), device='cuda')",
    "torch.tril_indices(2, 2, device='cuda')",
    "torch.hann_window(4, device='cuda')",
    "torch.fft.fftfreq(4, device='cuda')",
    "torch.scalar_tensor(1., device='cuda')",
    "torch.sparse_coo_tensor([[0, 1]], [1., 2.], device='cuda')",
    "torch.tensor([1., 2.], device='cuda')",
    "torch.as_tensor([1, 2], device='cuda')",
    "torch.asarray([1, 2], device='cuda')",
    "torch.tensor(x)",
    "torch.as_tensor(x)",
    "torch.zeros_like(x)",
    "torch.randn_like(x)",
    "torch.zeros_like(c, device='cuda')",
    "x.new_zeros(2)",
    "x.new_tensor([1.])",
    "x.new_full((2,), 3.)",
    "x.new(2)",
    "c.new_ones(2, device='cuda')",
    "torch.cuda.FloatTensor([1., 2.])",
    "torch.nn.Linear(2, 2, device='cuda').weight",
    "torch.nn.Parameter(x)",
]
MOVES = [
    "c.cuda()",
    "c.cuda(0)",
    "c.to('cuda')",
    "c.to('cuda:0', torch.float64)",
    "c.to(torch.device('cuda', 0), non_blocking=True)",
    "c.to(device='cuda', dtype=torch.float16, copy=True)",
    "c.to(0)",
    "c.to(x)",
    "c.type_as(x)",
    "c.type(torch.cuda.FloatTensor)",
    "c.type('torch.cuda.DoubleTensor')",
    "x.float()",
    "x.half()",
    "x.detach()",
    "x.data",
    "x.view(1, 2)",
    "x.t() if x.dim() < 3 else x",
    "x.clone()",
    "x.cpu().cuda()",
    "x.sort().values",
    "x.topk(1).indices",
    "torch.nonzero(x)",
    "torch.stack([x, x])",
    "torch.meshgrid(x, x, indexing='ij')[0]",
    "torch.linalg.svd(x[None])[1]",
    "x.to_sparse()",
    "copy.deepcopy(x)",
    "pickle.loads(pickle.dumps(x))",
]


@pytest.fixture(scope="module")
def places() -> dict[str, str]:
    """Device of each expression, in one program."""
    lines = "\n".join(f"print({i}, ({text}).device)" for i, text in enumerate([*FACTORIES, *MOVES]))
    ran = run(f"import copy, pickle\nx = torch.ones(2, device='cuda')\nc = torch.ones(2)\n{lines}\n")
    assert ran.error is None
    numbered = dict(line.split() for line in ran.printed)
    return {text: numbered[str(i)] for i, text in enumerate([*FACTORIES, *MOVES])}


@pytest.mark.parametrize("expression", [*FACTORIES, *MOVES])
def test_a_tensor_is_on_the_device_it_was_made_on_or_moved_to(
    places: dict[str, str], expression: str
) -> None:
    assert places[expression] == "cuda:0"


@pytest.mark.parametrize(
    ("expression", "answer"),
    [
        ("torch.cuda.is_available(), torch.cuda.device_count(), torch.cuda.current_device()", "(True, 1, 0)"),
        ("torch.device('cuda' if torch.cuda.is_available() else 'cpu')", "cuda"),
        ("x.device == torch.device('cuda:0'), x.device == torch.device('cuda')", "(True, False)"),
        ("x.is_cuda, x.is_cpu, x.get_device(), c.get_device()", "(True, False, 0, -1)"),
        (
            "x.cuda() is x, x.to('cuda') is x, c.cpu() is c, x.to('cuda', copy=True) is x",
            "(True, True, True, False)",
        ),
        ("x", "tensor([1., 1.], device='cuda:0')"),
        ("x.type(), c.type()", "('torch.cuda.FloatTensor', 'torch.FloatTensor')"),
        ("x.sum().item(), x.tolist(), float(x[0])", "(2.0, [1.0, 1.0], 1.0)"),
        ("torch.cuda.get_device_name(0)", "Simulated CUDA device"),
        ("torch.cuda.get_device_properties(0).total_memory", str(64 << 20)),
        (
            "torch.cuda.memory_summary().splitlines()[0]",
            "simulated CUDA: a model of the caching allocator, no GPU",
        ),
        ("torch.cuda.mem_get_info()", f"({62 << 20}, {64 << 20})"),
        ("c.pin_memory().is_pinned(), c.is_pinned()", "(True, False)"),
        ("torch.cuda.synchronize(), torch.cuda.empty_cache()", "(None, None)"),
        (
            "torch.accelerator.is_available(), torch.accelerator.current_accelerator()",
            "(True, device(type='cuda'))",
        ),
        (
            "torch.Generator('cuda').device, torch.Generator().device",
            "(device(type='cuda', index=0), device(type='cpu'))",
        ),
        ("x.untyped_storage().device, x.untyped_storage().nbytes()", "(device(type='cuda', index=0), 8)"),
        ("torch.cuda.Event().query(), torch.cuda.Stream().query()", "(True, True)"),
        ("isinstance(x, torch.cuda.FloatTensor), isinstance(c, torch.cuda.FloatTensor)", "(True, False)"),
        ("torch.arange(6.).reshape(2, 3).t().cuda().stride()", "(1, 3)"),
        ("torch.ones(2, 1).expand(2, 3).cuda().cpu().is_contiguous()", "True"),
    ],
)
def test_questions_about_devices_are_answered(expression: str, answer: str) -> None:
    ran = run(f"x = torch.ones(2, device='cuda')\nc = torch.ones(2)\nprint(({expression}))\n")

    assert (ran.error, ran.printed) == (None, [answer])


def test_a_default_device_holds_for_what_names_none() -> None:
    ran = run(
        """
        import numpy
        with torch.device("cuda"):
            print(torch.ones(1).device, torch.tensor([1]).device, torch.nn.Linear(1, 1).weight.device)
            print(torch.ones(1, device="cpu").device, torch.from_numpy(numpy.ones(1)).device)
            with torch.device("cpu"):
                print(torch.ones(1).device)
        print(torch.ones(1).device)
        torch.set_default_device("cuda")
        print(torch.rand(1).device, torch.get_default_device())
        """
    )

    assert ran.printed == ["cuda:0 cuda:0 cuda:0", "cpu cpu", "cpu", "cpu", "cuda:0 cuda:0"]


def test_each_device_draws_from_its_own_generator() -> None:
    ran = run(
        """
        torch.manual_seed(0)
        first, host = torch.randn(2, device="cuda"), torch.randn(2)
        torch.manual_seed(0)
        host2, first2 = torch.randn(2), torch.randn(2, device="cuda")
        print(torch.equal(first, first2), torch.equal(host, host2))
        g = torch.Generator("cuda").manual_seed(7)
        a = torch.rand(2, generator=g, device="cuda")
        torch.cuda.manual_seed(7)
        print(torch.equal(a, torch.rand(2, device="cuda")))
        state = torch.cuda.get_rng_state()
        b = torch.nn.functional.dropout(torch.ones(9, device="cuda"))
        torch.cuda.set_rng_state(state)
        print(torch.equal(b, torch.nn.functional.dropout(torch.ones(9, device="cuda"))))
        """
    )

    assert ran.printed == ["True True", "True", "True"]


def test_a_checkpoint_remembers_its_device() -> None:
    ran = run(
        """
        import io
        def saved(what):
            buffer = io.BytesIO()
            torch.save(what, buffer)
            buffer.seek(0)
            return buffer
        model = torch.nn.Linear(2, 2).cuda()
        print(torch.load(saved(model.state_dict()))["weight"].device)
        print(torch.load(saved(model.state_dict()), map_location="cpu")["weight"].device)
        print(torch.load(saved(model.state_dict()), map_location={"cuda:0": "cpu"})["bias"].device)
        print(torch.load(saved(torch.ones(2)), map_location=torch.device("cuda")).device)
        host = torch.nn.Linear(2, 2)
        host.load_state_dict(model.state_dict())
        print(host.weight.device, torch.equal(host.weight, model.weight.cpu()))
        """
    )

    assert ran.printed == ["cuda:0", "cpu", "cpu", "cuda:0", "cpu True"]


@pytest.mark.parametrize(
    "attempt",
    [
        "torch.cuda.Event(enable_timing=True).elapsed_time(torch.cuda.Event(enable_timing=True))",
        "torch.cuda.CUDAGraph()",
        "torch.cuda.cudart()",
        "torch.cuda.utilization()",
        "torch.cuda.current_blas_handle()",
    ],
)
def test_what_is_not_simulated_says_so(attempt: str) -> None:
    ran = run(f"x = torch.ones(1, device='cuda')\n{attempt}\n")

    assert ran.error is not None
    assert ran.error.startswith("NotSimulated: simulated CUDA: ")


def test_compiled_code_runs_as_it_is_written_with_a_warning() -> None:
    ran = run("f = torch.compile(lambda x: x + 1)\nprint(f(torch.ones(2, device='cuda')))\n")

    assert ran.printed == ["tensor([2., 2.], device='cuda:0')"]
    assert [w["message"].partition(":")[0] for w in ran.state["warnings"]] == ["simulated CUDA"]


def test_a_thread_has_the_devices_too() -> None:
    ran = run(
        """
        import threading
        found = []
        thread = threading.Thread(target=lambda: found.append((torch.ones(2).cuda() * 2).device))
        thread.start()
        thread.join()
        print(found)
        """
    )

    assert ran.printed == ["[device(type='cuda', index=0)]"]
