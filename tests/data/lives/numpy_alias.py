import weakref, torch
x = torch.zeros(3)
a = x.numpy()
weakref.finalize(x, print, "x gone")
x.add_(1)
print(a)
del x
print("x deleted", a.sum())
del a
print("end")
