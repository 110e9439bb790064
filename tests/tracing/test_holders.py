"""Who keeps a storage, by name. That a holder holds is PyTorch's word: let go of it and the tensor dies."""

import gc
import textwrap
from collections.abc import Callable
from typing import Any

import pytest
import torch

from .children import in_child
from .lifetimes import died_in_plain_run

State = dict[str, Any]
SIZE = 7
"""The tensor asked about has so many elements; no other has."""

CASES = {
    "the variable of a closure": (
        """
        def make():
            acc = {x}
            def add(v):
                return acc.add_(v)
            return add
        add = make()
        """,
        "add.__closure__[0].cell_contents",
        "del add",
    ),
    "a default argument": (
        """
        def make():
            def f(a, b={x}):
                return a
            return f
        f = make()
        """,
        "f.__defaults__[0]",
        "del f",
    ),
    "a keyword-only default": ("f = (lambda t: lambda *, k=t: k)({x})", "f.__kwdefaults__['k']", "del f"),
    "an attribute of a class": ("class C:\n    w = {x}", "C.w", "del C; gc.collect()"),
    "a partial": ("import functools\np = functools.partial(torch.add, {x})", "p.args[0]", "del p"),
    "a keyword of a partial": (
        "import functools\np = functools.partial(torch.add, other=[{x}])",
        "p.keywords['other'][0]",
        "del p",
    ),
    "the object of a bound method": (
        """
        class A:
            def __init__(self):
                self.t = {x}
            def f(self): pass
        m = A().f
        """,
        "m.__self__.t",
        "del m",
    ),
    "a traceback that is kept": (
        """
        def f():
            big = {x}
            raise ValueError("no")
        try:
            f()
        except ValueError as e:
            keep = e
        """,
        "keep.__traceback__ › f: big",
        "del keep",
    ),
    "the cause of an exception that is kept": (
        """
        def f():
            big = {x}
            try:
                1 / 0
            except ZeroDivisionError as e:
                raise ValueError from e
        try:
            f()
        except ValueError as e:
            keep = [e]
        """,
        "keep[0].__cause__.__traceback__ › f: big",
        "keep[0].__cause__ = keep[0].__context__ = None; keep.clear()",
    ),
    "a generator that runs": (
        """
        def g():
            h = {x}
            yield 1
        it = g()
        next(it)
        """,
        "g: h",
        "it.close()",
    ),
    "the argument of a generator not begun": (
        "def g(h):\n    yield h\nit = g({x})",
        "it: h",
        "del it",
    ),
    "a coroutine": (
        """
        class Wait:
            def __await__(self):
                yield
        async def co():
            t = {x}
            await Wait()
        c = co()
        c.send(None)
        """,
        "co: t",
        "c.close()",
    ),
    "a hook's closure": (
        """
        w = torch.ones(2, requires_grad=True)
        def reg():
            mask = {x}
            return w.register_hook(lambda g: g * mask.sum())
        handle = reg()
        """,
        "w._backward_hooks[0].__closure__[0].cell_contents",
        "handle.remove()",
    ),
    "the hook of a tensor that only the graph keeps": (
        """
        w = torch.ones(2, requires_grad=True)
        y = w * 2
        def reg():
            mask = {x}
            y.register_hook(lambda g: g * mask.sum())
        reg()
        l = y.sum()
        del y
        """,
        "hook.__closure__[0].cell_contents",
        "del l",
    ),
    "a module's hook": (
        """
        m = torch.nn.Linear(2, 2)
        def reg():
            seen = {x}
            m.register_forward_hook(lambda mod, i, o: print(seen))
        reg()
        """,
        "m._forward_hooks[0].__closure__[0].cell_contents",
        "m._forward_hooks.clear()",
    ),
    "an iterator": ("it = iter([{x}])\nfor _ in (1,): pass", "it (list_iterator)", "del it"),
    "a set": ("s = {{ {x} }}", "list(s)[0]", "s.clear()"),
    "a view of a dictionary": ("v = {{ 'k': {x} }}.values()", "list(v)[0]", "del v"),
    "an entry under a tensor": ("d = {{ torch.ones(1): {x} }}", "list(d.values())[0]", "d.clear()"),
    "an entry under a tensor with a name": (
        "w = torch.ones(1)\nd = {{ w: {x} }}",
        "d[w]",
        "d.clear()",
    ),
    "the value of a weak key": (
        """
        import weakref
        class K: pass
        k = K()
        d = weakref.WeakKeyDictionary()
        d[k] = {x}
        """,
        "list(d.values())[0]",
        "del k",
    ),
    "a deque": ("import collections\nq = collections.deque([{x}])", "q[0]", "q.clear()"),
    "the key of a dictionary": ("d = {{ {x}: 1 }}", "list(d)[0]", "d.clear()"),
    "a cache": (
        "import functools\n@functools.lru_cache\ndef f(n):\n    return {x}\n_ = f(3).sum()",
        "f (lru_cache)",
        "f.cache_clear()",
    ),
    "an entry beyond those that are looked at": ("l = [0] * 500 + [[{x}]]", "l[500][0]", "l.pop()"),
    "a subclass of list": ("class L(list): pass\nl = L([{x}])", "l[0]", "l.clear()"),
    "a queue": ("import queue\nq = queue.Queue()\nq.put({x})", "q.queue (deque)", "_ = q.get(); del _"),
    "an attribute given to a module": ("torch.hidden = {x}", "torch.hidden", "del torch.hidden"),
    "only the parameters of an optimizer": (
        """
        def make():
            w = {x}.requires_grad_()
            return torch.optim.SGD([w], lr=.1)
        opt = make()
        """,
        "opt.param_groups[0]['params'][0]",
        "del opt; gc.collect()",
    ),
    "the tensor behind an array": (
        "x = {x}\nn = x.numpy()\ndel x",
        "n",
        None,
    ),
    "a memoryview": ("m = memoryview({x}.numpy())", "m", None),
    "a DLPack capsule": ("c = torch.utils.dlpack.to_dlpack({x})", "c", None),
    "an untyped storage": ("s = {x}.untyped_storage()", "s", None),
    "a tensor over the same memory": ("y = torch.from_numpy({x}.numpy())", "y", None),
    "a cycle": (
        """
        class N: pass
        a = N()
        a.me, a.t = a, {x}
        del a
        """,
        "unreachable until garbage collection",
        "gc.collect()",
    ),
    "a function that refers to itself": (
        """
        def outer():
            t = {x}
            def f(n):
                return f(n - 1) if n else t
            return 1
        outer()
        """,
        "unreachable until garbage collection",
        "gc.collect()",
    ),
    "a context variable": (
        "import contextvars\nv = contextvars.ContextVar('v')\ntoken = v.set({x})",
        "something the program's names do not reach",
        "v.reset(token)",
    ),
}


