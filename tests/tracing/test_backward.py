"""What a trace says of backward passes: the nodes in the engine's order, and the gradients at each."""

import textwrap

import pytest
import torch
from tensor_anatomy.tracing.backward import MOST_VALUES

CHAIN = """
import torch
w = torch.tensor([1.0, 2.0], requires_grad=True)
y = w * 3
loss = (y ** 2).sum()
loss.backward()
"""


def passes(trace):
    """Node names in the order they ran, per pass; None for what the engine does by itself."""
    names = {e.id: trace.names[e.name] for step in trace.steps for e in step.events if e.kind == "node"}
    found = {}
    for step in trace.steps:
        for event in step.events:
            if event.kind == "ran":
                found.setdefault(event.task, []).append(None if event.node is None else names[event.node])
    return found


def gradients(trace):
    return [e for step in trace.steps for e in step.events if e.kind == "gradient"]


def test_nodes_are_told_in_the_order_the_engine_runs_them(trace_of):
    assert passes(trace_of(CHAIN)) == {1: ["SumBackward0", "PowBackward0", "MulBackward0", "AccumulateGrad"]}


def test_gradients_are_what_autograd_gives_for_each_node(trace_of):
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    y = w * 3
    loss = (y**2).sum()
    to_y, to_w = torch.autograd.grad(loss, [y, w])
    seen = [event.values for event in gradients(trace_of(CHAIN))]

    assert to_y.tolist() in seen
    assert seen[-1] == to_w.tolist()
    assert gradients(trace_of(CHAIN))[-1].norm == pytest.approx(to_w.norm().item())


def test_each_pass_has_its_number_and_accumulates_on_the_gradient_before(trace_of):
    trace = trace_of(CHAIN.replace("backward()", "backward(retain_graph=True)") + "loss.backward()\n")

    assert list(passes(trace)) == [1, 2]
    assert passes(trace)[1] == passes(trace)[2]
    assert gradients(trace)[-1].values == [36.0, 72.0]


def test_a_checkpoint_runs_a_pass_inside_another(trace_of):
    trace = trace_of("""
        import torch
        from torch.utils.checkpoint import checkpoint
        w = torch.ones(2, requires_grad=True)
        y = checkpoint(lambda t: (t * 2).exp(), w, use_reentrant=True)
        y.sum().backward()
    """)
    found = passes(trace)

    assert len(found) == 2
    assert "CheckpointFunctionBackward" in found[1]
    assert found[2][0] == "ExpBackward0"


def test_a_large_gradient_is_told_by_its_norm(trace_of):
    source = f"""
        import torch
        w = torch.ones({MOST_VALUES + 1}, requires_grad=True)
        (w * 2).sum().backward()
    """
    last = gradients(trace_of(source))[-1]

    assert last.values is None
    assert last.norm == pytest.approx((4 * (MOST_VALUES + 1)) ** 0.5)


def test_reading_gradients_changes_none_and_keeps_none(trace_of):
    trace = trace_of("""
        import gc, torch
        w = torch.ones(3, requires_grad=True)
        gone = []
        class Square(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * x
            @staticmethod
            def backward(ctx, g):
                import weakref
                x, = ctx.saved_tensors
                out = 2 * x * g
                gone.append(weakref.ref(out))
                return out
        (Square.apply(w) * 1).sum().backward()
        dead = gone[0]() is None or gone[0]() is w.grad
        print(w.grad.tolist(), dead, w.grad._version)
    """)

    plain = {}
    exec(
        textwrap.dedent("""
        import torch, weakref
        w = torch.ones(3, requires_grad=True)
        ((w * w) * 1).sum().backward()
        said = w.grad.tolist()
    """),
        plain,
    )
    assert "".join(e.text for s in trace.steps for e in s.events if e.kind == "stdout").startswith(
        f"{plain['said']} True 0"
    )


def test_hooks_and_retain_grad_are_told(trace_of):
    trace = trace_of("""
        import torch
        w = torch.ones(2, requires_grad=True)
        y = w * 2
        y.retain_grad()
        y.register_hook(lambda g: g * 10)
        w.register_post_accumulate_grad_hook(lambda p: None)
        y.sum().backward()
    """)
    told = [trace.names[e.api] for step in trace.steps for e in step.events if e.kind == "api"]

    assert {"retain_grad", "register_hook", "register_post_accumulate_grad_hook"} <= set(told)
