import torch
w = torch.ones(3, requires_grad=True)
y = w.exp()
s = y.sum()
y.add_(1)
s.backward()
