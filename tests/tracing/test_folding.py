"""Folded iterations: what is kept is what an unfolded trace has at the same place, and the end is exact."""

import random
from collections.abc import Callable
from typing import Any

import pytest
from tensor_anatomy.schema import Limits, Trace
from tensor_anatomy.schema.replay import state_document, step_line

from ..conftest import LIMITS

FEW = LIMITS.model_copy(update={"steps_kept": 24})

LOOPS = {
    "for": """
        import torch
        w = torch.zeros(3)
        for i in range(60):
            w = w + i
            w.add_(1)
    """,
    "while": """
        import torch
        w, k = torch.zeros(3), 0
        while k < 50:
            k += 1
            w.mul_(2).add_(k)
    """,
    "while True, left by break": """
        import torch
        w, k = torch.zeros(3), 0
        while True:
            k += 1
            w.add_(k)
            if k > 40:
                break
        y = w * 2
    """,
    "nested": """
        import torch
        w, history = torch.zeros(2), []
        for a in range(12):
            v = torch.full((2,), float(a))
            for b in range(9):
                w = w + v
                if b == 7:
                    continue
                w.add_(b)
            history.append(w.sum())
    """,
    "while True around a for": """
        import torch
        w, n = torch.zeros(2), 0
        while True:
            for b in range(5):
                w.add_(b)
            n += 1
            if n == 14:
                break
    """,
    "in a function": """
        import torch
        def train(w, steps):
            seen = []
            for i in range(steps):
                h = w * i
                seen.append(h.sum())
            return w + h, seen
        w = torch.ones(3)
        for _ in range(6):
            w, last = train(w, 30)
    """,
    "recursion": """
        import torch
        def down(x, n):
            if n == 0:
                return x
            y = x + 1
            return down(y, n - 1) * 2
        z = down(torch.zeros(2), 60)
    """,
    "two calls each": """
        import torch
        def fib(n):
            x = torch.tensor(n)
            if n < 2:
                return x
            return fib(n - 1) + fib(n - 2)
        y = fib(9)
    """,
    "generator": """
        import torch
        def batches(n):
            for i in range(n):
                yield torch.full((2,), float(i))
        total = torch.zeros(2)
        for x in batches(40):
            total = total + x
        rest = list(batches(30))[-1]
    """,
    "comprehension": """
        import torch
        def f(x):
            y = x + 1
            return y * 2
        x = torch.ones(2)
        ys = [f(x) for _ in range(40)]
    """,
    "on one line": """
        import torch
        x = torch.ones(2)
        for i in range(60): x = x + 1
        for i in range(60): x.mul_(1.0)
    """,
    "deletes and resizes what was there before": """
        import torch
        old = [torch.ones(i + 1) for i in range(40)]
        big = torch.zeros(4)
        b = big.untyped_storage()
        for i in range(40):
            k = old.pop()
            big.resize_(4 + i).zero_()
        for i in range(30):
            if i == 25:
                del big, b
            k = torch.ones(2)
    """,
    "training": """
        import torch
        torch.manual_seed(0)
        w = torch.randn(3, 2, requires_grad=True)
        opt = torch.optim.SGD([w], lr=0.1, momentum=0.9)
        x = torch.randn(5, 3)
        for i in range(40):
            opt.zero_grad()
            loss = (x @ w).square().mean()
            loss.backward()
            opt.step()
    """,
    "grows a graph": """
        import torch
        w = torch.ones(3, requires_grad=True)
        y = w
        for i in range(80):
            y = y * w
        y.sum().backward()
    """,
    "prints and warns": """
        import torch, warnings
        for i in range(40):
            x = torch.ones(2) * i
            print(i, x.sum())
        warnings.warn("done")
    """,
    "left by an exception that is caught": """
        import torch
        w = torch.zeros(2)
        for a in range(20):
            try:
                for b in range(9):
                    w.add_(1)
                    if b == 6:
                        raise ValueError(a)
            except ValueError as e:
                caught = torch.tensor(e.args[0])
    """,
}

UNREACHED = "something the program's names do not reach"


def end_of(trace: Trace, step: int | None = None) -> dict[str, Any]:
    """What a reader sees after a step: the state document without what a folded trace need not repeat."""
    state = state_document(trace, step).model_dump(mode="json", by_alias=True)
    storages = {
        # Who keeps what no name leads to is looked for when there is time, and so not at every step.
        k: {
            f: v if f != "held_by" else [h for h in v if h != UNREACHED]
            for f, v in s.items()
            if f != "address"
        }
        for k, s in state["storages"].items()
        if not s["freed"]
    }
    same = ("bindings", "locals", "tensors", "nodes", "stdout", "warnings", "bytes", "line")
    return {**{key: state[key] for key in same}, "storages": storages}


