import weakref, torch
w = torch.ones(4, requires_grad=True)
v = (w * 2).view(2, 2).t()[0]
weakref.finalize(v, print, "v gone")
weakref.finalize(v.grad_fn, print, "never") if hasattr(v.grad_fn, "__weakref__") else None
out = v.sum()
del v
print("v deleted")
out.backward()
print("backward", w.grad)
del out
print("end")
