import weakref, torch
a, b = torch.ones(1), torch.zeros(1)
weakref.finalize(a, print, "ones gone")
weakref.finalize(b, print, "zeros gone")
a, b = b, a
print("swapped")
a = b
print("zeros dropped")
b = None
a = None
print("end")
