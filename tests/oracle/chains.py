"""Random programs: chains of views, writes, copies and graph building on small tensors of any form.

`chain` makes statements by a function that chooses, hypothesis or a seeded generator. Each is chosen for
the tensors as they are then: the chain runs, plain, while it is made. A statement that raises is dropped,
or ends the program. Sizes of 0 and 1, 0-d, stride 0 and overlapping windows come about by themselves and
are started from.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from hypothesis import strategies as st

NAMES = ("a", "b", "c", "d", "e")
MOST = 14


@dataclass(frozen=True)
class Statement:
    """One line of a program."""

    text: str
    source: str | None
    """The expression of the tensor that a new one is made from; None: made from nothing."""


Pick = Callable[[Sequence[Any]], Any]
"""Chooses one of several; the first is the simplest."""

SMALL = (2, 3, 1, 0)


def execute(text: str, names: dict[str, Any]) -> None:
    """Run a line, whatever it warns of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(text, names)


@st.composite
def programs(draw: Callable[[Any], Any]) -> list[Statement]:
    """Chains that hypothesis draws choice by choice, and makes small again when one fails."""
    return chain(lambda choices: draw(st.sampled_from(choices)), draw(st.integers(2, MOST)))


def chain(pick: Pick, length: int) -> list[Statement]:
    """Statements that run one after the other, the last of which may raise."""
    torch.default_generator.manual_seed(0)
    names: dict[str, Any] = {"torch": torch}
    statements = [_created(pick, NAMES[0])]
    try:
        execute(statements[0].text, names)
        for _ in range(2 * length):
            if len(statements) == length:
                break
            statement = _next(pick, names)
            try:
                execute(statement.text, names)
            except (RuntimeError, IndexError, ValueError, TypeError):
                if pick(range(12)) == 11:
                    return [*statements, statement]
                continue
            statements.append(statement)
    finally:
        torch.set_grad_enabled(True)
    return statements


def _next(pick: Pick, names: dict[str, Any]) -> Statement:
    tensors = [n for n in NAMES if isinstance(names.get(n), torch.Tensor)]
    if not tensors:
        return _created(pick, NAMES[0])
    x = pick(tensors)
    y = pick(tensors)
    new = pick(NAMES)
    kind = pick(_KINDS)
    if kind == "create":
        return _created(pick, new)
    if kind == "view":
        return Statement(f"{new} = {x}{_view(pick, names[x])}", x)
    if kind == "write":
        return Statement(_write(pick, x, y, names[x]), None)
    if kind == "compute":
        return Statement(f"{new} = " + pick(_COMPUTED).format(x=x, y=y), x)
    return Statement(pick(_OTHERS).format(x=x, y=y, new=new), None)


_KINDS = ["create", *["view"] * 6, *["write"] * 4, *["compute"] * 2, "other"]

_COMPUTED = [
    "{x}.clone()",
    "{x}.contiguous()",
    "{x} * {x}",
    "{x} * 2",
    "{x}.exp()",
    "{x} + {y}",
    "{x}.flip(0)",
    "{x}.sum()",
    "{x}.to(torch.float64)",
    "{x}.float()",
    "torch.empty_like({x}).copy_({x})",
]

_OTHERS = [
    "{new} = {x}",
    "del {x}",
    "{x}.sum().backward()",
    "{x}.requires_grad_()",
    "{x}.detach_()",
    "torch.set_grad_enabled(False)",
    "torch.set_grad_enabled(True)",
    "{x}.data.add_(1)",
    "{x}.data = {y}.detach()",
    "{x}.set_({y}.detach())",
    "pair = [{x}, {y}]",
]


def _created(pick: Pick, name: str) -> Statement:
    shape = [pick(SMALL) for _ in range(pick(range(4)))]
    count = torch.Size(shape).numel()
    made = pick(
        [
            f"torch.arange({count}.).reshape({shape})",
            f"torch.zeros({shape}, requires_grad=True)",
            f"torch.randn({shape}, requires_grad=True)",
            f"torch.ones({shape}, dtype=torch.int64)",
            "torch.tensor(3.5)",
            "torch.arange(3.).expand(2, 3)",
            "torch.arange(6.).unfold(0, 3, 1)",
            "torch.randn(2, 2, dtype=torch.complex64)",
            f"torch.full({shape}, float('nan'))",
        ]
    )
    return Statement(f"{name} = {made}", None)


