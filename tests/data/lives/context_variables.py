import contextvars, weakref, torch
var = contextvars.ContextVar("var")
def f():
    var.set(torch.ones(2))
    weakref.finalize(var.get(), print, "gone")
    print("in")
context = contextvars.copy_context()
context.run(f)
print("ran")
del context
print("end")
