import gc, weakref, torch
gc.disable()  # when a pass comes by itself depends on how much was allocated
a, b = torch.ones(1), torch.ones(1)
a.other, b.other = b, a
weakref.finalize(a, print, "a gone")
weakref.finalize(b, print, "b gone")
del a, b
print("unreachable")
print(gc.collect() > 0)
print("end")
