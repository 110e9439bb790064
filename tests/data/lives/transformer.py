import torch
m = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
e = torch.nn.TransformerEncoder(m, 2, enable_nested_tensor=False).eval()
a = torch.nn.MultiheadAttention(8, 2, batch_first=True).eval()
x = torch.randn(2, 3, 8)
with torch.no_grad():
    y = m(x); z = e(x); q = a(x, x, x)[0]
p = m(x)
