import torch
class Loud(torch.Tensor):
    def __del__(self):
        print("loud gone", tuple(self.shape))
x = torch.ones(2, 3).as_subclass(Loud)
print("made")
y = x + 1
print("added", type(y).__name__)
del x
print("x deleted")
y = y.t()
print("end")
