"""Random programs of tensor code: a small grammar that mostly knows which names are tensors.

Most of what it writes runs for a while, and a good part of it raises somewhere: both are wanted. No loop of
it is endless, so that what runs too long is the tracer's doing.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

from hypothesis import strategies as st

T = TypeVar("T")
Draw = Callable[[st.SearchStrategy[T]], T]

FACTORIES = (
    "torch.zeros(2, 3)",
    "torch.ones(6)",
    "torch.arange(12.).reshape(3, 4)",
    "torch.randn(3, 3, requires_grad=True)",
    "torch.ones(2, 2, requires_grad=True)",
    "torch.tensor([1, 2, 3])",
    "torch.tensor(2.5)",
    "torch.empty(0)",
    "torch.eye(3, dtype=torch.float64)",
    "torch.full((2, 2), float('nan'))",
    "torch.tensor([1 + 2j, 3 - 1j])",
    "torch.tensor([True, False, True])",
    "torch.linspace(0, 1, 5)",
    "torch.zeros(4, dtype=torch.bfloat16)",
    "torch.zeros(1 << 12)",
    "torch.rand(2, 3, 4)",
    "torch.eye(3).to_sparse()",
    "torch.empty(2, 3, device='meta')",
    "torch.from_numpy(__import__('numpy').arange(6.).reshape(2, 3))",
    "torch.nn.Linear(3, 2).weight",
    "torch.nn.Parameter(torch.ones(2, 3))",
    "torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8)",
    "torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])",
    "torch.rand(3).storage()",
    "torch.ones(3).untyped_storage()",
)
VIEWS = (
    "{x}.t()", "{x}.view(-1)", "{x}.reshape(-1, 1)", "{x}.T", "{x}[0]", "{x}[..., 1:]", "{x}[::2]",
    "{x}.unsqueeze(0)", "{x}.squeeze()", "{x}.detach()", "{x}.expand(2, *{x}.shape)", "{x}.flatten()",
    "{x}.diagonal()", "{x}.transpose(0, -1)", "{x}.narrow(0, 0, 1)", "{x}.as_strided((2, 2), (1, 1))",
    "{x}.conj()", "{x}.real", "{x}.view(torch.int32)", "{x}.chunk(2)[0]", "{x}.unbind(0)[-1]", "{x}.data",
    "{x}.grad", "{x}.unfold(0, 2, 1)", "{x}.view_as({y})", "{x}.permute(*range({x}.dim())[::-1])",
)  # fmt: skip
MATHS = (
    "{x} + {y}", "{x} * 2", "{x} - 1", "{x} / {y}", "{x} @ {y}", "{x} ** 2", "-{x}", "{x} > 0", "{x} == {y}",
    "{x}.sum()", "{x}.mean(0)", "{x}.exp()", "{x}.relu()", "{x}.clone()", "{x}.softmax(-1)", "{x}.max()",
    "{x}.to(torch.float64)", "{x}.cpu()", "{x}.contiguous()", "{x}.cumsum(0)", "{x}.sort()[0]", "{x}.norm()",
    "torch.cat([{x}, {y}])", "torch.stack([{x}, {y}])", "torch.where({x} > 0, {x}, {y})", "{x}.to_dense()",
    "torch.einsum('i,j->ij', {x}.flatten(), {y}.flatten())", "{x}.argmax()", "torch.matmul({x}, {y}.T)",
    "torch.nn.functional.linear({x}, {y})", "torch.nn.functional.mse_loss({x}, {y})", "{x}.double()",
    "{x}[{x} > 0]", "{x}.index_select(0, torch.tensor([0]))", "{x}.repeat(2)", "{x}.half()", "{x}.float()",
    "torch.func.grad(lambda a: (a ** 2).sum())({x})", "torch.vmap(lambda a: a * 2)({x})", "{x}.dequantize()",
    "torch.utils.checkpoint.checkpoint(torch.exp, {x}, use_reentrant=False)", "copy.deepcopy({x})",
)  # fmt: skip
CHANGES = (
    "{x}.add_(1)", "{x}.mul_({y})", "{x} += 1", "{x} *= {y}", "{x}[0] = 7", "{x}[..., 0] = {y}",
    "{x}.zero_()",
    "{x}.requires_grad_()", "{x}.fill_(3)", "{x}[{x} > 0] = 0", "{x}.copy_({y})", "{x}.resize_(2, 2)",
    "{x}.t_()", "{x}.squeeze_()", "{x}.set_({y})", "{x}.data = {y}", "{x}.grad = None", "{x}.detach_()",
    "{x}.sum().backward()", "{x}.sum().backward(retain_graph=True)", "{x}.backward()", "{x}.retain_grad()",
    "{x}.grad.zero_()", "torch.autograd.grad({x}.sum(), {y})", "torch.add({x}, {y}, out={x})", "{x}.exp_()",
    "{x}.register_hook(lambda g: g * 2)", "{x}.numpy()[...] = 1", "{x}.untyped_storage().resize_(0)",
    "{x}.index_add_(0, torch.tensor([0]), {y}[:1])", "torch.nn.init.ones_({x})", "{x}.share_memory_()",
    "torch.optim.SGD([{x}], lr=0.1).step()", "{x}.swap_dims = 3", "{x}.names = None", "del {x}.grad",
)  # fmt: skip
TALK = (
    "print({x})", "print({x}.shape, {x}.stride())", "print('{{n}} {{x}} <script>alert(1)</script> ]]>')",
    "print('\\x1b[31m\\u202e\\x00', end='')", "warnings.warn('a {{name}} warning')", "assert {x}.numel() > 2",
    "print(id({x}) > 0, end='')", "raise ValueError('{{operand}} is <b>not</b> right')", "gc.collect()",
    "print(len(gc.get_objects()) > 0)", "sys.stdout.write('a\\r\\nb')", "{x}",
    "'text {{that}} is a statement'",
    "exec('{x} = {x} * 2')", "globals()['late'] = {x}", "torch.manual_seed(1)", "1 / 0", "sys.exit(3)",
    "torch.set_grad_enabled(False)", "torch.set_default_dtype(torch.float64)", "import math, math as m",
    "from torch import nn", "os.listdir('/')", "undefined_name", "print(locals().keys() and 1)", "pass",
)  # fmt: skip
CONTEXTS = (
    "torch.no_grad()", "torch.enable_grad()", "torch.inference_mode()", "warnings.catch_warnings()",
    "torch.autocast('cpu')", "torch.autograd.set_detect_anomaly(True)", "contextlib.suppress(Exception)",
    "torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t)", "torch.random.fork_rng()",
)  # fmt: skip
HEADER = "import contextlib, copy, gc, os, sys, warnings\nimport torch\n"
_NAMES = ("x", "y", "z", "w", "h", "grad", "é", "变量", "_", "data")
_DEPTH = 3


class _Writer:
    """Writes statements, knowing the names that are bound so far."""

    def __init__(self, draw: Draw) -> None:
        self._draw = draw
        self._known: list[str] = ["x"]
        self._functions: list[str] = []
        self._count = 0

    def one_of(self, choices: Sequence[str]) -> str:
        return self._draw(st.sampled_from(choices))

    def number(self, low: int, high: int) -> int:
        return self._draw(st.integers(low, high))

    def name(self) -> str:
        return self.one_of(self._known)

    def fill(self, template: str) -> str:
        return template.format(x=self.name(), y=self.name())

    def expression(self) -> str:
        match self.number(0, 11):
            case 0 | 1:
                return self.one_of(FACTORIES)
            case 2 | 3 | 4:
                return self.fill(self.one_of(VIEWS))
            case 9 if self._functions:
                return f"{self.one_of(self._functions)}({self.name()})"
            case 10:
                inner = self.fill(self.one_of(MATHS))
                return self.one_of(
                    (
                        f"[{inner} for _ in range(3)]",
                        f"list({self.name()} * i for i in range(2))",
                        f"{{'a': {inner}, 'b': [{self.name()}]}}",
                        f"(lambda a, b={self.name()}: a + b)({self.name()})",
                        f"({inner}, {self.name()})",
                        f"(walrus := {inner})",
                        f"next(iter([{inner}]))",
                        f"{inner} if {self.name()} is not None else None",
                    )
                )
            case _:
                return self.fill(self.one_of(MATHS))

    def block(self, depth: int, indent: str) -> list[str]:
        known = list(self._known)
        lines = [
            line for _ in range(self.number(1, 3)) for line in self.statement(depth + 1, indent + "    ")
        ]
        self._known = list(dict.fromkeys([*known, *self._known]))
        return lines

    def statement(self, depth: int, indent: str) -> list[str]:
        """The lines of a statement."""
        kind = self.number(0, 21 if depth < _DEPTH else 13)
        if kind < 6:
            value = self.expression()
            target = self.one_of(_NAMES)
            self._known.append(target)
            return [f"{indent}{target} = {value}"]
        if kind < 10:
            return [indent + self.fill(self.one_of(CHANGES))]
        if kind < 12:
            return [indent + self.fill(self.one_of(TALK))]
        if kind == 12:
            return [f"{indent}{self.name()}, other = {self.expression()}, {self.expression()}"]
        if kind == 13:
            return [f"{indent}del {self.name()}"]
        return self.compound(kind, depth, indent)

    def compound(self, kind: int, depth: int, indent: str) -> list[str]:
        """The lines of a statement with a body."""
        self._count += 1
        name = f"f{self._count}"
        deeper = indent + "    "
        if kind == 14:
            head = [f"{indent}for i{depth} in range({self.number(0, 9)}):"]
            return (
                head + self.block(depth, indent) + [f"{deeper}{self.one_of(('continue', 'break', 'pass'))}"]
            )
        if kind == 15:
            head = [f"{indent}n{depth} = {self.number(0, 5)}", f"{indent}while n{depth} > 0:"]
            return [*head, f"{deeper}n{depth} -= 1", *self.block(depth, indent)]
        if kind == 16:
            head = [f"{indent}if {self.name()} is None or {self.number(0, 1)}:"]
            return [*head, *self.block(depth, indent), f"{indent}else:", *self.block(depth, indent)]
        if kind == 17:
            lines = [f"{indent}try:", *self.block(depth, indent)]
            lines += [f"{indent}except {self.one_of(('Exception', 'RuntimeError', 'ValueError'))} as e:"]
            lines += self.block(depth, indent)
            return lines + ([f"{indent}finally:", *self.block(depth, indent)] if self.number(0, 1) else [])
        if kind == 18:
            return [f"{indent}with {self.one_of(CONTEXTS)}:", *self.block(depth, indent)]
        if kind == 19:
            lines = [f"{indent}def {name}(x):", *self.block(depth, indent)]
            last = self.one_of(
                (f"return {self.name()}", f"yield {self.name()}", "return x", f"return {name}")
            )
            if last.startswith("yield"):
                last = (
                    f"{last}\n{deeper}yield x\n{indent}{name} = (lambda g: lambda x: list(g(x))[0])({name})"
                )
            self._functions.append(name)
            return [*lines, deeper + last]
        if kind == 20:
            base = self.one_of(
                ("torch.nn.Module", "object", "torch.autograd.Function", "torch.Tensor", "dict")
            )
            lines = [f"{indent}class C{name}({base}):", f"{deeper}held = {self.expression()}"]
            lines += [f"{deeper}def forward(self, x):", f"{deeper}    return x * 2"]
            lines += [f"{deeper}def __repr__(self):", f"{deeper}    return '{repr}'"]
            return [*lines, f"{indent}{name} = C{name}()", f"{indent}{name}.kept = {self.name()}"]
        lines = [f"{indent}model{depth} = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU())"]
        lines += [f"{indent}optimizer = torch.optim.Adam(model{depth}.parameters())"]
        lines += [f"{indent}model{depth}(torch.randn(4, 3)).sum().backward()"]
        return [*lines, f"{indent}optimizer.step()", f"{indent}optimizer.zero_grad()"]


@st.composite
def programs(draw: Draw) -> str:
    """Programs of tensor code."""
    writer = _Writer(draw)
    lines = [f"x = {writer.one_of(FACTORIES)}"]
    for _ in range(writer.number(1, 12)):
        if writer.number(0, 2):  # what raises in here does not end the program
            lines += ["with contextlib.suppress(Exception):", *writer.statement(1, "    ")]
        else:
            lines += writer.statement(0, "")
    return HEADER + "\n".join(lines) + "\n"
