import torch
x = torch.zeros(3)
for i in range(1_000):
    x = x + 1
