import torch
a = torch.randn(6, 6)
s = torch.linalg.svdvals(a); n = torch.linalg.norm(a, "nuc"); c = torch.linalg.cond(a); e = torch.linalg.eigvalsh(a + a.T); m = torch.linalg.matrix_norm(a, 2)
