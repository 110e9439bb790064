"""A tensor without a name is called by the piece of the program that made it."""

from collections.abc import Callable

import pytest
from tensor_anatomy.schema import Trace
from tensor_anatomy.schema.origins import Origin, Origins
from tensor_anatomy.schema.replay import fold

TraceOf = Callable[..., Trace]


def saved_by(trace: Trace, node: str, field: str) -> Origin | None:
    """The origin of what a node saved."""
    for event in fold(trace, len(trace.steps)).nodes.values():
        if trace.names[event.name] == node:
            for slot in event.saved:
                if slot.field == field:
                    return Origins(trace).of(slot.tensor)
    return None


@pytest.mark.parametrize(
    ("expression", "node", "field", "code"),
    [
        ("(x @ W).exp().sin()", "SinBackward0", "self", "(x @ W).exp()"),
        ("torch.relu(x @ W)", "ReluBackward0", "result", "torch.relu(x @ W)"),
        ("(x * 2) * W", "MulBackward0", "self", "x * 2"),
        ("(W.t() + 1).t().cos()", "CosBackward0", "self", "(W.t() + 1).t()"),
        ("[W * (x + i) for i in (1, 2)][1]", "MulBackward0", "other", "x + i"),
    ],
)
def test_an_intermediate_is_the_result_of_its_sub_expression(
    trace_of: TraceOf, expression: str, node: str, field: str, code: str
) -> None:
    made = "x, W = torch.ones(2, 2), torch.ones(2, 2, requires_grad=True)"
    trace = trace_of(f"import torch\n\n{made}\ny = {expression}\n")
    origin = saved_by(trace, node, field)

    assert origin is not None
    assert (origin.kind, origin.code, origin.line) == ("result", code, 4)


def test_what_a_library_makes_on_the_way_is_inside_its_call(trace_of: TraceOf) -> None:
    trace = trace_of(
        """
        import torch
        m = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1))
        y = m(torch.ones(4, 2))
        """
    )
    origin = saved_by(trace, "ReluBackward0", "result")

    assert origin == Origin("inside", "m(torch.ones(4, 2))", 4, "relu")


def test_what_the_next_round_of_a_loop_takes_in_is_a_result_of_this_one(trace_of: TraceOf) -> None:
    trace = trace_of(
        "import torch\nw = torch.ones(2, requires_grad=True)\ny = w\nfor i in range(3):\n    y = y * w\n"
    )
    nodes = [n for n in fold(trace, len(trace.steps)).nodes.values() if trace.names[n.name] == "MulBackward0"]
    saved = {Origins(trace).of(s.tensor) for node in nodes for s in node.saved if s.field == "self"}

    assert len(nodes) == 3
    assert saved == {
        Origin("result", "y * w", 5, "mul"),
        Origin("result", "torch.ones(2, requires_grad=True)", 2, "ones"),
    }


def test_a_piece_of_several_lines_is_one_line_of_text(trace_of: TraceOf) -> None:
    trace = trace_of("import torch\nw = torch.ones(2, requires_grad=True)\ny = torch.exp(w\n  * 2\n)\n")
    origin = saved_by(trace, "ExpBackward0", "result")

    assert origin == Origin("result", "torch.exp(w * 2 )", 3, "exp")


def test_a_factory_says_nothing_of_what_it_did_not_make(trace_of: TraceOf) -> None:
    trace = trace_of("import torch\nx = torch.ones(2)\n")

    assert Origins(trace).of(None) is None
    assert Origins(trace).of(10_000) is None


def test_gradients_on_the_way_are_made_by_their_node(trace_of: TraceOf) -> None:
    trace = trace_of("import torch\nw = torch.ones(2, requires_grad=True)\n(w * w).sum().backward()\n")
    (w,) = [t for t in fold(trace, len(trace.steps)).tensors.values() if t.grad is not None]
    origin = Origins(trace).of(w.grad)

    assert origin is not None
    assert (origin.kind, origin.line) == ("backward", 3)


def test_the_sentence_and_the_terminal_say_it(trace_of: TraceOf) -> None:
    from tensor_anatomy.explaining import explain
    from tensor_anatomy.schema.replay import state_document
    from tensor_anatomy.terminal_memory import memory_lines

    trace = explain(trace_of("import torch\nx = torch.ones(2)\nkeep = iter([x * 2])\n"))
    (sentence,) = [s for s in trace.sentences if s.id == "data.unnamed-of"]
    assert sentence.args["codes"] == ["x * 2"]

    lines = memory_lines(trace, state_document(trace), "en")
    kept = [args for message_id, args in lines if message_id == "terminal.kept"]
    assert [(k["what"], k["holders"]) for k in kept] == [
        (", the result of `x * 2` on line 3".replace("`", ""), ["keep (list_iterator)"])
    ]
