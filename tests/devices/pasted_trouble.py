"""Trouble with devices as people paste it: each program ends, or says in between, what it does on CUDA."""

from .cases import SAME_DEVICE, Case
from .pasted import up

TWO = f"RuntimeError: {SAME_DEVICE}found at least two devices, cuda:0 and cpu!"
ASSERT = (
    "AcceleratorError: CUDA error: device-side assert triggered\nSearch for `cudaErrorAssert' in "
    "https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TYPES.html for more information.\n"
)
_SAYS = "simulated CUDA: Assertion `"
_FULL = "OutOfMemoryError: CUDA out of memory. Tried to allocate "
_VARIES = " does not have a deterministic implementation, but you set"


def elsewhere(name: str, wrapper: str, there: str = "cpu", others: str = "cuda:0") -> str:
    """The error of a wrapper, up to its name."""
    return (
        f"RuntimeError: {SAME_DEVICE}got {name} is on {there}, different from other tensors on {others} "
        f"(when checking argument in method wrapper_CUDA_{wrapper})"
    )


def options(device: str) -> str:
    """The options of a float tensor, as C++ writes them."""
    return (
        f"TensorOptions(dtype=float, device={device}, layout=Strided, requires_grad=false (default), "
        "pinned_memory=false (default), memory_format=(nullopt))"
    )


def refused(program: str) -> str:
    """A line that prints type and first line of what some statements raise."""
    tries = "\n".join(
        f"try:\n    {line}\nexcept Exception as e:\n    print(type(e).__name__, str(e).splitlines()[0])"
        for line in program.split("; ")
    )
    return f"{tries}\n"


MIXED: dict[str, Case] = {
    "a positional encoding that is no buffer": Case(
        "class Net(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.pe = torch.zeros(5, 4)\n    def forward(self, x):\n"
        "        return x + self.pe[: x.size(1)]\nnet = Net().to('cuda')\n"
        "x = torch.ones(1, 3, 4, device='cuda')\nnet(x)\n",
        {"net.pe": "cpu", "x": "cuda:0"},
        TWO,
        copies=(),
    ),
    "a loss with a weight per class on the host": Case(
        "crit = torch.nn.BCEWithLogitsLoss(pos_weight=torch.tensor([3.]))\n"
        "crit(torch.zeros(4, 1, device='cuda'), torch.ones(4, 1, device='cuda'))\n",
        {"crit.pos_weight": "cpu"},
        TWO,
    ),
    "the state of an LSTM cell on the host": Case(
        "net, h = torch.nn.LSTMCell(2, 3).cuda(), torch.zeros(2, 3)\n"
        "net(torch.ones(2, 2, device='cuda'), (h, h))\n",
        {"h": "cpu"},
        elsewhere("mat2", "mm", "cuda:0", "cpu"),
    ),
    "the cell of an LSTM cell on the host": Case(
        "net, h = torch.nn.LSTMCell(2, 3).cuda(), torch.zeros(2, 3)\n"
        "net(torch.ones(2, 2, device='cuda'), (h.cuda(), h))\n",
        {"h": "cpu"},
        elsewhere("cx", "__thnn_fused_lstm_cell"),
    ),
    "the state of a GRU cell on the host": Case(
        "net = torch.nn.GRUCell(2, 3).cuda()\nnet(torch.ones(2, 2, device='cuda'), torch.zeros(2, 3))\n",
        {},
        elsewhere("mat2", "mm", "cuda:0", "cpu"),
    ),
    "rows of a table on the host": Case(
        "y = torch.tensor([0, 1], device='cuda')\ntable = torch.eye(3)\nrows = table[y.cpu()]\ntable[y]\n",
        {"y": "cuda:0", "rows": "cpu"},
        "RuntimeError: indices should be either on cpu or on the same device as the indexed tensor (cpu)",
    ),
    "a loader whose data is on the device cannot pin it": Case(
        "data = torch.utils.data.TensorDataset(torch.ones(4, 2).cuda())\n"
        "for (x,) in torch.utils.data.DataLoader(data, batch_size=2, pin_memory=True):\n    print(x)\n",
        {"data.tensors[0]": "cuda:0"},
        "RuntimeError: cannot pin 'torch.cuda.FloatTensor' only dense CPU tensors can be pinned",
        printed=(),
    ),
    "old kinds of the wrong place": Case(
        "g = torch.ones(2, device='cuda')\n"
        + refused("torch.FloatTensor(g); torch.cuda.FloatTensor(g.cpu())"),
        {"g": "cuda:0"},
        printed=(
            f"TypeError expected {options('cpu')} (got {options('cuda:0')})",
            f"TypeError expected {options('cuda')} (got {options('cpu')})",
        ),
    ),
    "parts of a sparse tensor in two places": Case(
        "i, v = torch.tensor([[0], [1]]), torch.ones(1)\n"
        + refused("torch.sparse_coo_tensor(i.cuda(), v); torch.sparse_coo_tensor(i, v.cuda())"),
        {"i": "cpu", "v": "cpu"},
        printed=(
            "RuntimeError backend of indices (cuda) must match backend of values (cpu)",
            elsewhere("values", "x", "cuda:0", "cpu").replace(
                "RuntimeError: ", "RuntimeError "
            ).replace("CUDA_x", "SparseCUDA___sparse_coo_tensor_with_dims_and_tensors"),
        ),
    ),
    "a mask in one replica's place": Case(
        "class Net(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.fc, self.mask = torch.nn.Linear(2, 2), torch.ones(2).cuda()\n"
        "    def forward(self, x):\n        return self.fc(x) * self.mask\n"
        "net = torch.nn.DataParallel(Net().cuda())\n"
        "try:\n    net(torch.ones(2, 2))\nexcept RuntimeError as e:\n"
        "    print(str(e).splitlines()[0], str(e).splitlines()[-1])\n",
        {"net.module.mask": "cuda:0"},
        printed=(
            "Caught RuntimeError in replica 1 on device 1. "
            f"{TWO.replace('cuda:0 and cpu', 'cuda:1 and cuda:0')}",
        ),
        places=2,
    ),
    "DataParallel on a device that is not there": Case(
        "torch.nn.DataParallel(torch.nn.Linear(2, 2), device_ids=[0, 1]).cuda()\n",
        {},
        "AssertionError: Invalid device id",
    ),
}  # fmt: skip

