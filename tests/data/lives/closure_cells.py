import weakref, torch
def make():
    state = torch.zeros(2)
    weakref.finalize(state, print, "state gone")
    def step(x):
        nonlocal state
        state = state + x
        weakref.finalize(state, print, "sum gone")
        return state
    return step
step = make()
print("made")
print(step(1))
print(step(2))
del step
print("end")
