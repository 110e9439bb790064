import sys, weakref, torch
x = torch.ones(1)
weakref.finalize(x, print, "x gone").atexit = False
def f():
    y = torch.ones(2)
    weakref.finalize(y, print, "y gone")
    sys.exit(3)
try:
    f()
except SystemExit as e:
    print("exit", e.code)
print("still here")
