import weakref, torch
x = torch.ones(2, requires_grad=True)
with torch.no_grad():
    y = x * 2
    weakref.finalize(y, print, "y gone")
with torch.inference_mode():
    z = x + 1
    weakref.finalize(z, print, "z gone")
print(y.requires_grad, z.is_inference())
del y
print("y deleted")
del z
print("end")
