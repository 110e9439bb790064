def depth(n=0):
    try:
        return depth(n + 1)
    except RecursionError:
        return n
import torch
def deep(x, n=0):
    try:
        return deep(x + 0, n + 1)
    except RecursionError:
        return n
print(depth(), deep(torch.ones(1)))
