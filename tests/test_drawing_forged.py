"""A trace that a program forged, or one of a program that stacks and stacks, keeps nobody waiting."""

from collections.abc import Sequence

import pytest
from tensor_anatomy.drawing import draw
from tensor_anatomy.explaining import explain
from tensor_anatomy.schema import ApiCall, Compilation, CompiledRun, FxGraph, FxNode, GraphNode

from .effort import at_most


def node(number: int, targets: Sequence[int] = (), name: int = 0, modules: Sequence[int] = ()) -> GraphNode:
    return GraphNode(
        kind="node",
        id=number,
        name=name,
        line=1,
        next_functions=tuple((target, 0) for target in targets),
        variable=None,
        saved=(),
        modules=tuple(modules),
    )


def compilation(nodes: Sequence[FxNode], function: str = "f") -> Compilation:
    graph = FxGraph(stage="captured", calls=len(nodes), nodes=tuple(nodes), omitted=0)
    return Compilation(
        kind="compiled",
        id="0/0",
        function=function,
        line=1,
        resumes=False,
        backend="eager",
        outcome="graph",
        reason=None,
        graphs=(graph,),
        breaks=(),
        guards=(),
        guard_count=0,
        recompiled=(),
    )


def fx_node(inputs: Sequence[int]) -> FxNode:
    return FxNode(
        name="a",
        op="call_function",
        target="torch.stack",
        arguments="",
        inputs=tuple(inputs),
        shape=None,
        dtype=None,
        line=None,
    )


@pytest.fixture
def forged(trace_of):
    """Makes a trace of these events, one tuple for each step."""
    plain = trace_of("x = 1\n")

    def make(*events, names=()):
        steps = tuple(plain.steps[0].model_copy(update={"events": each}) for each in events)
        return plain.model_copy(update={"steps": steps, "names": tuple(names)})

    return make


def in_circles(count: int) -> tuple[GraphNode, ...]:
    """Modules each of which lies both before and behind a node that is in none."""
    made = []
    for module in range(count):
        first = 4 * module
        made.append(node(first, [first - 1] if module else [], modules=[module + 1]))
        made.append(node(first + 1, [first]))
        made.append(node(first + 2, [first], modules=[module + 1]))
        made.append(node(first + 3, [first + 1, first + 2], modules=[module + 1]))
    return tuple(made)


def test_thousands_of_modules_that_would_make_circles_are_drawn_in_time(forged):
    trace = forged(in_circles(2_500), names=["Mul", *(f"m{i}: M" for i in range(2_500))])
    with at_most(100):
        assert draw(trace).graph is not None


def test_modules_five_thousand_deep_are_drawn(forged):
    nodes = tuple(node(i, [i - 1] if i else [], modules=[1] * 5_000) for i in range(4))
    assert draw(forged(nodes, names=["Mul", "m: M"])).graph is not None


@pytest.mark.parametrize(
    "nodes",
    [
        (node(0), node(1, [0] * 50_000)),
        (node(0, [0] * 50_000), node(1, [0])),
        tuple(node(i, [j for j in range(80) if j != i]) for i in range(80)),
        (*map(node, range(80)), *(node(80 + i, range(80)) for i in range(80))),
    ],
    ids=["the same edge", "to itself", "all to all", "two columns"],
)
def test_a_graph_of_too_many_edges_is_drawn_in_part(forged, nodes):
    with at_most(100):
        assert draw(forged(nodes, names=["Mul"])).graph is not None


@pytest.mark.parametrize(
    "nodes",
    [[fx_node(range(i)) for i in range(60)], [fx_node([]), fx_node([0] * 50_000)]],
    ids=["each uses all before", "the same edge"],
)
def test_a_compiled_graph_of_too_many_edges_is_not_drawn_but_others_are(forged, nodes):
    few = compilation([fx_node([]), fx_node([0])])
    with at_most(100):
        drawn = draw(forged((compilation(nodes), few))).fx_graphs
    assert [len(each.drawing.nodes) for each in drawn] == [2]


def test_a_name_of_a_megabyte_is_not_in_every_sentence(forged):
    run = CompiledRun(kind="compiled-run", compilation="0/0", again=True)
    trace = forged((compilation([fx_node([])], "f" * 1_000_000),), *[(run,)] * 500)
    with at_most(100):
        explained = explain(trace)
    assert explained.said[-1]
    assert all(len(repr(sentence.args)) < 10_000 for sentence in explained.sentences)


def test_a_message_of_a_megabyte_is_held_against_the_rules_in_time(forged):
    trace = forged(())
    text = "failed to run FX node with fake tensors: " + " got a('" * 100_000
    outcome = trace.outcome.model_copy(
        update={"kind": "raised", "line": 1, "type": "RuntimeError", "message": text}
    )
    with at_most(100):
        assert explain(trace.model_copy(update={"outcome": outcome})).explanation is not None


def test_a_hook_on_nothing_takes_no_other_sentence_away(forged):
    hook = ApiCall(kind="api", api=0, range=None, inputs=(), outputs=(), returned_input=False)
    assert explain(forged((hook, compilation([fx_node([])])), names=["register_hook"])).said[0]
