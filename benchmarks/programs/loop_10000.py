import torch
x = torch.zeros(3)
for i in range(10_000):
    x = x + 1
