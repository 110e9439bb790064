import torch
torch.manual_seed(0)
x = torch.randn(5, 8)
W = torch.randn(4, 8)
bias = torch.randn(4)
h = x @ W + bias
