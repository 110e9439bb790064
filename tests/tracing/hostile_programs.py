"""Programs whose objects count every call of their methods, and print the counts at the end.

What PyTorch itself asks once more because it is watched is not counted: `__torch_function__` of an argument,
each time that a call goes from Python to C++, and `__subclasscheck__` of an exception's class, each time that
the exception comes back.
"""

_BEGIN = """
import torch, sys
calls = {}
def hit(name):
    calls[name] = calls.get(name, 0) + 1
"""
_END = """
print(sorted(calls.items()))
"""

_MIDDLES = {
    "a metaclass that hears every question": r"""
class Meta(type):
    def __getattribute__(cls, name):
        hit("meta.getattribute " + name); return type.__getattribute__(cls, name)
    def __instancecheck__(cls, other):
        hit("meta.instancecheck"); return True
    def __subclasscheck__(cls, other):
        hit("meta.subclasscheck"); return True
    def __eq__(cls, other):
        hit("meta.eq"); return NotImplemented
    def __hash__(cls):
        hit("meta.hash"); return 7
    def __repr__(cls):
        hit("meta.repr"); return "r"
class A(metaclass=Meta):
    def __init__(self): object.__setattr__(self, "t", torch.ones(2))
a = A()
b = [a, {"k": a}, A]
x = torch.ones(2)
x.add_(1)
c = A
y = x * 2
""",
    "objects that answer for themselves": r"""
class A:
    __slots__ = ("t", "__dict__", "__weakref__")
    def __getattribute__(self, name):
        hit("getattribute " + name); return object.__getattribute__(self, name)
    def __eq__(self, other):
        hit("eq"); return NotImplemented
    def __hash__(self):
        hit("hash"); return 3
    def __repr__(self):
        hit("repr"); return "r"
    def __str__(self):
        hit("str"); return "s"
    def __len__(self):
        hit("len"); return 2
    def __iter__(self):
        hit("iter"); return iter(())
    def __bool__(self):
        hit("bool"); return True
    def __getitem__(self, i):
        hit("getitem"); raise IndexError
    def __index__(self):
        hit("index"); return 1
    def __del__(self):
        hit("del")
    @property
    def __class__(self):
        hit("class"); return torch.Tensor
a = A()
a.t = torch.ones(2)
d = {a: torch.ones(1), "s": a, (a, 1): torch.ones(1)}
l = [a, (a,)]
x = torch.ones(2)
x.add_(1)
def f(q, r=a):
    z = x * 2
    return z
w = f(a)
del d
""",
    "containers and texts of the program's own": r"""
class D(dict):
    def __getattribute__(self, n):
        hit("D.getattribute " + n); return dict.__getattribute__(self, n)
    def items(self): hit("D.items"); return dict.items(self)
    def keys(self): hit("D.keys"); return dict.keys(self)
    def get(self, *a): hit("D.get"); return dict.get(self, *a)
    def __getitem__(self, k): hit("D.getitem"); return dict.__getitem__(self, k)
    def __len__(self): hit("D.len"); return dict.__len__(self)
    def __iter__(self): hit("D.iter"); return dict.__iter__(self)
class L(list):
    def __getattribute__(self, n):
        hit("L.getattribute " + n); return list.__getattribute__(self, n)
    def __len__(self): hit("L.len"); return list.__len__(self)
    def __getitem__(self, k): hit("L.getitem"); return list.__getitem__(self, k)
    def __iter__(self): hit("L.iter"); return list.__iter__(self)
class T(tuple):
    _fields = L(["a"])
    def __len__(self): hit("T.len"); return tuple.__len__(self)
    def __getitem__(self, k): hit("T.getitem"); return tuple.__getitem__(self, k)
    def __iter__(self): hit("T.iter"); return tuple.__iter__(self)
class S(str):
    def __eq__(self, o): hit("S.eq"); return str.__eq__(self, o)
    def __hash__(self): hit("S.hash"); return str.__hash__(self)
    def __str__(self): hit("S.str"); return "s"
    def __format__(self, spec): hit("S.format"); return "s"
    def isidentifier(self): hit("S.isidentifier"); return True
class T2(tuple):
    _fields = (S("a"), "b")
class Slots:
    __slots__ = L(["q"])
class Slots2:
    class It:
        def __iter__(self): return iter(["q"])
    __slots__ = It()
class P:
    pass
x = torch.ones(2)
p = P()
p.__dict__[S("k")] = x
p.__dict__ = D(p.__dict__)
s = Slots(); s.q = x
Slots.__slots__ = L(["q"])
s2 = Slots2(); s2.q = x
d = D(a=x)
l = L([x])
t = T((x,))
t2 = T2((x, x))
globals()[S("zz")] = x
k = {S("key"): x}
o = torch.optim.SGD([torch.ones(2, requires_grad=True)], lr=0.1, momentum=0.9)
o.__dict__["param_groups"] = L([D(params=L([x]))])
o.__dict__["state"] = D({x: {"m": x}})
x.add_(1)
y = x * 2
""",
    "tensors of a class of the program's own": r"""
class TT(torch.Tensor):
    def __getattribute__(self, n):
        hit("TT.getattribute " + n) if n != "__torch_function__" else None
        return torch.Tensor.__getattribute__(self, n)
    def __repr__(self): hit("TT.repr"); return "r"
    def __len__(self): hit("TT.len"); return 1
    def __hash__(self): hit("TT.hash"); return 1
    def __bool__(self): hit("TT.bool"); return True
    @property
    def shape(self): hit("TT.shape"); return (1,)
    @property
    def grad(self): hit("TT.grad"); return None
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        hit("TT.tf " + str(getattr(func, "__name__", "?")))
        return super().__torch_function__(func, types, args, kwargs or {})
x = torch.ones(2).as_subclass(TT)
y = x + 1
y.add_(1)
w = torch.ones(2, requires_grad=True)
z = (w * x).sum()
z.backward()
q = torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8).as_subclass(TT)
big = torch.ones(5000).as_subclass(TT)
big.add_(1)
""",
    "exceptions of every kind": r"""
class E(Exception):
    def __init__(self, *a): super().__init__(*a)
    def __getattribute__(self, n):
        hit("E.getattribute " + n); return Exception.__getattribute__(self, n)
    def __str__(self): hit("E.str"); return "s"
    def __eq__(self, o): hit("E.eq"); return self is o
    def __hash__(self): hit("E.hash"); return 1
class Meta(type):
    def __getattribute__(cls, name):
        hit("EM.getattribute " + name); return type.__getattribute__(cls, name)
    def __instancecheck__(cls, other): hit("EM.instancecheck"); return type.__instancecheck__(cls, other)
class E2(E, metaclass=Meta):
    @property
    def args(self): hit("E2.args"); return ()
    @property
    def __cause__(self): hit("E2.cause"); return None
    @property
    def __traceback__(self): hit("E2.tb"); return None
class E3(E):
    @property
    def __class__(self): hit("E3.class"); return StopIteration
class E4(Exception):
    class S:
        def __get__(self, *a): hit("E4.str.get"); return lambda: "x"
    __str__ = S()
x = torch.ones(2)
for kind in (E, E2, E3, E4):
    try:
        raise kind("a")
    except Exception as error:
        kept = error
    try:
        try:
            raise kind("a")
        except Exception as e:
            raise kind("b") from e
    except Exception:
        pass
class F(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a): return a * 1
    @staticmethod
    def backward(ctx, g): raise E2("z")
v = torch.ones(2, requires_grad=True)
try:
    F.apply(v).sum().backward()
except Exception:
    pass
def h(a):
    raise E("in call")
try:
    torch.ones(2, requires_grad=True).register_hook(h)
    u = torch.ones(2, requires_grad=True) * 1
    u.register_hook(h)
    u.sum().backward()
except Exception:
    pass
""",
    "callables, modules, generators and closures": r"""
class C:
    def __getattribute__(self, n):
        hit("C.getattribute " + n); return object.__getattribute__(self, n)
    def __call__(self, *a): return None
    def __str__(self): hit("C.str"); return "c"
c = C()
x = torch.ones(2)
class O:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return None
    def __getattribute__(self, n):
        hit("O.getattribute " + n) if n != "__torch_function__" else None
        return object.__getattribute__(self, n)
    def __str__(self): hit("O.str"); return "c"
o = O()
y = torch.add(x, o)
import functools
class Part(functools.partial):
    def __getattribute__(self, n):
        hit("Part." + n); return functools.partial.__getattribute__(self, n)
p = Part(print, x)
class M(type(sys)):
    def __getattribute__(self, n):
        hit("M." + n); return type(sys).__getattribute__(self, n)
m = M("m")
m.__dict__["t"] = torch.ones(3)
sys.modules["m"] = m
def gen():
    held = torch.ones(4)
    yield 1
    yield held
g = gen(); next(g)
def dec():
    inner = torch.ones(5)
    def f(a=[inner]): return inner
    f.t = inner
    return f
f = dec()
z = x * 2
del z
x.add_(1)
def hook(grad): return None
hook.__module__ = c
v = torch.ones(2, requires_grad=True)
v.register_hook(hook)
(v * 2).sum().backward()
hook.__name__ = "q"
import collections
class OD(collections.OrderedDict):
    def items(self): hit("OD.items"); return super().items()
    def __iter__(self): hit("OD.iter"); return super().__iter__()
    def __getattribute__(self, n):
        hit("OD." + n); return super().__getattribute__(n)
od = OD(a=torch.ones(1))
class M2(torch.nn.Module):
    def __getattribute__(self, n):
        hit("M2." + n) if n in ("_modules", "_parameters", "__dict__", "__class__") else None
        return super().__getattribute__(n)
    def forward(self, a): return a * 2
mm = M2()
out = mm(x)
""",
    "namespaces that a metaclass or exec was given": r"""
class N(dict):
    def __getitem__(self, k): hit("N.getitem"); return dict.__getitem__(self, k)
    def __setitem__(self, k, v): hit("N.setitem"); dict.__setitem__(self, k, v)
    def __contains__(self, k): hit("N.contains"); return dict.__contains__(self, k)
    def __iter__(self): hit("N.iter"); return dict.__iter__(self)
    def __len__(self): hit("N.len"); return dict.__len__(self)
    def get(self, *a): hit("N.get"); return dict.get(self, *a)
    def keys(self): hit("N.keys"); return dict.keys(self)
    def items(self): hit("N.items"); return dict.items(self)
    def __getattribute__(self, n): hit("N.getattribute " + n); return dict.__getattribute__(self, n)
class W(type):
    @classmethod
    def __prepare__(mcs, name, bases): return N()
class B(metaclass=W):
    t = torch.ones(2)
    u = t * 2
    t.add_(1)
import torch as _t
g = N(torch=torch, hit=hit)
exec('''
import warnings
x = torch.ones(2)
x.add_(1)
warnings.warn('w')
z = torch.ones(2, requires_grad=True)
(z * 2).sum().backward()
''', g)
exec(compile("y = x * 2\nq = y.t()", "<program>", "exec"), g)
exec(compile("y = x * 2\nq = y.t()", "<program>", "exec"), {"x": g["x"]}, N())
h = x2 = torch.ones(2)
""",
}

PROGRAMS = {name: _BEGIN + middle + _END for name, middle in _MIDDLES.items()}
