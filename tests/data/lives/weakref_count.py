import weakref, torch
x = torch.ones(2)
r = weakref.ref(x)
print(r() is x, weakref.ref(x) is r)
del x
print(r())
