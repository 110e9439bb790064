import torch
x = torch.tensor([1., 2., 3., 4.])
y = x[1:3]
y += 10
