import weakref, torch
def made(i):
    t = torch.full((2,), float(i))
    weakref.finalize(t, print, i, "gone")
    return t
total = sum(made(i).sum() for i in range(3))
print("summed")
kept = [made(i) for i in range(2)]
print("kept")
kept = [t * 2 for t in kept]
print("end")
