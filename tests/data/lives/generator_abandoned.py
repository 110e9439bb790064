import weakref, torch
def g():
    x = torch.ones(2)
    weakref.finalize(x, print, "x gone")
    try:
        yield x
    finally:
        print("closed")
it = g()
t = next(it)
print("took")
del it
print("iterator deleted")
del t
print("end")
