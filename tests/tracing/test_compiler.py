"""What is told of `torch.compile` is what PyTorch's own counters say of a plain run.

All programs run in two children, plain ones and watched ones, because the first compilation of a process
loads hundreds of modules.
"""

import json
from functools import cache
from typing import Any

import pytest
import torch
import torch._dynamo  # once here, not in each child
from tensor_anatomy.drawing import draw
from tensor_anatomy.execution.assembly import Assembly
from tensor_anatomy.execution.framing import decode_chunk
from tensor_anatomy.explaining import explain
from tensor_anatomy.explaining.compiler import break_kind
from tensor_anatomy.messages import text_of
from tensor_anatomy.schema import Compilation, CompiledRun, Environment, RunRequest, Trace
from tensor_anatomy.schema.replay import sentences_of, step_line
from tensor_anatomy.tracing import torch_private
from tensor_anatomy.tracing.session import record_program

from ..conftest import LIMITS, record
from .children import in_child
from .compiled_programs import PROGRAMS, Program, eager

QUICK = [name for name, program in PROGRAMS.items() if not program.slow]
SLOW = [name for name, program in PROGRAMS.items() if program.slow]
UNHURRIED = LIMITS.model_copy(update={"wall_s": 60.0, "cpu_s": 60})
NAMES = [*QUICK, *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW)]
each = pytest.mark.parametrize("name", NAMES)


def counted() -> dict[str, int]:
    counters = torch._dynamo.utils.counters
    return {
        "graphs": counters["stats"]["unique_graphs"],
        "calls": counters["stats"]["calls_captured"],
        "breaks": sum(counters["graph_break"].values()),
        "frames": counters["frames"]["total"],
        "compiled": counters["frames"]["ok"],
    }


def afresh() -> None:
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    torch._dynamo.config.recompile_limit = 8


def ran(names: list[str], *, observed: bool) -> dict[str, Any]:
    told: dict[str, Any] = {}
    for name in names:
        afresh()
        payloads: list[bytes] = []
        faults: list[str] = []
        source = PROGRAMS[name].source
        request = RunRequest(source=source, device="cpu", seed=0, limits=UNHURRIED, observed=observed)
        record_program(request, payloads.append, faults=faults)
        told[name] = {"counted": counted(), "faults": faults, "chunks": [p.decode() for p in payloads]}
    return told


@cache
def plain(slow: bool) -> dict[str, Any]:
    return dict(in_child(lambda: ran(SLOW if slow else QUICK, observed=False), 200))


@cache
def watched(slow: bool) -> dict[str, Any]:
    return dict(in_child(lambda: ran(SLOW if slow else QUICK, observed=True), 200))


@cache
def traced(name: str) -> tuple[Program, Trace]:
    program = PROGRAMS[name]
    nothing = Environment(torch="", python="", device="cpu", simulated=False, seed=0)
    assembly = Assembly(program.source, nothing)
    for chunk in watched(program.slow)[name]["chunks"]:
        assembly.add(decode_chunk(chunk.encode()))
    assert assembly.closing is not None
    return program, draw(explain(assembly.trace(assembly.closing.outcome, "")))


def compilations(trace: Trace) -> list[Compilation]:
    return [e for step in trace.steps for e in step.events if isinstance(e, Compilation)]


def runs(trace: Trace) -> list[CompiledRun]:
    return [e for step in trace.steps for e in step.events if isinstance(e, CompiledRun)]


def said(trace: Trace, line: int) -> list[str]:
    steps = [n for n, step in enumerate(trace.steps, 1) if step_line(trace, step) == line]
    return [text_of("en", s.id, s.args) for n in steps for s in sentences_of(trace, n)]


@pytest.mark.timeout(400)
@each
def test_watching_changes_no_count_of_the_compilers(name: str) -> None:
    slow = PROGRAMS[name].slow

    assert watched(slow)[name]["faults"] == []
    assert watched(slow)[name]["counted"] == plain(slow)[name]["counted"]


@pytest.mark.timeout(400)
@each
def test_a_compiled_program_ends_in_the_same_state_watched_or_not(name: str) -> None:
    slow = PROGRAMS[name].slow
    one, other = (json.loads(runs_[name]["chunks"][-1]) for runs_ in (watched(slow), plain(slow)))
    for end in (one, other):
        for volatile in ("failure", "range", "traceback"):
            end["outcome"].pop(volatile)

    assert one["outcome"] == other["outcome"]
    assert one["fingerprint"] == other["fingerprint"]


