import weakref, torch
x = torch.ones(3, requires_grad=True)
a = x.exp()
weakref.finalize(a, print, "a gone")
b = a.sum()
del a
print("saved")
b.backward()
print("freed by backward")
del b
print("end")
