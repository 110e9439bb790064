import torch
from benchmarks.marks import marked
x = torch.zeros(3)
for i in marked(10_000):
    x = x + 1
