import gc, torch
x = torch.ones(2)
print(sum(1 for o in gc.get_objects() if type(o) is torch.Tensor))
def f():
    y = torch.ones(2)
    print(len(gc.get_referrers(y)))
f()
