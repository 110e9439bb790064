import torch
from torch import nn
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
x = torch.randn(5, 8)
target = torch.randn(5, 4)
out = model(x)
loss = ((out - target) ** 2).mean()
loss.backward()
g = model[0].weight.grad
