import weakref, torch
for i in range(3):
    t = torch.ones(2) * i
    weakref.finalize(t, print, i, "gone")
    print("iteration", i)
print("over")
del t
print("end")
