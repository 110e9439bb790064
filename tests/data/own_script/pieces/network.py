import torch
from torch import nn


class Residual(nn.Module):
    def __init__(self, width, dropout):
        super().__init__()
        self.first = nn.Linear(width, width)
        self.second = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        h = self.dropout(torch.relu(self.first(x)))
        return self.norm(x + self.second(h))


class Network(nn.Module):
    def __init__(self, inputs, width, classes, dropout=0.1):
        super().__init__()
        self.inlet = nn.Linear(inputs, width)
        self.blocks = nn.ModuleList(Residual(width, dropout) for _ in range(2))
        self.outlet = nn.Linear(width, classes)

    def forward(self, x):
        h = self.inlet(x)
        for block in self.blocks:
            h = block(h)
        return self.outlet(h)
