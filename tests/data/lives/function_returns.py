import weakref, torch
def f(x):
    h = x * 2
    weakref.finalize(h, print, "h gone")
    g = h + 1
    weakref.finalize(g, print, "g gone")
    print("returning")
    return g
y = f(torch.ones(2))
print("returned")
y = f(y)
print("again")
