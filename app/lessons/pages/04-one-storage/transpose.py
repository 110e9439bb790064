import torch
x = torch.arange(6.).reshape(2, 3)
y = x.t()
y[0, 1] = 30