def _view(pick: Pick, t: torch.Tensor) -> str:
    rank = t.dim()
    dims = range(-max(rank, 1), max(rank, 1))
    kind = pick(_VIEWS if rank else _VIEWS_OF_0D)
    match kind:
        case "index":
            return f"[{', '.join(_index(pick, n) for n in t.shape) or '...'}]"
        case "permute":
            return f".permute({_permuted(pick, rank)})"
        case "transpose":
            return f".transpose({pick(dims)}, {pick(dims)})"
        case "expand":
            sizes = [pick(SMALL) if n == 1 else n for n in t.shape]
            return f".expand({[*[pick(SMALL) for _ in range(pick(range(2)))], *sizes]})"
        case "reshape" | "view":
            return f".{kind}({pick(_shapes(t.numel()))})"
        case "unfold":
            return f".unfold({pick(dims)}, {pick(range(0, 3 + 1))}, {pick(range(1, 2 + 1))})"
        case "as_strided":
            return f".as_strided{_window(pick, t)}"
        case "narrow":
            return f".narrow({pick(dims)}, {pick(SMALL)}, {pick(SMALL)})"
        case "diagonal":
            return f".diagonal({pick(range(-1, 1 + 1))})"
        case "squeeze" | "unsqueeze" | "select":
            extra = f", {pick(range(-1, 1 + 1))}" if kind == "select" else ""
            return f".{kind}({pick(dims)}{extra})"
        case "dtype":
            return f".view({pick(['torch.int32', 'torch.uint8', 'torch.float64'])})"
    return f".{kind}"


_VIEWS = [
    "index",
    "index",
    "permute",
    "transpose",
    "expand",
    "reshape",
    "view",
    "unfold",
    "as_strided",
    "narrow",
    "diagonal",
    "squeeze",
    "unsqueeze",
    "select",
    "dtype",
    "t()",
    "mT",
    "detach()",
    "flatten()",
    "squeeze()",
    "conj()",
    "real",
    "imag",
    "view_as(torch.zeros(()))",
]


_VIEWS_OF_0D = [
    "index",
    "expand",
    "reshape",
    "as_strided",
    "unsqueeze",
    "unfold",
    "squeeze",
    "detach()",
    "t()",
]


def _index(pick: Pick, size: int) -> str:
    start, step = pick(SMALL), pick(range(1, 2 + 1))
    return pick([":", f"{start}:", f":{start}", f"::{step}", "None, :", "-1", f"{start}:{start}"])


def _shapes(count: int) -> list[list[int]]:
    """Shapes of so many elements."""
    found = [[count], [-1], [1, count], [count, 1, 1]]
    found += [[a, count // a] for a in range(2, 5) if count and count % a == 0]
    found += [[0, 3], [2, 0]] if count == 0 else []
    return found + ([[]] if count == 1 else [])


def _permuted(pick: Pick, rank: int) -> list[int]:
    left, order = list(range(rank)), []
    while left:
        order.append(pick(left))
        left.remove(order[-1])
    return order


def _window(pick: Pick, t: torch.Tensor) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    """Sizes, strides and an offset that stay within the storage, stride 0 and overlap included."""
    cells = t.untyped_storage().nbytes() // t.element_size()
    sizes = tuple(pick(SMALL) for _ in range(pick(range(4))))
    strides, offset = tuple(pick(SMALL) for _ in sizes), pick(SMALL)
    last = offset + sum((n - 1) * s for n, s in zip(sizes, strides, strict=True))
    if last >= cells and 0 not in sizes:
        sizes, offset = tuple(1 for _ in sizes), 0
    return sizes, strides, offset


def _write(pick: Pick, x: str, y: str, t: torch.Tensor) -> str:
    index = ", ".join(_index(pick, n) for n in t.shape) or "..."
    return pick(
        [
            f"{x}.add_(1)",
            f"{x} += 1",
            f"{x}.mul_({x})",
            f"{x}.mul_(0)",
            f"{x}.zero_()",
            f"{x}.fill_(3)",
            f"{x}.copy_({y})",
            f"{x}[{index}] = 5",
            f"{x}[{index}] = {y}",
            f"{x}[{index}].add_(1)",
            f"{x}.t_()",
            f"{x}.unsqueeze_(0)",
            f"{x}.squeeze_()",
            f"{x}.resize_(2, 2).zero_()",
            f"{x}.exp_()",
            f"torch.add({y}, 1, out={x})",
        ]
    )
