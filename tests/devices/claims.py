"""What is claimed of devices, claim by claim, and the device programs of the lessons.

The number before a claim is that of the claim; the name before a lesson's program is that of the lesson.
"""

from .cases import SAME_DEVICE, Case

_TWO = f"{SAME_DEVICE}found at least two devices, cuda:0 and cpu!"
_TARGET = f"{SAME_DEVICE}got target is on cpu, different from other tensors on cuda:0"
_MAT1 = f"{SAME_DEVICE}got mat1 is on cpu, different from other tensors on cuda:0"

CLAIMS: dict[str, Case] = {
    "1-01 mixing tensors of two devices raises": Case(
        "a, b = torch.ones(3), torch.ones(3).to('cuda')\na + b\n",
        {"a": "cpu", "b": "cuda:0"},
        f"RuntimeError: {_TWO}",
    ),
    "1-08 cuda() copies, unless it is there already": Case(
        "x = torch.ones(2, 3)\ng = x.to('cuda:0')\n"
        "print(g is x, g.device, g.untyped_storage().nbytes(), g.to('cuda:0') is g)\n"
        "x[0] = 9\nprint(g.tolist(), g.untyped_storage() is x.untyped_storage())\n",
        {"x": "cpu", "g": "cuda:0"},
        printed=("False cuda:0 24 True", "[[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]] False"),
    ),
    "1-10 moving between devices keeps the graph": Case(
        "x = torch.tensor([1., 2.], requires_grad=True)\ny = (x * 3).to('cuda')\n"
        "print(y.device, y.is_leaf, y.grad_fn.name(), [n.name() for n, _ in y.grad_fn.next_functions])\n"
        "y.sum().backward()\nprint(x.grad, x.grad.device)\nprint((x * 3).to('meta').grad_fn.name())\n",
        {"x": "cpu", "y": "cuda:0"},
        printed=(
            "cuda:0 False ToCopyBackward0 ['MulBackward0']",
            "tensor([3., 3.]) cpu",
            "ToCopyBackward0",
        ),
    ),
    "1-12 no tensor has its data on one device and its metadata on another": Case(
        "x = torch.ones(2)\nx.cuda()\nprint(x.device, x.untyped_storage().device)\n"
        "x.data = torch.ones(2).cuda()\nprint(x.device, x.untyped_storage().device)\n"
        "x.device = torch.device('cpu')\n",
        {"x": "cuda:0"},
        "AttributeError: attribute 'device' of 'torch._C.TensorBase' objects is not writable",
        printed=("cpu cpu", "cuda:0 cuda:0"),
    ),
    "2.3-18 an operation across devices has a grad_fn": Case(
        "w = torch.ones(2, requires_grad=True)\nthere = (w * 2).to('cuda')\nback = (there * 3).cpu()\n"
        "print(there.grad_fn.name(), back.grad_fn.name())\nback.sum().backward()\nprint(w.grad)\n",
        {"w": "cpu", "there": "cuda:0", "back": "cpu"},
        printed=("ToCopyBackward0 ToCopyBackward0", "tensor([6., 6.])"),
    ),
    "2.4-05 cpu() makes a new storage for what is elsewhere, and none for what is here": Case(
        "x = torch.ones(3)\nprint(x.cpu() is x)\ns = x.to('cuda')\nc = s.cpu()\n"
        "print(s.device, c.device, c is x, c.data_ptr() == x.data_ptr())\n",
        {"x": "cpu", "s": "cuda:0", "c": "cpu"},
        printed=("True", "cuda:0 cpu False False"),
    ),
    "2.4-10 operands are moved by hand, but for scalars, copy_ and indices": Case(
        "s = torch.ones(3).to('cuda')\nprint((torch.tensor(2.) * s).device, s[torch.tensor([0])].device)\n"
        "print(torch.zeros(3).copy_(s))\n"
        "for f in (lambda: torch.ones(1) * s, lambda: torch.tensor(2.).to('cuda') * torch.ones(3)):\n"
        "    try:\n        f()\n    except RuntimeError as e:\n        print(e)\n",
        {"s": "cuda:0"},
        printed=("cuda:0 cuda:0", "tensor([1., 1., 1.])", _TWO, _TWO),
    ),
    "3.2-14 requires_grad is inherited by a copy": Case(
        "x = torch.zeros(2)\nprint(x.to('cuda').requires_grad)\nw = torch.ones(2, requires_grad=True)\n"
        "g = w.to('cuda')\nprint(g.requires_grad, g.is_leaf, g.grad_fn.name())\n",
        {"x": "cpu", "w": "cpu", "g": "cuda:0"},
        printed=("False", "True False ToCopyBackward0"),
    ),
    "4.4-01 layers say in words of their own that model and input are on two devices": Case(
        "from torch import nn\n"
        "for m, x in ((nn.Linear(3, 2), torch.ones(1, 3)), (nn.Conv2d(3, 2, 1), torch.ones(1, 3, 4, 4))):\n"
        "    try:\n        m.to('cuda')(x)\n    except RuntimeError as e:\n        print(e)\n"
        "try:\n    nn.Conv2d(3, 2, 1)(torch.ones(1, 3, 4, 4).double())\n"
        "except RuntimeError as e:\n    print(e)\n",
        {},
        printed=(
            f"{_MAT1} (when checking argument in method wrapper_CUDA_addmm)",
            "Input type (torch.FloatTensor) and weight type (torch.cuda.FloatTensor) should be the same",
            "Input type (double) and bias type (float) should be the same",
        ),
    ),
    "4.4-02 it fails in either direction": Case(
        "def put(model, given):\n    m, x = torch.nn.Linear(2, 2).to(model), torch.ones(1, 2).to(given)\n"
        "    try:\n        print(model, given, m(x).device)\n    except RuntimeError:\n"
        "        print(model, given, 'raises')\n"
        "for model in ('cuda', 'cpu'):\n    for given in ('cuda', 'cpu'):\n        put(model, given)\n",
        {},
        printed=("cuda cuda cuda:0", "cuda cpu raises", "cpu cuda raises", "cpu cpu cpu"),
    ),
    "4.4-05 forward can move its input to where the module is": Case(
        "from torch import nn\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.fc = nn.Linear(2, 2)\n    def forward(self, x):\n"
        "        return self.fc(x.to(next(self.parameters()).device))\n"
        "net = Net().to('cuda')\nx = torch.ones(1, 2, requires_grad=True)\ny = net(x)\ny.sum().backward()\n"
        "print(y.device, x.grad.shape, x.grad.device)\n",
        {"x": "cpu", "y": "cuda:0", "net.fc.weight": "cuda:0"},
        printed=("cuda:0 torch.Size([1, 2]) cpu",),
    ),
    "5.3-01 operands are on one device, scalars apart": Case(
        "s = torch.ones(2).to('cuda')\nprint((s * torch.tensor(3.)).device, (s * 3).device)\n"
        "s + torch.ones(2)\n",
        {"s": "cuda:0"},
        f"RuntimeError: {_TWO}",
        printed=("cuda:0 cuda:0",),
    ),
    "5.3-05 an explicit move is one op": Case(
        "from torch.utils._python_dispatch import TorchDispatchMode\nclass Log(TorchDispatchMode):\n"
        "    def __torch_dispatch__(self, op, types, args=(), kwargs=None):\n        print(op)\n"
        "        return op(*args, **(kwargs or {}))\ns, c = torch.ones(2).to('cuda'), torch.ones(2)\n"
        "with Log():\n    s + c.to('cuda')\n",
        {"s": "cuda:0", "c": "cpu"},
        printed=("aten._to_copy.default", "aten.add.Tensor"),
    ),
}  # fmt: skip