LOST: dict[str, Case] = {
    "a class that is not there": Case(
        "import torch.nn.functional as F\nx = torch.zeros(2, 3, device='cuda')\n"
        "y = torch.tensor([0, 3], device='cuda')\nF.cross_entropy(x, y)\n",
        {"x": "cuda:0", "y": "cuda:0"},
        ASSERT,
        printed=(f"{_SAYS}t >= 0 && t < n_classes` failed. The CPU says: Target 3 is out of bounds.",),
    ),
    "a word that is not there": Case(
        "net = torch.nn.Embedding(3, 2).cuda()\nnet(torch.tensor([3], device='cuda'))\n",
        {"net.weight": "cuda:0"},
        ASSERT,
        printed=(
            f"{_SAYS}srcIndex < srcSelectDimSize` failed. The CPU says: index out of range in self",
        ),
    ),
    "an element that is not there, and what comes after": Case(
        "x = torch.arange(4., device='cuda')\nhost = torch.ones(1)\n"
        "try:\n    x[torch.tensor([4])]\nexcept RuntimeError as e:\n    print(type(e).__name__)\n"
        "host = host + 1\nview = x.view(2, 2)\n"
        + refused("x + 1; x.cpu(); host.cuda(); print(x); torch.cuda.synchronize()"),
        {"x": "cuda:0", "view": "cuda:0", "host": "cpu"},
        printed=(
            f'{_SAYS}-sizes[i] <= index && index < sizes[i] && "index out of bounds"` failed. '
            "The CPU says: index 4 is out of bounds for dimension 0 with size 4",
            "AcceleratorError",
            *("AcceleratorError CUDA error: device-side assert triggered",) * 5,
        ),
    ),
    "probabilities above one": Case(
        "import torch.nn.functional as F\n"
        "F.binary_cross_entropy(torch.full((1,), 1.5, device='cuda'), torch.ones(1, device='cuda'))\n",
        {},
        ASSERT,
        printed=(
            f"{_SAYS}input_val >= zero && input_val <= one` failed. "
            "The CPU says: all elements of input should be between 0 and 1",
        ),
    ),
    "a class too many for one_hot, launches blocking": Case(
        "import os\nos.environ['CUDA_LAUNCH_BLOCKING'] = '1'\n"
        "torch.nn.functional.one_hot(torch.tensor([5], device='cuda'), 3)\n",
        {},
        f"{ASSERT}Device-side assertion tracking was not enabled by user.",
    ),
    "an index of Python's is checked on the host": Case(
        "x = torch.arange(4., device='cuda')\n"
        + refused("x[7]; x[torch.ones(3, dtype=torch.bool, device='cuda')]; x.sum().item() and x[-5]"),
        {"x": "cuda:0"},
        printed=(
            "IndexError index 7 is out of bounds for dimension 0 with size 4",
            "IndexError The shape of the mask [3] at index 0 does not match the shape of the indexed tensor "
            "[4] at index 0",
            "IndexError index -5 is out of bounds for dimension 0 with size 4",
        ),
    ),
}  # fmt: skip

