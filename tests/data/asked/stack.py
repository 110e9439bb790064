import inspect, traceback, torch
print(len(inspect.stack()), len(traceback.extract_stack()))
def f(g):
    print([s.function for s in inspect.stack()], len(traceback.extract_stack()))
    return g
x = torch.ones(1, requires_grad=True)
y = x * 2
y.register_hook(f)
y.sum().backward()
class L(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        print([s.function for s in inspect.stack()])
        return super().__torch_function__(func, types, args, kwargs or {})
torch.ones(1).as_subclass(L) + 1
