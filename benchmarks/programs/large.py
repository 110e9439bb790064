import torch
x = torch.ones(100_000_000)
y = x.view(10_000, 10_000)
z = y.t()
x.add_(1)
w = y[::2, 1:]
total = x.sum()