@pytest.mark.parametrize("source", [pytest.param(s, id=name) for name, s in LOOPS.items()])
def test_the_end_of_a_folded_trace_is_the_end_of_the_program(
    source: str, trace_of: Callable[..., Trace]
) -> None:
    whole, folded = trace_of(source), trace_of(source, limits=FEW)

    assert not any(step.fold for step in whole.steps)
    assert any(step.fold for step in folded.steps)
    assert len(folded.steps) < len(whole.steps)
    assert sum(step.executions for step in folded.steps) == len(whole.steps)
    at_end = end_of(folded)
    assert at_end == end_of(whole)
    for path, tensor_id in at_end["bindings"].items():
        assert str(tensor_id) in at_end["tensors"], path
    for key in ("changed", "lamps"):
        told = {k: _as_sets(v) for k, v in state_document(folded).model_dump()[key].items()}
        assert told == {k: _as_sets(v) for k, v in state_document(whole).model_dump()[key].items()}, key


def _as_sets(value: Any) -> Any:
    return {k: set(v) for k, v in value.items()} if isinstance(value, dict) else set(value)


@pytest.mark.parametrize("source", [pytest.param(s, id=name) for name, s in LOOPS.items()])
def test_every_step_of_a_folded_trace_shows_what_was_true_after_it(
    source: str, trace_of: Callable[..., Trace]
) -> None:
    whole, folded = trace_of(source), trace_of(source, limits=FEW)

    pairs = _matched(folded, whole)
    assert len(pairs) > len(folded.steps) * 0.7
    for mine, theirs in pairs:
        assert end_of(folded, mine) == end_of(whole, theirs), (mine, theirs)
        a, b = folded.steps[mine - 1], whole.steps[theirs - 1]
        assert (a.statement, a.lamps, a.raised, a.depth) == (b.statement, b.lamps, b.raised, b.depth)


def _matched(folded: Trace, whole: Trace) -> list[tuple[int, int]]:
    """Steps of a folded trace, each with the step of the whole one that ends at the same place."""
    pairs, done = [], 0
    for number, step in enumerate(folded.steps, 1):
        done += step.executions
        if step.fold is None:
            pairs.append((number, done))
    return pairs


def kept_iterations(trace: Trace, line: int) -> tuple[list[int], list[tuple[int, int]]]:
    """Numbers of steps of a line, and the iterations folded there."""
    steps = [(i, s) for i, s in enumerate(trace.steps, 1) if step_line(trace, s) == line]
    return [i for i, s in steps if not s.fold], [(s.fold.first, s.fold.last) for _, s in steps if s.fold]


def test_of_a_loop_past_the_limit_the_first_and_the_last_three_iterations_are_kept(
    trace_of: Callable[..., Trace],
) -> None:
    trace = trace_of(
        """
        import torch
        for i in range(20):
            pass
        x = torch.zeros(2)
        for i in range(1000):
            x = x + 1
        """,
        limits=FEW,
    )
    kept, folded = kept_iterations(trace, 7)
    assert folded == [(4, 997)]
    assert len(kept) == 6
    values = [_value(trace, step) for step in kept]
    assert values == [1, 2, 3, 998, 999, 1000]


def _value(trace: Trace, step: int) -> Any:
    state = state_document(trace, step)
    return state.tensors[str(state.bindings["x"])].values[0]


@pytest.mark.parametrize(
    ("end", "kind"),
    [
        ("if i == 700: break", "finished"),
        ("if i == 700: raise ValueError('no')", "raised"),
        ("if i == 700: x = x @ torch.ones(3)", "raised"),
        ("if i == 700: raise SystemExit", "finished"),
    ],
)
def test_the_last_three_iterations_before_a_stop_are_kept(
    end: str, kind: str, trace_of: Callable[..., Trace]
) -> None:
    trace = trace_of(
        f"""
        import torch
        x = torch.zeros(2)
        for i in range(1000):
            x = x + 1
            {end}
        """,
        limits=FEW,
    )
    kept, folded = kept_iterations(trace, 5)
    assert trace.outcome.kind == kind
    assert folded[0][1] == 697
    assert [_value(trace, step) for step in kept[-4:]] == [698, 699, 700, 701]


