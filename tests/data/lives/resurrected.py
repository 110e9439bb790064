import torch
saved = []
class Phoenix(torch.Tensor):
    def __del__(self):
        if len(saved) < 1:
            saved.append(self)
            print("resurrected")
        else:
            print("gone for good")
x = torch.ones(2).as_subclass(Phoenix)
del x
print(len(saved))
y = saved.pop()
print(y.sum().item())
del y
print("end")
