import weakref, torch
d = {"a": torch.ones(1), "b": [torch.ones(2), torch.ones(3)]}
for key, t in (("a", d["a"]), ("b0", d["b"][0]), ("b1", d["b"][1])):
    weakref.finalize(t, print, key, "gone")
del t
print("made")
d["a"] = 1
print("replaced")
d["b"].pop()
print("popped")
d.clear()
print("end")
