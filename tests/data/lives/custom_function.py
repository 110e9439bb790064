import weakref, torch
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.note = Note()
        return x * x
    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        print("backward", x)
        return 2 * x * g
class Note:
    def __del__(self):
        print("note gone")
x = torch.ones(2, requires_grad=True)
y = Square.apply(x)
print("forward")
y.sum().backward()
print("backward over")
del y
print("end", x.grad)
