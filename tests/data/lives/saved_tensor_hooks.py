import weakref, torch
def pack(t):
    print("pack", tuple(t.shape))
    return t.clone()
def unpack(t):
    print("unpack", tuple(t.shape))
    return t
x = torch.ones(2, requires_grad=True)
with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
    y = (x * x).exp()
print("forward done")
y.sum().backward()
print(x.grad)
