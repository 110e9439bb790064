import sys, torch
print("out")
print("err", file=sys.stderr)
sys.stdout.write("no newline")
sys.stdout.flush()
print(torch.randn(2), torch.rand(1), torch.randperm(4), torch.initial_seed())
