import weakref, torch
x = torch.ones(3)
weakref.finalize(x, print, "first gone")
print("a")
x = torch.zeros(3)
print("b")
x = x + 1
print("c")
