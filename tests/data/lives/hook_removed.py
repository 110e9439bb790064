import weakref, torch
class Counter:
    def __call__(self, g):
        print("called")
    def __del__(self):
        print("counter gone")
w = torch.ones(2, requires_grad=True)
handle = w.register_hook(Counter())
(w * 2).sum().backward()
handle.remove()
print("removed")
del handle
print("end")
