import torch
a = torch.arange(12.0).reshape(3, 4)
b = a.t()
c = b[1:]
d = a[::2, 1:3]
e = b.contiguous()
f = a[0].expand(2, 4)
a.add_(100)
g = a.flatten()
h = torch.as_strided(a, (2, 2), (5, 1), 1)
