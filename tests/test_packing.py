"""What travels is the trace: packing loses nothing, and a loop's iterations travel once."""

import json
from collections.abc import Callable

import pytest
from tensor_anatomy.drawing import draw
from tensor_anatomy.explaining import explain
from tensor_anatomy.schema import Trace
from tensor_anatomy.schema.packing import PackedTrace, pack, packed_json, unpack

PROGRAMS = {
    "nothing": "",
    "a syntax error": "x = = 1",
    "views": "import torch\nx = torch.arange(6.).reshape(2, 3)\ny = x.t()\ny.add_(1)\nprint(x, 'ä€😀')",
    "a graph": """
        import torch
        w = torch.ones(3, requires_grad=True)
        y = w.exp()
        y.add_(1)
        y.sum().backward()
    """,
    "calls and deletions": """
        import torch
        def f(x):
            h = x * 2
            return h.sum()
        held = [f(torch.ones(i)) for i in range(5)]
        del held
        s = torch.eye(3).to_sparse()
    """,
    "old and new tensors": """
        import torch
        old = torch.ones(2)
        for i in range(90):
            x = old + i
        old.mul_(2)
    """,
}


def plain_of(trace: Trace) -> object:
    return json.loads(trace.model_dump_json(by_alias=True))


@pytest.mark.parametrize("source", [pytest.param(s, id=name) for name, s in PROGRAMS.items()])
def test_a_packed_trace_gives_back_the_trace(source: str, trace_of: Callable[..., Trace]) -> None:
    trace = draw(explain(trace_of(source)))
    sent = json.loads(packed_json(trace))

    assert unpack(sent) == plain_of(trace)
    assert Trace.model_validate(unpack(sent)) == trace
    assert PackedTrace.model_validate_json(packed_json(trace)).packed == 1
    assert unpack(unpack(sent)) == plain_of(trace)


def test_the_iterations_of_a_loop_are_sent_as_one(trace_of: Callable[..., Trace]) -> None:
    source = """
        import torch
        w = torch.ones(2, requires_grad=True)
        x = torch.ones(2)
        for i in range({n}):
            y = (w * x).sum()
            y.backward()
            w.grad = None
        """
    few, many = trace_of(source.format(n=100)), trace_of(source.format(n=400))
    assert len(pack(many)["blocks"]) < 1.2 * len(pack(few)["blocks"])
    assert len(packed_json(many)) < len(many.model_dump_json()) / 4