@pytest.mark.timeout(400)
@each
def test_graphs_and_their_operations_are_those_that_pytorch_counts(name: str) -> None:
    program, trace = traced(name)
    captured = [(c, g) for c in compilations(trace) for g in c.graphs if g.stage == "captured"]
    counts = plain(program.slow)[name]["counted"]

    assert len(captured) == program.graphs
    # One that the backend refused is not counted.
    assert (
        len([c for c, _ in captured if "BackendCompilerFailed" not in (c.reason or "")]) == counts["graphs"]
    )
    assert sum(graph.calls for _, graph in captured) == counts["calls"]


@pytest.mark.timeout(400)
@each
def test_each_compilation_tells_what_became_of_it(name: str) -> None:
    program, trace = traced(name)

    assert [c.outcome for c in compilations(trace)] == program.outcomes


@pytest.mark.timeout(400)
@each
def test_graph_breaks_have_their_line_and_kind(name: str) -> None:
    program, trace = traced(name)
    breaks = [each for c in compilations(trace) for each in c.breaks]

    assert [[each.line, break_kind(each)] for each in breaks] == program.breaks
    # PyTorch does not count a jump that depends on a value among its breaks.
    ended = [
        b for c in compilations(trace) if c.outcome == "graph" for b in c.breaks if break_kind(b) != "branch"
    ]
    assert len(ended) == plain(program.slow)[name]["counted"]["breaks"]


@pytest.mark.timeout(400)
@each
def test_recompilations_name_the_guard_that_failed(name: str) -> None:
    program, trace = traced(name)
    again = [c.recompiled[0] for c in compilations(trace) if c.recompiled]

    assert [[failed.what, failed.source] for failed in again] == program.again
    assert all(failed.expected != failed.actual for failed in again if failed.expected is not None)


@pytest.mark.timeout(400)
@each
def test_code_that_was_compiled_runs_and_runs_again_from_the_cache(name: str) -> None:
    _, trace = traced(name)
    seen: set[str] = set()
    for run in runs(trace):
        assert run.again == (run.compilation in seen)
        seen.add(run.compilation)
    made = {c.id for c in compilations(trace) if c.outcome in ("graph", "no-graph")}

    assert seen == made


@pytest.mark.timeout(400)
@each
def test_no_step_stands_for_the_header_of_a_compiled_function(name: str) -> None:
    """Its frame begins on the line of the `def`, which is executed once, when the function is made."""
    _, trace = traced(name)
    headers = [
        step_line(trace, s) for s in trace.steps if trace.statements[s.statement].kind == "FunctionDef"
    ]

    assert len(headers) == len(set(headers))


@pytest.mark.timeout(400)
@each
def test_errors_of_the_compiler_have_a_class(name: str) -> None:
    program, trace = traced(name)

    assert (trace.explanation.class_ if trace.explanation else None) == program.error


@pytest.mark.timeout(400)
@each
def test_every_graph_is_drawn_with_a_box_per_node_and_an_edge_per_use(name: str) -> None:
    _, trace = traced(name)
    graphs = [g for c in compilations(trace) for g in c.graphs]

    assert len(trace.fx_graphs) == len(graphs)
    for graph, drawn in zip(graphs, trace.fx_graphs, strict=True):
        assert [box.node for box in drawn.drawing.nodes] == list(range(len(graph.nodes)))
        uses = {(i, n) for n, node in enumerate(graph.nodes) for i in node.inputs}
        assert {(edge.source, edge.target) for edge in drawn.drawing.edges} == uses
        by_node = {box.node: box for box in drawn.drawing.nodes}
        assert all(by_node[a].x < by_node[b].x for a, b in uses)


@pytest.mark.timeout(400)
def test_nodes_know_their_line_shape_and_dtype() -> None:
    _, trace = traced("a function")
    graph = compilations(trace)[0].graphs[0]

    assert [(n.op, n.target, n.line, n.shape, n.dtype) for n in graph.nodes] == [
        ("placeholder", "x", 5, (3,), "float32"),
        ("call_method", "Tensor.sin", 5, (3,), "float32"),
        ("call_function", "operator.add", 5, (3,), "float32"),
        ("output", "output", None, None, None),
    ]


