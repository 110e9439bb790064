import torch
from benchmarks.marks import marked
w = torch.ones(3, requires_grad=True)
y = w
for i in marked(10_000):
    y = y * w
