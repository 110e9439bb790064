import weakref, torch
cache = weakref.WeakValueDictionary()
x = torch.ones(2)
cache["x"] = x
cache["y"] = x * 2
print(sorted(cache))
del x
print(sorted(cache))
names = weakref.WeakKeyDictionary() if hasattr(weakref, "WeakKeyDictionary") else {}
m = torch.nn.Linear(1, 1)
names[m] = "m"
del m
print(len(names))
