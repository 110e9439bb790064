"""Watches a program run: the only package that imports torch.

`session.record_program` is the way in. What is held of the program's objects is weak references, ids
and copied metadata, never a tensor or a graph node: watching must change nothing.
"""
