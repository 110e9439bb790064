import gc, weakref, torch
gc.disable()  # when a pass comes by itself depends on how much was allocated
class Node:
    def __init__(self, t):
        self.t, self.loop = t, self
gone = []
for i in range(4):
    n = Node(torch.ones(2))
    weakref.finalize(n.t, gone.append, i)
    n = None
    if i % 2:
        gc.collect()
        print(sorted(gone))
print("end")
