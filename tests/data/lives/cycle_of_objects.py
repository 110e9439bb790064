import gc, weakref, torch
gc.disable()  # when a pass comes by itself depends on how much was allocated
class Box:
    def __init__(self, t):
        self.t = t
        self.me = self
    def __del__(self):
        print("box gone")
box = Box(torch.ones(2))
ref = weakref.ref(box.t)
del box
print("alive:", ref() is not None)
gc.collect()
print("alive:", ref() is not None)
