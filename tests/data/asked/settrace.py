import sys, torch
seen = []
def tr(frame, event, arg):
    seen.append((event, frame.f_lineno))
    return tr
def f():
    a = 1
    b = torch.ones(1) + a
    return b
sys.settrace(tr)
f()
sys.settrace(None)
print(seen)