def program(case: str, x: str) -> str:
    body = textwrap.dedent(CASES[case][0]).strip()
    return (
        "import torch, gc\ngc.disable()\n"
        + body.format(x=x).replace("{{", "{").replace("}}", "}")
        + "\nz = 1\n"
    )


def held_and_died(state_after: Callable[..., State], case: str) -> tuple[list[str], Any]:
    """Who is said to hold the tensor, and when it died in a plain run that lets go."""
    gc.freeze()
    torch.utils.hooks.RemovableHandle.next_id = 0  # as in a process of its own
    storages = state_after(program(case, f"torch.ones({SIZE})"))["storages"].values()
    found = {tuple(s["held_by"]) for s in storages if s["nbytes"] == 4 * SIZE and not s["freed"]}
    let_go = CASES[case][2]
    died = None
    if let_go:
        marked = program(case, f"watch(torch.ones({SIZE}), 'x')")
        died = died_in_plain_run(f"{marked}{let_go}\nz = 2\n")["x"]
    return [holders[0] for holders in found], died


@pytest.mark.parametrize("case", CASES)
def test_a_storage_without_a_name_says_who_keeps_it(state_after: Callable[..., State], case: str) -> None:
    held, died = in_child(lambda: held_and_died(state_after, case))

    assert held == [CASES[case][1]]
    if CASES[case][2]:  # who is said to keep it does: it dies on the line that makes that let go
        assert died == program(case, "").count("\n") + 1
