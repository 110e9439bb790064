import torch
q = torch.randn(2, 3, 4, requires_grad=True)
y = torch.nn.functional.scaled_dot_product_attention(q, q, q, attn_mask=torch.zeros(3, 3))