@pytest.mark.timeout(400)
def test_guards_say_what_the_graph_was_made_for() -> None:
    _, trace = traced("another int")
    guards = {(g.what, g.source): g.text for g in compilations(trace)[0].guards}

    assert guards["value", "n"] == "2"
    assert guards["tensor", "x"] == "Tensor, float32, size=[3], stride=[1], requires_grad=False"


@pytest.mark.timeout(400)
def test_the_guards_are_as_many_as_explain_finds() -> None:
    def explained() -> int:
        found = torch._dynamo.explain(lambda x: x.sin() + 1)(torch.ones(3))
        return len(found.out_guards)

    _, trace = traced("a function")
    assert compilations(trace)[0].guard_count == in_child(explained, 120)


@pytest.mark.timeout(400)
def test_a_break_splits_the_step_into_what_python_ran_and_what_was_compiled() -> None:
    _, trace = traced("print")
    lines = [step_line(trace, step) for step in trace.steps]

    assert lines[-2:] == [6, 8]
    assert [(c.function, c.line, c.resumes) for c in compilations(trace)] == [("f", 4, False), ("f", 6, True)]


@pytest.mark.timeout(400)
def test_ops_of_a_graph_are_those_of_the_call() -> None:
    _, trace = traced("print")
    called = trace.steps[-1]
    places = {
        trace.ranges[place].line
        for event in called.events
        if event.kind == "op" and (place := trace.sites[event.site].range) is not None
    }

    assert places == {8}


@pytest.mark.timeout(400)
def test_the_step_says_what_was_compiled_and_why_again() -> None:
    _, trace = traced("another dtype")

    assert (
        "f was compiled with backend eager (compilation 0/0): one step, a graph of 1 operation"
        in " ".join(said(trace, 6))
    )
    assert "f is compiled again: x is float64 instead of float32." in said(trace, 7)


@pytest.mark.timeout(400)
@pytest.mark.slow
def test_aot_eager_tells_the_joint_forward_and_backward_graphs() -> None:
    _, trace = traced("a training step with aot_eager")
    first = compilations(trace)[0]

    assert [graph.stage for graph in first.graphs] == ["captured", "joint", "forward", "backward"]
    assert any(node.target == "aten.threshold_backward.default" for node in first.graphs[3].nodes)
    assert [run.again for run in runs(trace)] == [False, True]


def test_a_function_compiled_over_and_over_is_noticed() -> None:
    source = eager(
        "@c\ndef f(x, s):\n    return x + len(s)\nfor i in range(5):\n    y = f(torch.ones(3), 'a' * i)\n"
    )
    answer = in_child(lambda: record(source, limits=UNHURRIED).model_dump_json(by_alias=True), 120)
    trace = explain(Trace.model_validate_json(answer))

    assert [note.class_ for note in trace.notes] == ["recompiles"]


def test_inductor_says_at_once_that_the_sandbox_has_no_compiler() -> None:
    source = "import torch\nf = torch.compile(lambda x: x + 1)\ny = f(torch.ones(3))\n"
    answer = in_child(lambda: record(source, limits=UNHURRIED).model_dump_json(by_alias=True), 120)
    trace = explain(Trace.model_validate_json(answer))

    assert trace.outcome.reason == "denied"
    assert trace.explanation is not None
    assert [s.id for s in trace.explanation.sentences] == [
        "error.denied-compiler",
        "error.denied-compiler.fix",
    ]


def test_a_torch_without_the_places_we_listen_at_compiles_all_the_same() -> None:
    def without() -> dict[str, Any]:
        places = torch_private._COMPILER_PLACES
        places.update({place: (module, "no_such_thing", lost) for place, (module, _, lost) in places.items()})
        trace = record(PROGRAMS["a function"].source, limits=UNHURRIED)
        return {"outcome": trace.outcome.kind, "told": len(compilations(trace)), **counted()}

    answer = in_child(without, 120)

    assert (answer["outcome"], answer["told"], answer["graphs"]) == ("finished", 0, 1)
