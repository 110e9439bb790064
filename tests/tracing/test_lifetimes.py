"""A storage is freed on the line on which PyTorch frees it, whatever let go of it."""

import pytest

from .children import in_child
from .lifetimes import died_in_plain_run, freed_in_traced_run

PROGRAMS = {
    "a name bound to something else": """
x = watch(torch.ones(1), "a")
x = watch(torch.ones(2), "b")
x = None
z = 1
""",
    "locals when the function returns": """
def f():
    a = watch(torch.ones(1), "a")
    b = a + 1
    return b.sum()
y = f()
z = 1
""",
    "a local bound again or deleted": """
def f():
    a = watch(torch.ones(1), "a")
    a = watch(torch.ones(2), "b")
    z = 1
    del a
    z = 2
    return z
y = f()
z = 1
""",
    "locals of frames that an exception unwinds": """
def f():
    a = watch(torch.ones(1), "a")
    g()
def g():
    b = watch(torch.ones(2), "b")
    raise ValueError
try:
    f()
except ValueError:
    z = 0
    z = 1
z = 2
""",
    "a frame kept by the exception until its handler ends": """
def g():
    b = watch(torch.ones(2), "b")
    raise ValueError
try:
    g()
except ValueError as e:
    z = 0
    z = 1
z = 2
""",
    "a cycle when the collector runs": """
import gc
gc.disable()
class N: pass
n = N(); n.me = n; n.t = watch(torch.ones(1), "a")
del n
z = 1
gc.collect()
z = 2
""",
    "the variable of a loop": """
def go():
    for x in [watch(torch.ones(1), "a"), watch(torch.ones(2), "b")]:
        y = x + 1
    z = 1
    x = None
    z = 2
go()
z = 3
for x in (watch(torch.ones(n), str(n)) for n in (3, 4)):
    z = 4
del x
z = 5
""",
    "an entry of a container": """
d = {"k": [watch(torch.ones(1), "a"), watch(torch.ones(2), "b")], "l": watch(torch.ones(3), "c")}
d["k"].pop(0)
z = 0
d["k"][0] = None
z = 1
d.clear()
z = 2
t = [[watch(torch.ones(4), "d")]]
del t
z = 3
""",
    "operands without a name": """
y = watch(torch.ones(1), "a") + watch(torch.ones(2), "b")
z = 1
""",
    "what a comprehension goes through": """
s = [watch(torch.ones(n), str(n)).sum().item() for n in (1, 2, 3)]
z = 1
""",
    "locals of a generator": """
def g():
    t = watch(torch.ones(1), "a")
    yield 1
    t = None
    yield 2
    u = watch(torch.ones(2), "b")
    yield 3
it = g()
next(it)
next(it)
z = 1
next(it)
z = 2
it.close()
z = 3
""",
    "locals of a generator that is dropped": """
def g():
    t = watch(torch.ones(1), "a")
    yield 1
it = g()
next(it)
z = 1
del it
z = 2
""",
    "what a with statement bound": """
import contextlib
@contextlib.contextmanager
def cm():
    t = watch(torch.ones(1), "a")
    yield t
    z = 0
with cm() as x:
    z = 1
z = 2
del x
z = 3
""",
    "what a finally block deletes": """
def f():
    a = watch(torch.ones(1), "a")
    try:
        return a.sum()
    finally:
        del a
        z = 1
y = f()
z = 2
""",
    "locals of recursive calls": """
def f(n):
    a = watch(torch.ones(n), str(n))
    if n > 1:
        f(n - 1)
    return 0
f(4)
z = 1
""",
    "what backward releases": """
w = torch.ones(1, requires_grad=True)
y = (watch(torch.full((2,), 2.), "a") * w).exp().sum()
z = 1
y.backward()
z = 2
""",
    "what a graph kept": """
w = torch.ones(1, requires_grad=True)
y = (watch(torch.full((2,), 2.), "a") * w).exp().sum()
z = 1
del y
z = 2
""",
    "an argument bound again": """
def f(x):
    x = x + 1
    z = 1
    return z
f(watch(torch.ones(1), "a"))
z = 2
""",
    "what a loop makes anew each time": """
for i in range(3):
    h = watch(torch.ones(i + 1), str(i))
    h = h * 2
z = 1
""",
    "the argument of a lambda": """
f = lambda x: x.sum()
y = f(watch(torch.ones(1), "a"))
g = lambda: acc
acc = watch(torch.ones(2), "b")
del acc
z = 1
""",
    "the variable of a closure": """
def make():
    acc = watch(torch.ones(1), "a")
    def add(): return acc
    return add
add = make()
z = 1
del add
z = 2
""",
    "locals of a kept traceback": """
def g():
    b = watch(torch.ones(2), "b")
    raise ValueError
try:
    g()
except ValueError as e:
    keep = e
z = 1
keep.__traceback__ = None
z = 2
""",
    "operands of a statement of several lines": """
y = (watch(torch.ones(1), "a")
     + watch(torch.ones(2), "b")
     ).sum()
z = 1
def f(*a): return 1
f(
    watch(torch.ones(3), "c"),
    watch(torch.ones(4), "d"),
)
z = 2
""",
    "a gradient set to None": """
w = torch.ones(1, requires_grad=True)
w.sum().backward()
watch(w.grad, "a")
w.grad = None
z = 1
""",
    "swapped names": """
a, b = watch(torch.ones(1), "a"), watch(torch.ones(2), "b")
a, b = b, a
a = 1
z = 1
b = 1
z = 2
""",
    "locals behind an exception raised from another": """
def f():
    t = watch(torch.ones(1), "a")
    try:
        raise KeyError
    except KeyError as e:
        raise ValueError from e
try:
    f()
except ValueError:
    z = 1
z = 2
""",
    "what a while loop pops": """
q = [watch(torch.ones(1), "a"), watch(torch.ones(2), "b")]
while q:
    q.pop()
else:
    z = 1
z = 2
""",
    "locals of a coroutine": """
import asyncio
async def w():
    t = watch(torch.ones(1), "a")
    await asyncio.sleep(0)
    t = None
    await asyncio.sleep(0)
    return 1
asyncio.run(w())
z = 1
""",
    "attributes of an object with __del__": """
class A:
    def __init__(self): self.t = watch(torch.ones(1), "a")
    def __del__(self):
        z = 1
a = A()
z = 0
del a
z = 2
""",
    "a name bound in an expression": """
if (t := watch(torch.ones(1), "a")).sum() > 0:
    z = 0
t = 0
z = 1
""",
    "names bound and deleted on one line": """
a = watch(torch.ones(1), "a"); a = 1; b = watch(torch.ones(2), "b"); del b
z = 1
""",
}


@pytest.mark.parametrize("let_go", PROGRAMS)
def test_freed_lines_are_those_of_a_plain_run(let_go: str) -> None:
    source = "import torch\n" + PROGRAMS[let_go].lstrip()
    plain, traced = in_child(lambda: (died_in_plain_run(source), freed_in_traced_run(source)))

    assert plain
    assert traced == plain


def test_two_storages_at_one_address_within_a_line_are_both_freed() -> None:
    source = (
        "import torch\n" + "a = watch(torch.ones(1), 'a'); a = 1; b = watch(torch.ones(2), 'b'); del b\n" * 3
    )
    assert in_child(lambda: freed_in_traced_run(source)) == {"a": 4, "b": 4}
