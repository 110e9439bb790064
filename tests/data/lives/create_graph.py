import gc, weakref, torch
x = torch.tensor([2.], requires_grad=True)
y = (x ** 3).sum()
(g,) = torch.autograd.grad(y, x, create_graph=True)
weakref.finalize(g, print, "g gone")
weakref.finalize(y, print, "y gone")
del y
print("y deleted")
(gg,) = torch.autograd.grad(g.sum(), x)
print(gg)
del g
print("end")
