import weakref, torch
x = torch.ones(2, requires_grad=True)
y = x * 2
d = y.detach()
weakref.finalize(y, print, "y gone")
weakref.finalize(d, print, "d gone")
del y
print("y deleted", d)
d.add_(1)
del d
x.data = torch.zeros(2)
print("end", x)
