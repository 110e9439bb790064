import torch
from torch import nn
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
opt = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.randn(32, 8)
t = torch.randn(32, 4)
for i in range(50):
    opt.zero_grad()
    out = model(x)
    loss = ((out - t) ** 2).mean()
    loss.backward()
    opt.step()
