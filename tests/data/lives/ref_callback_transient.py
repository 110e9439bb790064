import weakref, torch
def seen(t, name, kept=[]):
    kept.append(weakref.ref(t, lambda r: print(name, "gone")))
    return t
y = seen(seen(torch.ones(3), "ones") * 2, "product") + 1
print("line done")
z = seen(y * 3, "z")
print("z is there")
z = None
print("end")
