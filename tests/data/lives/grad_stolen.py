import weakref, torch
w = torch.ones(3, requires_grad=True)
(w * 2).sum().backward()
g = w.grad
weakref.finalize(g, print, "gradient gone")
w.grad = None
print("None")
del g
print("deleted")
(w * 3).sum().backward()
print(w.grad)