LESSONS: dict[str, Case] = {
    "four failures: device fails": Case(
        "a = torch.ones(3)\nb = torch.ones(3).to('cuda')\nprint((a.to('cuda') + b).device)\n"
        "print((a + b).device)\n",
        {"a": "cpu", "b": "cuda:0"},
        f"RuntimeError: {_TWO}",
        printed=("cuda:0",),
    ),
    "across devices: gradient crosses": Case(
        "x = torch.tensor([1., 2.], requires_grad=True)\ny = (x * 3).to('cuda')\n"
        "print(x.device, y.device, y.grad_fn.name())\ny.sum().backward()\nprint(x.grad)\n",
        {"x": "cpu", "y": "cuda:0"},
        printed=("cpu cuda:0 ToCopyBackward0", "tensor([3., 3.])"),
    ),
    "modules and devices: fails": Case(
        "model = torch.nn.Linear(2, 1).to('cuda')\nx = torch.ones(4, 2)\n"
        "print(next(model.parameters()).device, x.device)\ny = model(x)\n",
        {"x": "cpu", "model.weight": "cuda:0"},
        f"RuntimeError: {_MAT1}",
        printed=("cuda:0 cpu",),
    ),
    "modules and devices: fixed": Case(
        "model = torch.nn.Linear(2, 1).to('cuda')\nx = torch.ones(4, 2)\n"
        "y = model(x.to(next(model.parameters()).device))\nprint(y.device)\n",
        {"x": "cpu", "y": "cuda:0"},
        printed=("cuda:0",),
    ),
    "modules and devices: not moved": Case(
        "class M(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.w = torch.nn.Parameter(torch.ones(2))\n"
        "        self.register_buffer('buf', torch.ones(2))\n        self.plain = torch.ones(2)\n"
        "m = M().to('cuda')\nprint(m.w.device, m.buf.device, m.plain.device)\n",
        {"m.w": "cuda:0", "m.buf": "cuda:0", "m.plain": "cpu"},
        printed=("cuda:0 cuda:0 cpu",),
    ),
    "modules and devices: module vs tensor": Case(
        "m = torch.nn.Linear(2, 2)\nt = torch.ones(2)\nm.to('cuda')\nt.to('cuda')\n"
        "print(m.weight.device, t.device)\n",
        {"m.weight": "cuda:0", "t": "cpu"},
        printed=("cuda:0 cpu",),
    ),
    "one device for all: allowed or not": Case(
        "s = torch.ones(3).to('cuda')\na = s * 2\nb = s * torch.tensor(2.)\nc = torch.zeros(3).copy_(s)\n"
        "print(a.device, b.device, c.device)\nd = s * torch.ones(1)\n",
        {"a": "cuda:0", "b": "cuda:0", "c": "cpu"},
        f"RuntimeError: {_TWO}",
        printed=("cuda:0 cuda:0 cpu",),
    ),
    "one device for all: count the copies": Case(
        "w = torch.ones(2).to('cuda')\nx = torch.ones(2)\ny = w * x.to('cuda')\nz = w * x.to('cuda')\n"
        "x2 = x.to('cuda')\nprint(y.device, z.device, x2.to('cuda') is x2)\n",
        {"x": "cpu", "y": "cuda:0", "z": "cuda:0", "x2": "cuda:0"},
        printed=("cuda:0 cuda:0 True",),
    ),
    "one device for all: too early": Case(
        "class Early(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.a = torch.nn.Linear(2, 2)\n        self.to('cuda')\n"
        "        self.b = torch.nn.Linear(2, 2)\nm = Early()\nprint(m.a.weight.device, m.b.weight.device)\n",
        {"m.a.weight": "cuda:0", "m.b.weight": "cpu"},
        printed=("cuda:0 cpu",),
    ),
    "find the layer: the input is elsewhere": Case(
        "x, y = torch.randn(6, 6), torch.randint(0, 2, (6,))\n"
        "w = torch.zeros(6, 2).to('cuda').requires_grad_()\n"
        "x_dev = x.to('cuda')\nlogits = x_dev @ w\nloss = torch.nn.functional.cross_entropy(logits, y)\n",
        {"x": "cpu", "y": "cpu", "w": "cuda:0", "logits": "cuda:0"},
        f"RuntimeError: {_TARGET}",
    ),
}  # fmt: skip
