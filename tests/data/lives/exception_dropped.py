import weakref, torch
def f(n):
    local = torch.ones(3)
    weakref.finalize(local, print, "local", n, "gone")
    if n == 0:
        local.view(7)
    f(n - 1)
try:
    f(2)
except RuntimeError:
    print("in the handler")
print("after")
