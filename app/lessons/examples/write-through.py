import torch
x = torch.arange(12.).view(3, 4)
y = x.t()
z = x[1:, ::2]
w = torch.ones(4, 2, requires_grad=True)
h = x @ w
z.mul_(10)
loss = h.pow(2).mean()
loss.backward()
