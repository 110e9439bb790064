"""Device programs as people paste them: training loops, checkpoints, loaders, two devices, and what is asked.

Each with where its tensors are at the end, which bytes went where, what it prints and how it ends on CUDA.
Line 1 of each is `import torch`. The trouble that people paste is in `pasted_trouble`.
"""

from .cases import Case

_UP, _DOWN = ("cpu", "cuda:0"), ("cuda:0", "cpu")


def up(line: int, nbytes: int) -> tuple[int, str, str, int]:
    """A copy to the device."""
    return (line, *_UP, nbytes)


def down(line: int, nbytes: int) -> tuple[int, str, str, int]:
    """A copy to the host."""
    return (line, *_DOWN, nbytes)


TRAINING: dict[str, Case] = {
    "mixed precision with a scaler": Case(
        "net = torch.nn.Linear(2, 2).cuda()\nopt = torch.optim.AdamW(net.parameters())\n"
        "scaler = torch.amp.GradScaler('cuda')\nx = torch.randn(3, 2).cuda()\n"
        "for _ in range(2):\n    opt.zero_grad()\n    with torch.autocast('cuda', dtype=torch.float16):\n"
        "        out = net(x)\n        loss = out.float().pow(2).mean()\n    scaler.scale(loss).backward()\n"
        "    scaler.unscale_(opt)\n    norm = torch.nn.utils.clip_grad_norm_(net.parameters(), 1.)\n"
        "    scaler.step(opt)\n    scaler.update()\nprint(out.dtype, scaler.get_scale(), norm.device)\n",
        {"out": "cuda:0", "scaler._scale": "cuda:0", "opt.state[net.weight]['step']": "cpu"},
        printed=("torch.float16 65536.0 cuda:0",),
        copies=(up(2, 16), up(2, 8), up(5, 24)),
    ),
    "gradients of two batches before a step": Case(
        "net = torch.nn.Linear(3, 1).to('cuda')\nopt = torch.optim.SGD(net.parameters(), .1, momentum=.9)\n"
        "total = 0.\nfor i in range(2):\n    x = torch.ones(2, 3).to('cuda', non_blocking=True)\n"
        "    loss = net(x).mean() / 2\n    loss.backward()\n    total += loss.item()\n"
        "opt.step()\nopt.zero_grad()\n",
        {"opt.state[net.weight]['momentum_buffer']": "cuda:0", "loss": "cuda:0", "x": "cuda:0"},
        copies=(up(2, 12), up(2, 4), up(6, 24), up(6, 24)),
    ),
    "an optimizer made before the move": Case(
        "net = torch.nn.Linear(2, 2)\nopt = torch.optim.Adam(net.parameters())\nnet = net.cuda()\n"
        "net(torch.ones(1, 2, device='cuda')).sum().backward()\nopt.step()\n",
        {"opt.state[net.weight]['exp_avg']": "cuda:0", "opt.state[net.weight]['step']": "cpu"},
        copies=(up(4, 16), up(4, 8)),
    ),
    "a fused optimizer counts steps on the device": Case(
        "net = torch.nn.Linear(2, 2).cuda()\nopt = torch.optim.Adam(net.parameters(), fused=True)\n"
        "net(torch.ones(1, 2, device='cuda')).sum().backward()\nopt.step()\n",
        {"opt.state[net.weight]['step']": "cuda:0"},
    ),
    "a loader with pinned memory": Case(
        "data = torch.utils.data.TensorDataset(torch.ones(4, 2), torch.zeros(4))\n"
        "for x, y in torch.utils.data.DataLoader(data, batch_size=2, pin_memory=True):\n"
        "    print(x.is_pinned(), x.device)\n    x, y = x.to('cuda', non_blocking=True), y.cuda()\n",
        {"x": "cuda:0", "y": "cuda:0", "data.tensors[0]": "cpu"},
        printed=("True cpu", "True cpu"),
        copies=(up(5, 16), up(5, 8), up(5, 16), up(5, 8)),
    ),
    "a checkpoint loaded on the host": Case(
        "import io\nnet, b = torch.nn.Linear(2, 2).cuda(), io.BytesIO()\ntorch.save(net.state_dict(), b)\n"
        "b.seek(0)\nstate = torch.load(b, map_location='cpu')\nhost = torch.nn.Linear(2, 2)\n"
        "host.load_state_dict(state)\n",
        {"state['weight']": "cpu", "host.weight": "cpu", "net.weight": "cuda:0"},
        copies=(up(3, 16), up(3, 8), down(4, 16), down(4, 8)),
    ),
    "a checkpoint of the host in a model on the device": Case(
        "net = torch.nn.Linear(2, 2).cuda()\nstate = torch.nn.Linear(2, 2).state_dict()\n"
        "net.load_state_dict(state)\n",
        {"net.weight": "cuda:0", "state['weight']": "cpu"},
        copies=(up(2, 16), up(2, 8), up(4, 16), up(4, 8)),
    ),
    "map_location as a function": Case(
        "import io\nb = io.BytesIO()\ntorch.save(torch.ones(2, device='cuda'), b)\nb.seek(0)\n"
        "x = torch.load(b, map_location=lambda storage, place: storage)\nb.seek(0)\n"
        "y = torch.load(b, map_location=lambda storage, place: storage.cuda(0))\n",
        {"x": "cpu", "y": "cuda:0"},
        copies=(down(4, 8), up(8, 8)),
    ),
    "a moving average of weights on the host": Case(
        "net = torch.nn.Linear(2, 2).cuda()\n"
        "kept = {k: v.detach().cpu().clone() for k, v in net.state_dict().items()}\n"
        "for k, v in net.state_dict().items():\n    kept[k].lerp_(v.cpu(), .1)\n",
        {"kept['weight']": "cpu", "kept['bias']": "cpu"},
        copies=(up(2, 16), up(2, 8), down(3, 16), down(3, 8), down(5, 16), down(5, 8)),
    ),
    "an LSTM makes its own state where the input is": Case(
        "net = torch.nn.LSTM(2, 3, batch_first=True).cuda()\n"
        "out, (h, c) = net(torch.ones(2, 4, 2, device='cuda'))\n",
        {"out": "cuda:0", "h": "cuda:0", "c": "cuda:0"},
    ),
    "a loss with weights, moved as a module": Case(
        "crit = torch.nn.CrossEntropyLoss(weight=torch.ones(2)).cuda()\n"
        "loss = crit(torch.zeros(4, 2, device='cuda'), torch.ones(4, dtype=torch.long, device='cuda'))\n",
        {"crit.weight": "cuda:0", "loss": "cuda:0"},
        copies=(up(2, 8),),
    ),
    "a weight without dimensions may be anywhere": Case(
        "crit = torch.nn.BCEWithLogitsLoss(pos_weight=torch.tensor(3.))\n"
        "loss = crit(torch.zeros(4, device='cuda'), torch.ones(4, device='cuda'))\n",
        {"crit.pos_weight": "cpu", "loss": "cuda:0"},
        copies=(),
    ),
    "activations kept on the host": Case(
        "w = torch.ones(3, device='cuda', requires_grad=True)\n"
        "with torch.autograd.graph.save_on_cpu(pin_memory=True):\n    y = (w * 2).exp()\n"
        "y.sum().backward()\ng = w.grad\n",
        {"g": "cuda:0", "y": "cuda:0"},
        copies=(down(4, 12), up(5, 12)),
    ),
    "activations computed again": Case(
        "from torch.utils.checkpoint import checkpoint\nnet = torch.nn.Linear(2, 2).cuda()\n"
        "x = torch.ones(1, 2, device='cuda', requires_grad=True)\n"
        "checkpoint(net, x, use_reentrant=False).sum().backward()\ng = x.grad\n",
        {"g": "cuda:0", "net.weight.grad": "cuda:0"},
    ),
    "a model split between host and device": Case(
        "a, b = torch.nn.Linear(2, 3).to('cuda:0'), torch.nn.Linear(3, 1)\n"
        "y = b(a(torch.ones(1, 2).to('cuda:0')).to('cpu'))\ny.sum().backward()\n",
        {"y": "cpu", "a.weight.grad": "cuda:0", "b.weight.grad": "cpu"},
        copies=(up(2, 24), up(2, 12), up(3, 8), down(3, 12), up(4, 12)),
    ),
    "a model split between two devices": Case(
        "a, b = torch.nn.Linear(2, 3).to('cuda:0'), torch.nn.Linear(3, 1).to('cuda:1')\n"
        "y = b(a(torch.ones(1, 2, device='cuda:0')).to('cuda:1'))\ny.sum().backward()\n",
        {"y": "cuda:1", "a.weight.grad": "cuda:0", "b.weight.grad": "cuda:1"},
        copies=(
            *(up(2, 24), up(2, 12), (2, "cpu", "cuda:1", 12), (2, "cpu", "cuda:1", 4)),
            *((3, "cuda:0", "cuda:1", 12), (4, "cuda:1", "cuda:0", 12)),
        ),
        places=2,
    ),
    "DataParallel over one device calls the module": Case(
        "net = torch.nn.DataParallel(torch.nn.Linear(2, 2))\ny = net(torch.ones(4, 2))\n"
        "y.sum().backward()\nprint(net.device_ids, list(net.state_dict()))\n",
        {"y": "cuda:0", "net.module.weight.grad": "cuda:0"},
        printed=("[0] ['module.weight', 'module.bias']",),
        copies=(up(2, 16), up(2, 8), up(3, 32)),
    ),
    "DataParallel over two devices": Case(
        "class Net(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.fc = torch.nn.Linear(2, 1, bias=False)\n    def forward(self, x):\n"
        "        print(x.device, tuple(x.shape), self.fc.weight.device)\n        return self.fc(x)\n"
        "net = torch.nn.DataParallel(Net().cuda())\ny = net(torch.ones(3, 2))\ny.sum().backward()\n"
        "print(net.module.fc.weight.grad)\n",
        {"y": "cuda:0", "net.module.fc.weight.grad": "cuda:0"},
        printed=(
            "cuda:0 (2, 2) cuda:0",
            "cuda:1 (1, 2) cuda:1",
            "tensor([[3., 3.]], device='cuda:0')",
        ),
        copies=(
            *(up(9, 8), up(7, 16), (7, "cpu", "cuda:1", 8), (7, "cuda:0", "cuda:1", 8)),
            *((10, "cuda:1", "cuda:0", 4), (11, "cuda:0", "cuda:1", 4), (11, "cuda:1", "cuda:0", 8)),
        ),
        places=2,
    ),
}

