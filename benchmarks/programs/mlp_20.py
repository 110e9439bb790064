import torch
from torch import nn
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
opt = torch.optim.Adam(model.parameters(), lr=0.01)
x = torch.randn(32, 8)
t = torch.randn(32, 4)
losses = []
for i in range(20):
    opt.zero_grad()
    loss = nn.functional.mse_loss(model(x), t)
    loss.backward()
    opt.step()
    losses.append(loss.item())
