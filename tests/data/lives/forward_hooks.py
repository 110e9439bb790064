import weakref, torch
m = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
kept = []
def hook(module, inputs, output):
    weakref.finalize(output, print, type(module).__name__, "output gone")
    kept.append(weakref.ref(output))
for each in m:
    each.register_forward_hook(hook)
y = m(torch.ones(1, 2))
print([r() is None for r in kept])
y.sum().backward()
del y
print([r() is None for r in kept])
