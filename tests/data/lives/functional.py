import torch
from torch.func import vmap, grad, jacrev
print(vmap(lambda x: x * 2)(torch.arange(3.)))
print(grad(lambda x: (x ** 2).sum())(torch.arange(3.)))
print(jacrev(lambda x: x ** 2)(torch.arange(2.)))
