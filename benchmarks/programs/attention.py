import math
import torch
from torch import nn
torch.manual_seed(0)
x = torch.randn(2, 16, 32)
model = nn.ModuleDict({name: nn.Linear(32, 32) for name in ("q", "k", "v", "out")})
q, k, v = (model[name](x).view(2, 16, 4, 8).transpose(1, 2) for name in ("q", "k", "v"))
scores = q @ k.transpose(-2, -1) / math.sqrt(8)
mask = torch.ones(16, 16, dtype=torch.bool).tril()
weights = scores.masked_fill(~mask, float("-inf")).softmax(-1)
mixed = (weights @ v).transpose(1, 2).reshape(2, 16, 32)
out = model["out"](mixed)
loss = out.pow(2).mean()
loss.backward()
