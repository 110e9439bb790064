import weakref, torch
x = torch.ones(2, requires_grad=True)
h = x.sin()
weakref.finalize(h, print, "h gone")
y = h.sum()
del h
y.backward(retain_graph=True)
print("once")
y.backward()
print("twice")
try:
    y.backward()
except RuntimeError as e:
    print(type(e).__name__, str(e)[:40])
del y
print("end")
