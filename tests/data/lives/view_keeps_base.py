import weakref, torch
base = torch.arange(6.)
storage = weakref.ref(base)
view = base[2:4]
weakref.finalize(base, print, "base gone")
weakref.finalize(view, print, "view gone")
del base
print(storage() is None, view._base is None)
del view
print("end")
