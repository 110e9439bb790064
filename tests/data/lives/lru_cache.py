import functools, weakref, torch
@functools.lru_cache(maxsize=1)
def table(n):
    t = torch.arange(n)
    weakref.finalize(t, print, n, "gone")
    return t
table(2)
print("cached")
table(3)
print("evicted")
table.cache_clear()
print("end")
