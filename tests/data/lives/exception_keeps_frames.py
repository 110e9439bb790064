import weakref, torch
def f():
    local = torch.ones(3)
    weakref.finalize(local, print, "local gone")
    raise ValueError("no")
try:
    f()
except ValueError as e:
    kept = e
    print("caught")
print("kept")
del kept
print("end")