def test_the_last_three_iterations_before_a_limit_are_kept(trace_of: Callable[..., Trace]) -> None:
    limits = FEW.model_copy(update={"statements": 5000})
    trace = trace_of(
        """
        import torch
        x = torch.zeros(2)
        for i in range(10**9):
            x = x + 1
        """,
        limits=limits,
    )
    kept, folded = kept_iterations(trace, 5)
    assert trace.outcome.reason == "step-limit"
    assert len(folded) == 1
    assert [_value(trace, step) for step in kept[-3:]] == [2497, 2498, 2499]


def test_a_long_program_costs_no_more_place_than_a_short_one(trace_of: Callable[..., Trace]) -> None:
    source = """
        import torch
        w = torch.ones(3, requires_grad=True)
        big = torch.arange(100000)
        for i in range({n}):
            y = (w * i).sum()
            z = big[i:i + 2]
        """
    sizes = [len(trace_of(source.format(n=n), limits=FEW).model_dump_json()) for n in (60, 600)]
    assert sizes[1] < sizes[0] * 1.1


def test_the_rows_of_tables_that_only_folded_steps_used_are_not_sent(trace_of: Callable[..., Trace]) -> None:
    trace = trace_of(
        """
        import torch
        big = torch.arange(1000)
        for i in range(500):
            z = big[i:i + 2]
        """,
        limits=FEW,
    )
    assert len(trace.views) < 40


def test_a_trace_that_met_its_size_ends_with_the_last_iterations(trace_of: Callable[..., Trace]) -> None:
    limits = LIMITS.model_copy(update={"trace_bytes": 400_000})
    trace = trace_of(
        """
        import torch
        x = torch.zeros(2)
        for i in range(2000):
            x = x + 1
        """,
        limits=limits,
    )
    kept, folded = kept_iterations(trace, 5)
    assert len(trace.steps) < 2000
    assert folded[-1][1] == 1997
    assert [_value(trace, step) for step in kept[-3:]] == [1998, 1999, 2000]
    assert len(trace.model_dump_json()) < 450_000


def test_random_nests_of_loops_fold_to_the_same_end(trace_of: Callable[..., Trace]) -> None:
    for seed in range(12):
        source = _random_program(random.Random(seed))
        whole, folded = trace_of(source), trace_of(source, limits=_few(seed))
        assert sum(step.executions for step in folded.steps) == len(whole.steps), source
        assert end_of(folded) == end_of(whole), source


def _few(seed: int) -> Limits:
    return LIMITS.model_copy(update={"steps_kept": 5 + 7 * seed})


def _random_program(choose: random.Random) -> str:
    lines = ["import torch", "x = torch.zeros(2)", "held = []", "def f(x, n):"]
    lines += [*_block(choose, 1, 1), "    return x", "def g(n):"]
    lines += ["    for i in range(n):", "        yield torch.full((2,), float(i))"]
    return "\n".join(lines + _block(choose, 0, 2, calls=True)) + "\n"


def _block(choose: random.Random, indent: int, depth: int, calls: bool = False) -> list[str]:
    """Statements on `x`, loops among them."""
    pad, lines = "    " * indent, []
    for _ in range(2):
        kind = choose.choice(["op", "in place", "for", "while", "call", "generator", "break"])
        v = f"v{indent}{choose.randint(0, 99)}"
        if depth == 0 or kind == "op":
            lines.append(f"{pad}{choose.choice(['x = x + 1', 'h = x * 2', 'x = (x - 1).clone()'])}")
        elif kind == "in place":
            lines.append(f"{pad}x.add_(1)")
        elif kind == "for":
            lines.append(f"{pad}for {v} in range({choose.randint(0, 8)}):")
            lines += _block(choose, indent + 1, depth - 1, calls)
        elif kind == "while":
            lines += [f"{pad}{v} = 0", f"{pad}while {v} < {choose.randint(1, 7)}:", f"{pad}    {v} += 1"]
            lines += _block(choose, indent + 1, depth - 1, calls)
        elif kind == "break":
            lines += [f"{pad}{v} = 0", f"{pad}while True:", f"{pad}    {v} += 1"]
            lines += _block(choose, indent + 1, depth - 1, calls)
            lines += [f"{pad}    if {v} >= {choose.randint(1, 7)}:", f"{pad}        break"]
        elif calls and kind == "call":
            lines.append(f"{pad}held = [f(x, {choose.randint(0, 6)}) for _ in range({choose.randint(0, 7)})]")
        elif calls:
            lines.append(f"{pad}for t in g({choose.randint(0, 7)}):")
            lines += _block(choose, indent + 1, depth - 1, calls)
    return lines
