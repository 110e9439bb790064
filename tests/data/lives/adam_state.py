import weakref, torch
m = torch.nn.Linear(2, 2)
opt = torch.optim.Adam(m.parameters(), lr=0.1)
m(torch.ones(1, 2)).sum().backward()
opt.step()
state = opt.state[m.weight]["exp_avg"]
weakref.finalize(state, print, "exp_avg gone")
del state
print("held by the optimizer")
del opt
print("optimizer deleted")
del m
print("end")
