import sys, torch
x = torch.ones(2)
print(sys.getrefcount(x))
def f():
    y = torch.ones(2)
    print(sys.getrefcount(y))
    return sys.getrefcount(y)
f()
