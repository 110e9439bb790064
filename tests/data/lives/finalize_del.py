import weakref, torch
x = torch.ones(3)
weakref.finalize(x, print, "x is gone")
print("before")
del x
print("after")
