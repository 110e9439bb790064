import weakref, torch
w = torch.ones(2, requires_grad=True)
h = w * 3
h.register_hook(lambda g: print("hook", g))
weakref.finalize(h, print, "h gone")
loss = (h ** 2).sum()
del h
print("h deleted")
loss.backward()
print("backward over")
del loss
print("end", w.grad)
