import torch
x = torch.arange(4)
a = x[1:3]
b = x[[1, 2]]
c = x[1:3].clone()
d = x[x > 0]
x.zero_()