REFUSED: dict[str, Case] = {
    "products of integers": Case(
        "a = torch.ones(2, 2, dtype=torch.long, device='cuda')\n"
        + refused("a @ a; a[None] @ a[None]; a @ a[0]; a[0] @ a[0]; a.bool() @ a.bool()"),
        {"a": "cuda:0"},
        printed=(
            "NotImplementedError \"addmm_cuda\" not implemented for 'Long'",
            "NotImplementedError \"baddbmm_cuda\" not implemented for 'Long'",
            "NotImplementedError \"addmv_impl_cuda\" not implemented for 'Long'",
            "NotImplementedError \"dot\" not implemented for 'Long'",
            "NotImplementedError \"addmm_cuda\" not implemented for 'Bool'",
        ),
    ),
    "kernels have names of their own": Case(
        "import torch.nn.functional as F\na = torch.ones(2, 2, dtype=torch.long, device='cuda')\n"
        + refused("F.mse_loss(a, a); F.softmax(a, 0); torch.randn(2, device='cuda', dtype=torch.long)"),
        {"a": "cuda:0"},
        printed=(
            "NotImplementedError \"mse_cuda\" not implemented for 'Long'",
            "NotImplementedError \"host_softmax\" not implemented for 'Long'",
            "NotImplementedError \"normal_kernel_cuda\" not implemented for 'Long'",
        ),
    ),
    "classes as int32": Case(
        "x, y = torch.zeros(2, 2, device='cuda'), torch.tensor([0, 1], device='cuda').int()\n"
        "torch.nn.functional.cross_entropy(x, y)\n",
        {"y": "cuda:0"},
        "NotImplementedError: \"nll_loss_forward_reduce_cuda_kernel_2d_index\" not implemented for 'Int'",
    ),
    "half and float": Case(
        "g = torch.ones(2, 2).half().cuda()\ny = torch.nn.Linear(2, 2).half().cuda()(g)\n"
        "torch.nn.Linear(2, 2).cuda()(g)\n",
        {"g": "cuda:0", "y": "cuda:0"},
        "RuntimeError: mat1 and mat2 must have the same dtype, but got Half and Float",
    ),
    "results must not vary": Case(
        "torch.use_deterministic_algorithms(True)\n"
        "x = torch.ones(1, 1, 4, 4, device='cuda', requires_grad=True)\ny = x @ x\n"
        + refused(
            "x.flatten().cumsum(0); torch.histc(x.detach(), 3); x.median(0); "
            "torch.nn.functional.adaptive_avg_pool2d(x, 2).sum().backward()"
        )
        + "print(x.cpu().cumsum(0).shape)\ntorch.use_deterministic_algorithms(False)\n",
        {"x": "cuda:0", "y": "cuda:0"},
        printed=(
            f"RuntimeError cumsum_cuda_kernel{_VARIES}",
            f"RuntimeError _histc_cuda with floating point input{_VARIES}",
            f"RuntimeError median CUDA with indices output{_VARIES}",
            f"RuntimeError adaptive_avg_pool2d_backward_cuda{_VARIES}",
            "torch.Size([1, 1, 4, 4])",
        ),
    ),
    "a graph to replay": Case(
        "x = torch.ones(2, device='cuda')\ng = torch.cuda.CUDAGraph()\n",
        {"x": "cuda:0"},
        "NotSimulated: simulated CUDA: torch.cuda.CUDAGraph is not simulated.",
        simulated_only="a GPU captures it",
    ),
    "the time between events": Case(
        "a, b = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)\n"
        "a.record()\nb.record()\na.elapsed_time(b)\n",
        {},
        "NotSimulated: simulated CUDA: the time between events is not simulated.",
        simulated_only="a GPU has a clock",
    ),
    "processes over NCCL": Case(
        "import torch.distributed as dist\nx = torch.ones(1).cuda()\nprint(dist.is_nccl_available())\n"
        "dist.init_process_group('nccl', init_method='tcp://127.0.0.1:1', rank=0, world_size=1)\n",
        {},
        "NotSimulated: simulated CUDA: torch.distributed over NCCL is not simulated.",
        printed=("False",),
        simulated_only="PyTorch for CUDA has NCCL",
    ),
    "a device that is not there, asked in many ways": Case(
        refused(
            "torch.zeros(1).to('cuda:1'); torch.cuda.set_device(1); torch.cuda.get_device_name(1); "
            "torch.cuda.memory_allocated(1); torch.ones(1, device='gpu'); torch.ones(1).cuda('cpu')"
        ),
        {},
        printed=(
            "AcceleratorError CUDA error: invalid device ordinal",
            "AcceleratorError CUDA error: invalid device ordinal",
            "AssertionError Invalid device id",
            "RuntimeError Invalid device argument 1: did you call init?",
            "RuntimeError Expected one of cpu, cuda, ",
            "RuntimeError Invalid device, must be cuda device",
        ),
    ),
}  # fmt: skip

