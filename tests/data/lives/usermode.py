import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.overrides import TorchFunctionMode
class D(TorchDispatchMode):
    def __torch_dispatch__(self, f, t, a=(), k=None):
        print("D", f); return f(*a, **(k or {}))
class F(TorchFunctionMode):
    def __torch_function__(self, f, t, a=(), k=None):
        print("F", getattr(f,"__name__",f)); return f(*a, **(k or {}))
x = torch.ones(2, requires_grad=True)
with D(): y = (x * 2).sum(); y.backward()
with F(): z = torch.nn.functional.relu(x)
with F(), D(): q = x.view(2, 1)
