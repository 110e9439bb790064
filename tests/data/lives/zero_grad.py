import weakref, torch
m = torch.nn.Linear(2, 1)
opt = torch.optim.SGD(m.parameters(), lr=0.1)
for i in range(2):
    loss = m(torch.ones(1, 2)).sum()
    weakref.finalize(loss, print, "loss", i, "gone")
    opt.zero_grad()
    print("zeroed", m.weight.grad is None)
    loss.backward()
    weakref.finalize(m.weight.grad, print, "grad", i, "gone")
    opt.step()
    print("stepped", i)
print("end")