MEMORY: dict[str, Case] = {
    "a batch too large, halved": Case(
        "n = 64\nwhile True:\n    try:\n        x = torch.zeros(n, 1 << 20, device='cuda')\n        break\n"
        "    except torch.cuda.OutOfMemoryError:\n        n //= 2\n"
        "        torch.cuda.empty_cache()\nprint(n)\n",
        {"x": "cuda:0"},
        printed=("16",),
        simulated_only="a GPU has more memory",
    ),
    "results kept in a list": Case(
        "kept = []\nfor i in range(100):\n    kept.append(torch.zeros(1024, 1024, device='cuda'))\n",
        {"kept[0]": "cuda:0", "kept[14]": "cuda:0"},
        f"{_FULL}20.00 MiB. GPU 0 has a total capacity of 64.00 MiB of which 4.00 MiB is free.",
        simulated_only="a GPU has more memory",
    ),
    "weights and their gradients": Case(
        "net = torch.nn.Linear(2048, 2048, bias=False).cuda()\nopt = torch.optim.Adam(net.parameters())\n"
        "net(torch.ones(1, 2048, device='cuda')).sum().backward()\n"
        "print(torch.cuda.memory_allocated() >> 20)\nopt.step()\n",
        {"net.weight": "cuda:0", "net.weight.grad": "cuda:0"},
        _FULL,
        printed=("32",),
        copies=(up(2, 16 << 20),),
        simulated_only="a GPU has more memory",
    ),
    "holes that emptying the cache does not close": Case(
        "a = [torch.zeros(1 << 18, device='cuda') for _ in range(12)]\ndel a[::2]\n"
        "torch.cuda.empty_cache()\ns = torch.cuda.memory_stats()\n"
        "print(torch.cuda.memory_allocated() >> 20, torch.cuda.memory_reserved() >> 20)\n"
        "print(s['inactive_split_bytes.all.current'] >> 20, s['num_alloc_retries'])\n"
        "torch.cuda.reset_peak_memory_stats()\nprint(torch.cuda.max_memory_allocated() >> 20)\n",
        {"a[0]": "cuda:0"},
        printed=("6 12", "6 0", "6"),
        simulated_only="a GPU may hold more before",
    ),
}
