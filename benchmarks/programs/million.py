import torch
x = torch.arange(1_000_000.0).reshape(1000, 1000)
y = x.t()
z = x[::2, 1:]
x.add_(1)
