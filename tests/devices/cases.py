"""Device trouble as people report it, and what is claimed about devices: each a program with its facts.

Data for the tests of the simulation, for those of a real device, and for the comparison of both.
"""

from dataclasses import dataclass, field

SAME_DEVICE = "Expected all tensors to be on the same device, but "


@dataclass(frozen=True)
class Case:
    """A program (`import torch` comes before it) and what is so at its end on CUDA."""

    source: str

    devices: dict[str, str] = field(default_factory=dict)
    """Names, each with where its tensor is."""

    error: str | None = None
    """How type and message of what it raises begin."""

    printed: tuple[str, ...] | None = None
    """Lines it prints; None where nobody asks."""

    simulated_only: str | None = None
    """Why it cannot be held against a real device."""

    copies: tuple[tuple[int, str, str, int], ...] | None = None
    """Copies between devices: line, from where, to where, bytes; None where nobody asks."""

    places: int = 1
    """How many devices there are."""


CASES: dict[str, Case] = {
    "to() without using its result": Case(
        "times = torch.arange(3)\ntimes.to('cuda')\nmoved = times.to('cuda')\nstay = times.to('cpu')\n",
        {"times": "cpu", "moved": "cuda:0", "stay": "cpu"},
        None,
    ),
    "cuda() without using its result": Case(
        "x = torch.ones(2)\nx.cuda()\ny = torch.ones(2).cuda()\ny + x\n",
        {"x": "cpu", "y": "cuda:0"},
        f"RuntimeError: {SAME_DEVICE}found at least two devices, cuda:0 and cpu!",
    ),
    "module.to() moves the parameters in place": Case(
        "net = torch.nn.Linear(2, 2)\nweight = net.weight\nnet.to('cuda')\nsame = weight is net.weight\n"
        "assert same\n",
        {"weight": "cuda:0", "net.weight": "cuda:0"},
        None,
    ),
    "a module moved to meta has no data to move to a device": Case(
        "net = torch.nn.Linear(2, 2)\nnet.to('meta')\nnet.to('cuda')\n",
        {"net.weight": "meta"},
        "NotImplementedError: Cannot copy out of meta tensor; no data!",
    ),
    "meta tensors have no address on any device": Case(
        "ghost = torch.empty(3, device='meta')\nx = torch.empty(0, device='cuda')\n",
        {"ghost": "meta", "x": "cuda:0"},
        None,
    ),
    "reading a value of a meta tensor": Case(
        "device = 'cuda'\nplan = torch.ones(2, device='meta')\nplan.sum().item()\n",
        {"plan": "meta"},
        "RuntimeError: Tensor.item() cannot be called on meta tensors",
    ),
    "pinned memory has an accelerator now": Case(
        "batch = torch.ones(2)\npinned = batch.pin_memory()\nassert pinned.is_pinned()\nx = pinned.cuda()\n",
        {"batch": "cpu", "pinned": "cpu", "x": "cuda:0"},
        None,
    ),
    "more than the device has": Case(
        "plan = torch.empty(1 << 60, device='meta')\nhuge = torch.empty(1 << 60, device='cuda')\n",
        {"plan": "meta"},
        "OutOfMemoryError: CUDA out of memory. Tried to allocate ",
    ),
    "a mask that is no buffer stays behind": Case(
        "class Net(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.w, self.mask = torch.nn.Parameter(torch.ones(2)), torch.ones(2)\n"
        "net = Net().cuda()\nmask = net.mask\nnet.w * net.mask\n",
        {"net.w": "cuda:0", "mask": "cpu"},
        f"RuntimeError: {SAME_DEVICE}found at least two devices, cuda:0 and cpu!",
    ),
    "a registered buffer comes along": Case(
        "class Net(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.register_buffer('mask', torch.ones(2))\nnet = Net().cuda()\nmask = net.mask\n",
        {"mask": "cuda:0"},
        None,
    ),
    "modules in a plain list stay behind": Case(
        "class Net(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.parts = [torch.nn.Linear(2, 2)]\n"
        "    def forward(self, x):\n        return self.parts[0](x)\n"
        "net = Net().cuda()\nx = torch.ones(1, 2).cuda()\nnet(x)\n",
        {"x": "cuda:0"},
        f"RuntimeError: {SAME_DEVICE}got mat1 is on cuda:0, different from other tensors on cpu",
    ),
    "the target was forgotten": Case(
        "net = torch.nn.Linear(2, 3).cuda()\nx, y = torch.ones(4, 2), torch.zeros(4, dtype=torch.long)\n"
        "x = x.cuda()\nloss = torch.nn.functional.cross_entropy(net(x), y)\n",
        {"x": "cuda:0", "y": "cpu"},
        f"RuntimeError: {SAME_DEVICE}got target is on cpu, different from other tensors on cuda:0",
    ),
    "class weights of a loss were forgotten": Case(
        "x = torch.ones(4, 2, device='cuda')\ny = torch.zeros(4, dtype=torch.long, device='cuda')\n"
        "w = torch.ones(2)\ntorch.nn.functional.cross_entropy(x, y, weight=w)\n",
        {"w": "cpu"},
        f"RuntimeError: {SAME_DEVICE}got weight is on cpu, different from other tensors on cuda:0",
    ),
    "the hidden state was made on the CPU": Case(
        "cell = torch.nn.LSTM(2, 3).cuda()\nx = torch.ones(4, 1, 2).cuda()\nh = torch.zeros(1, 1, 3)\n"
        "cell(x, (h, h))\n",
        {"x": "cuda:0", "h": "cpu"},
        "RuntimeError: Input and hidden tensors are not at the same device, found input tensor at cuda:0",
    ),
    "the optimizer was made before the move and still works": Case(
        "net = torch.nn.Linear(2, 2)\nopt = torch.optim.SGD(net.parameters(), lr=1.)\nnet.cuda()\n"
        "before = net.bias.detach().clone()\nnet(torch.ones(1, 2).cuda()).sum().backward()\nopt.step()\n"
        "assert not torch.equal(before, net.bias)\n",
        {"net.bias": "cuda:0"},
        None,
    ),
    "an optimizer whose state stayed on the CPU": Case(
        "w = torch.ones(2, requires_grad=True)\nopt = torch.optim.SGD([w], lr=1., momentum=0.9)\n"
        "w.sum().backward()\nopt.step()\nw.grad = None\nw.data = w.data.cuda()\n"
        "w.sum().backward()\nopt.step()\n",
        {"w": "cuda:0"},
        f"RuntimeError: {SAME_DEVICE}found at least two devices, cuda:0 and cpu!",
    ),
    "a loss summed up on the device keeps its graph there": Case(
        "w = torch.ones(2, device='cuda', requires_grad=True)\ntotal = 0\n"
        "for _ in range(3):\n    total = total + (w * 2).sum()\n",
        {"total": "cuda:0"},
        None,
    ),
    "metrics gathered on the CPU meet the device": Case(
        "seen = torch.zeros(3)\nx = torch.ones(3, device='cuda')\nseen += x\n",
        {"seen": "cpu"},
        f"RuntimeError: {SAME_DEVICE}found at least two devices, cuda:0 and cpu!",
    ),
    "a result for NumPy": Case(
        "import numpy\nx = torch.ones(2, device='cuda')\nnumpy.asarray(x)\n",
        {"x": "cuda:0"},
        "TypeError: can't convert cuda:0 device type tensor to numpy.",
    ),
    "a result for NumPy, copied first": Case(
        "x = torch.ones(2, device='cuda', requires_grad=True)\na = x.detach().cpu().numpy()\na += 1\n"
        "assert x.tolist() == [1., 1.]\n",
        {"x": "cuda:0"},
        None,
    ),
    "indices on the CPU": Case(
        "x = torch.arange(4., device='cuda')\ni = torch.tensor([2, 0])\ny = x[i]\n"
        "assert y.tolist() == [2., 0.]\n",
        {"i": "cpu", "y": "cuda:0"},
        None,
    ),
    "indices on the device of a tensor that is not": Case(
        "x = torch.arange(4.)\ni = torch.tensor([2, 0], device='cuda')\nx[i]\n",
        {"x": "cpu", "i": "cuda:0"},
        "RuntimeError: indices should be either on cpu or on the same device as the indexed tensor (cpu)",
    ),
    "a scalar tensor passes, one of one element does not": Case(
        "x = torch.ones(2, device='cuda')\ny = x * torch.tensor(2.)\nx * torch.tensor([2.])\n",
        {"y": "cuda:0"},
        f"RuntimeError: {SAME_DEVICE}found at least two devices, cuda:0 and cpu!",
    ),
    "a checkpoint of a device that is not there": Case(
        "import io\nb = io.BytesIO()\ntorch.save(torch.ones(2, device='cuda'), b)\n"
        "b = io.BytesIO(b.getvalue().replace(b'cuda:0', b'cuda:5'))\ntorch.load(b)\n",
        {},
        "RuntimeError: Attempting to deserialize object on CUDA device 5 but torch.cuda.device_count() is 1.",
    ),
    "data moved inside forward": Case(
        "class Net(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.fc = torch.nn.Linear(2, 2)\n    def forward(self, x):\n"
        "        return self.fc(x.to(next(self.parameters()).device))\n"
        "net = Net().to('cuda')\nx = torch.ones(1, 2, requires_grad=True)\ny = net(x)\ny.sum().backward()\n",
        {"x": "cpu", "y": "cuda:0"},
        None,
    ),
    "data put in place moves the tensor, no half of it": Case(
        "x = torch.ones(2)\nx.data = torch.ones(2).cuda()\n"
        "assert x.device == x.untyped_storage().device\nx.device = torch.device('cpu')\n",
        {"x": "cuda:0"},
        "AttributeError: attribute 'device' of 'torch._C.TensorBase' objects is not writable",
    ),
    "a copy that does not wait": Case(
        "x = torch.ones(2).pin_memory()\ny = x.to('cuda', non_blocking=True)\nx.zero_()\n"
        "assert y.tolist() == [1., 1.]\n",
        {"x": "cpu", "y": "cuda:0"},
        None,
    ),
    "the graph goes on across devices": Case(
        "w = torch.ones(2, requires_grad=True)\nthere = (w * 2).to('cuda')\nback = (there * 3).cpu()\n"
        "names = (type(there.grad_fn).__name__, type(back.grad_fn).__name__)\n"
        "assert names == ('ToCopyBackward0',) * 2 and there.requires_grad and not there.is_leaf\n"
        "back.sum().backward()\nassert w.grad.tolist() == [6., 6.] and w.grad.device.type == 'cpu'\n",
        {"w": "cpu", "there": "cuda:0", "back": "cpu"},
        None,
    ),
    "a copy is another storage, unless it is there already": Case(
        "a = torch.ones(3)\ng = a.cuda()\na[0] = 9\nassert g.tolist() == [1., 1., 1.]\n"
        "assert g.cuda() is g and a.cpu() is a and g.cpu().data_ptr() != a.data_ptr()\n",
        {"a": "cpu", "g": "cuda:0"},
        None,
    ),
    "a pattern of generators": Case(
        "g = torch.Generator(device='cpu')\ntorch.randperm(4, generator=g, device='cuda')\n",
        {},
        "RuntimeError: Expected a 'cuda' device type for generator but found 'cpu'",
    ),
}  # fmt: skip