QUESTIONS: dict[str, Case] = {
    "which kind of tensor it is": Case(
        "c = torch.ones(2)\ng = c.cuda()\n"
        "print(isinstance(g, torch.FloatTensor), isinstance(g, torch.cuda.FloatTensor), g.type())\n"
        "print(isinstance(c, torch.FloatTensor), isinstance(c, torch.cuda.FloatTensor), c.type())\n"
        "print(g.is_cuda, g.get_device(), c.get_device(), g.device == 'cuda:0')\n",
        {"c": "cpu", "g": "cuda:0"},
        printed=(
            "False True torch.cuda.FloatTensor",
            "True False torch.FloatTensor",
            "True 0 -1 False",
        ),
    ),
    "old kinds make tensors where their name says": Case(
        "a, b = torch.FloatTensor([1.]), torch.cuda.LongTensor([1])\nc = b.type(torch.FloatTensor)\n"
        "d, e = a.type(torch.cuda.HalfTensor), torch.Tensor(b)\nprint(d.type(), e.type())\n",
        {"a": "cpu", "b": "cuda:0", "c": "cpu", "d": "cuda:0", "e": "cuda:0"},
        printed=("torch.cuda.HalfTensor torch.cuda.LongTensor",),
    ),
    "torch.tensor of a tensor on the device": Case(
        "x = torch.ones(2, device='cuda')\na = torch.tensor(x)\nb = torch.tensor([x[0], x[1]])\n"
        "c = torch.as_tensor(x, device='cpu')\nd = torch.as_tensor(x)\nprint(d is x)\n",
        {"a": "cuda:0", "b": "cpu", "c": "cpu"},
        printed=("True",),
        copies=(down(5, 8),),
    ),
    "values are read one by one": Case(
        "x = torch.arange(3., device='cuda')\ntotal = 0.\nfor i in range(3):\n    total += x[i].item()\n"
        "print(total, int(x[1]), bool(x[0]), f'{x[2]:.1f}', x.tolist())\n",
        {"x": "cuda:0"},
        printed=("3.0 1 False 2.0 [0.0, 1.0, 2.0]",),
    ),
    "NumPy and the device": Case(
        "import numpy as np\nx = torch.ones(2, device='cuda')\n"
        "for make in (lambda: x.numpy(), lambda: np.array(x), lambda: x + np.ones(2)):\n"
        "    try:\n        make()\n    except TypeError as e:\n        print(str(e)[:42])\n"
        "a = x.numpy(force=True)\ny = np.float64(2.) * x\n",
        {"x": "cuda:0", "y": "cuda:0"},
        printed=("can't convert cuda:0 device type tensor to",) * 3,
        copies=(down(9, 8),),
    ),
    "the accelerator by its general name": Case(
        "a = torch.accelerator.current_accelerator()\nx = torch.ones(2, device=a)\n"
        "torch.accelerator.synchronize()\n"
        "print(a, torch.accelerator.device_count(), torch.accelerator.current_device_index())\n"
        "print(torch.get_device_module().__name__, torch.get_device_module('cpu').__name__)\n"
        "print(torch.accelerator.memory_allocated())\n",
        {"x": "cuda:0"},
        printed=("cuda 1 0", "torch.cuda torch.cpu", "512"),
    ),
    "no device is visible": Case(
        "import os\nos.environ['CUDA_VISIBLE_DEVICES'] = ''\n"
        "print(torch.cuda.is_available(), torch.cuda.device_count())\n"
        "x = torch.ones(1, device='cuda' if torch.cuda.is_available() else 'cpu')\nx.cuda()\n",
        {"x": "cpu"},
        "RuntimeError: No CUDA GPUs are available",
        printed=("False 0",),
    ),
    "one of two devices is visible": Case(
        "import os\nprint(torch.cuda.device_count())\nos.environ['CUDA_VISIBLE_DEVICES'] = '1'\n"
        "print(torch.cuda.device_count())\nx = torch.ones(1, device='cuda')\ny = x.to('cuda:1')\n",
        {"x": "cuda:0"},
        "AcceleratorError: CUDA error: invalid device ordinal\nGPU device may be out of range, do you have "
        "enough GPUs?\nFor more detailed error information, run with CUDA_LOG_FILE=stderr\n",
        printed=("2", "1"),
        places=2,
    ),
    "visible devices chosen too late": Case(
        "import os\nx = torch.ones(1, device='cuda')\nos.environ['CUDA_VISIBLE_DEVICES'] = ''\n"
        "print(torch.cuda.is_available(), torch.cuda.device_count())\n",
        {"x": "cuda:0"},
        printed=("True 1",),
    ),
    "CUDA begins when it is used": Case(
        "print(torch.cuda.is_available(), torch.cuda.is_initialized())\nx = torch.ones(1).cuda()\n"
        "print(torch.cuda.is_initialized())\n",
        {"x": "cuda:0"},
        printed=("True False", "True"),
    ),
    "streams, events and their waits": Case(
        "s, x = torch.cuda.Stream(), torch.ones(2, device='cuda')\n"
        "s.wait_stream(torch.cuda.current_stream())\nwith torch.cuda.stream(s):\n    y = x * 2\n"
        "    print(torch.cuda.current_stream() == s)\ntorch.cuda.current_stream().wait_stream(s)\n"
        "y.record_stream(torch.cuda.current_stream())\ne = torch.cuda.Event()\ne.record()\n"
        "e.synchronize()\nprint(e.query(), s.query())\n",
        {"x": "cuda:0", "y": "cuda:0"},
        printed=("True", "True True"),
    ),
    "a copy to the host that does not wait is pinned": Case(
        "x = torch.arange(4., device='cuda')\na = x.to('cpu', non_blocking=True)\nb = x.to('cpu')\n"
        "h = torch.empty(4, pin_memory=True)\nh.copy_(x, non_blocking=True)\ntorch.cuda.synchronize()\n"
        "print(a.is_pinned(), b.is_pinned(), h.is_pinned(), h.tolist() == x.tolist())\n",
        {"a": "cpu", "b": "cpu", "h": "cpu"},
        printed=("True False True True",),
        copies=(down(3, 16), down(4, 16), down(6, 16)),
    ),
    "a part is written from the host": Case(
        "x = torch.zeros(2, 3, device='cuda')\nx[0] = torch.ones(3)\nx[1, 0] = 5.\n"
        "x[:, 2].copy_(torch.ones(2, dtype=torch.float64))\n",
        {"x": "cuda:0"},
        copies=(up(3, 12), up(4, 4), up(5, 8)),
    ),
    "generators": Case(
        "g = torch.Generator(device='cuda').manual_seed(0)\nx = torch.randn(2, generator=g, device='cuda')\n"
        "i = torch.randperm(4, generator=g, device='cuda')\nprint(g.device, g.get_state().device)\n"
        "with torch.random.fork_rng(devices=[0]):\n    y = torch.rand(1, device='cuda')\n"
        "try:\n    torch.cuda.get_rng_state(1)\nexcept IndexError as e:\n    print(e)\n"
        "torch.randn(2, generator=g)\n",
        {"x": "cuda:0", "i": "cuda:0", "y": "cuda:0"},
        "RuntimeError: Expected a 'cpu' device type for generator but found 'cuda'",
        printed=("cuda:0 cpu", "tuple index out of range"),
    ),
    "copies of models": Case(
        "import copy, pickle\nnet = torch.nn.Linear(2, 2).cuda()\ntwin = copy.deepcopy(net)\n"
        "back = pickle.loads(pickle.dumps(net))\nw = net.weight\n"
        "print(w.is_shared(), w.share_memory_() is w)\n"
        "print(pickle.loads(pickle.dumps(torch.device('cuda', 0))))\n",
        {"twin.weight": "cuda:0", "back.weight": "cuda:0"},
        printed=("True True", "cuda:0"),
    ),
    "sparse and complex tensors": Case(
        "i, v = torch.tensor([[0, 1], [1, 0]]), torch.tensor([1., 2.])\n"
        "s = torch.sparse_coo_tensor(i, v, (2, 2)).cuda()\nd = s.to_dense()\n"
        "r = torch.sparse_csr_tensor([0, 1, 2], [0, 1], v.cuda())\n"
        "c = torch.ones(2, dtype=torch.cfloat).cuda()\n"
        "real, size = c.real, c.abs()\n",
        {"s": "cuda:0", "d": "cuda:0", "r": "cuda:0", "real": "cuda:0", "size": "cuda:0", "i": "cpu"},
    ),
    "another accelerator is not there": Case(
        "device = 'cuda' if torch.cuda.is_available() else 'mps' if torch.mps.is_available() else 'cpu'\n"
        "x = torch.ones(1, device=device)\nprint(torch.xpu.is_available())\nx.to('mps')\n",
        {"x": "cuda:0"},
        "RuntimeError: PyTorch is not linked with support for mps devices",
        printed=("False",),
    ),
    "transforms of functions": Case(
        "from torch.func import functional_call, grad, vmap\nx = torch.arange(3., device='cuda')\n"
        "a, b = vmap(lambda t: t * 2)(x), grad(lambda t: (t ** 2).sum())(x)\n"
        "net = torch.nn.Linear(3, 1).cuda()\nc = functional_call(net, dict(net.named_parameters()), x)\n",
        {"a": "cuda:0", "b": "cuda:0", "c": "cuda:0"},
    ),
    "an activation taken by a hook": Case(
        "seen, net = {}, torch.nn.Linear(2, 2).cuda()\n"
        "net.register_forward_hook(lambda m, i, o: seen.update(out=o.detach().cpu()))\n"
        "y = net(torch.ones(1, 2, device='cuda'))\n",
        {"seen['out']": "cpu", "y": "cuda:0"},
        copies=(up(2, 16), up(2, 8), down(3, 8)),
    ),
    "made on meta, given memory on the device": Case(
        "with torch.device('meta'):\n    net = torch.nn.Linear(4, 4)\nnet = net.to_empty(device='cuda')\n"
        "net.reset_parameters()\n",
        {"net.weight": "cuda:0"},
        copies=(),
    ),
    "a batch in a dict": Case(
        "batch = {'ids': torch.ones(1, 3, dtype=torch.long), 'mask': torch.ones(1, 3)}\n"
        "net = torch.nn.Embedding(4, 2).to('cuda')\nplace = next(net.parameters()).device\n"
        "batch = {k: v.to(place) for k, v in batch.items()}\ny = net(batch['ids'])\n",
        {"batch['ids']": "cuda:0", "batch['mask']": "cuda:0", "y": "cuda:0"},
        copies=(up(3, 32), up(5, 24), up(5, 12)),
    ),
}

SLOW: dict[str, Case] = {
    "nested tensors of parts on the device": Case(
        "n = torch.nested.nested_tensor_from_jagged(\n"
        "    torch.ones(3, device='cuda'), torch.tensor([0, 1, 3], device='cuda'))\nv = (n * 2).values()\n"
        "torch.nested.nested_tensor([torch.ones(1)], layout=torch.jagged).cuda()\n",
        {"v": "cuda:0"},
        "NotSimulated: simulated CUDA: a copy of a nested tensor of layout torch.jagged is not simulated.",
        simulated_only="a GPU copies it",
    ),
}
"""They import what takes seconds."""
