import weakref, torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(2, 2)
    def forward(self, x):
        h = self.fc(x)
        weakref.finalize(h, print, "h gone")
        return h.relu()
    def __del__(self):
        print("net gone")
net = Net()
weakref.finalize(net.fc.weight, print, "weight gone")
y = net(torch.ones(1, 2))
print("called")
del net
print("deleted")
del y
print("end")
