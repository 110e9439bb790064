import torch
from torch import nn
torch.manual_seed(0)
class Block(nn.Module):
    def __init__(self, width, out, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(width, out, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(out)
        self.conv2 = nn.Conv2d(out, out, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(out)
        self.skip = nn.Identity()
        if stride != 1 or width != out:
            self.skip = nn.Sequential(nn.Conv2d(width, out, 1, stride, bias=False), nn.BatchNorm2d(out))
    def forward(self, x):
        h = torch.relu(self.bn1(self.conv1(x)))
        h = self.bn2(self.conv2(h))
        return torch.relu(h + self.skip(x))
layers = [nn.Conv2d(3, 8, 3, 1, 1, bias=False), nn.BatchNorm2d(8), nn.ReLU()]
width = 8
for out, blocks in ((8, 3), (16, 4), (32, 6), (64, 3)):
    for i in range(blocks):
        layers.append(Block(width, out, 2 if i == 0 and out > 8 else 1))
        width = out
model = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))
opt = torch.optim.SGD(model.parameters(), lr=0.01)
x = torch.randn(2, 3, 16, 16)
target = torch.tensor([1, 7])
loss = nn.functional.cross_entropy(model(x), target)
loss.backward()
opt.step()
