import torch
x = torch.tensor([10, 20, 30, 40])
a = x[0:2]
b = x[::2]
