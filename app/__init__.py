"""Tensor Anatomy: what PyTorch code does to a tensor, line by line, in its four layers."""
