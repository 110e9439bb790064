"""A program lives in an environment, and watching it must be seen neither by it nor by the reader's facts.

Pickling, compilers, generators, threads, forked workers, trace functions, stdout: what a program may notice.
"""

import contextlib
import io
import json
from typing import Any

import pytest
import torch
from tensor_anatomy.schema import RunRequest, Trace
from tensor_anatomy.tracing.session import record_program

from ..conftest import LIMITS
from ..tracing.children import in_child
from .programs import PROGRAMS, lines, noted, op_names, ops, printed, said, state, steps_of, traced


def tensor(document: dict[str, Any], name: str) -> Any:
    return document["tensors"][str({**document["bindings"], **document["locals"]}[name])]


def untraced(source: str) -> dict[str, Any]:
    """What plain Python prints for a program, and the error it ends with."""

    def work() -> dict[str, Any]:
        out = io.StringIO()
        error = None
        torch.manual_seed(0)
        with contextlib.redirect_stdout(out):
            try:
                exec(compile(source, "<plain>", "exec"), {"__name__": "__main__"})
            except Exception as raised:
                error = f"{type(raised).__name__}: {raised}"
        return {"stdout": out.getvalue(), "error": error}

    answer: dict[str, Any] = in_child(work)
    return answer


def fingerprints(source: str) -> tuple[Any, Any]:
    """Final states of a program watched and unwatched."""

    def run(observed: bool) -> Any:
        payloads: list[bytes] = []
        request = RunRequest(source=source, device="cpu", seed=0, limits=LIMITS, observed=observed)
        record_program(request, payloads.append)
        return json.loads(payloads[-1])["fingerprint"]

    return in_child(lambda: run(True)), in_child(lambda: run(False))


def text_of(trace: Trace, place: int | None) -> str:
    assert place is not None
    at = trace.ranges[place]
    return trace.source.split("\n")[at.line - 1][at.column : at.end_column]


def shapes(trace: Trace, step: int) -> list[Any]:
    """Shape of the first output of each op of a step."""
    return [trace.views[op.views[0]].shape for op in ops(trace, step)]


def test_a_class_of_the_program_can_be_pickled() -> None:
    source = (
        PROGRAMS["E01"] + "print(type(a) is A, A.__module__, __import__('sys').modules['__main__'].A is A)\n"
    )

    assert traced("E01").outcome.kind == "finished"
    assert state(source)["stdout"] == "True __main__ True\n"


def test_a_compiled_function_is_compiled_once_and_not_split() -> None:
    source = PROGRAMS["E03"] + "print(k)\n"

    assert state(source)["stdout"] == untraced(source)["stdout"] == "1\n"
    assert traced(source).outcome.kind == "finished"


def test_higher_order_ops_work_while_they_are_watched() -> None:
    assert traced("E04").outcome.kind == "finished"
    assert tensor(state("E04"), "y")["values"] == [2.0, 2.0]
    assert "cond" in op_names(traced("E04"), 3)[-1]


def test_the_random_stream_is_untouched() -> None:
    source = PROGRAMS["E05"] + "print(k, torch.rand(2).tolist())\n"

    assert state(source)["stdout"] == untraced(source)["stdout"]


def test_what_ran_in_a_thread_is_marked_and_what_it_left_is_found() -> None:
    trace = traced("E06")
    (note,) = noted(trace)
    (zh,) = noted(trace, "zh")

    assert note[0] == zh[0] == 7
    assert "w ran in an unobserved thread" in note[1]
    assert "线程" in zh[1]
    assert note[1] in printed(trace)
    assert [n["class"] for n in state("E06")["notes"]] == ["unobserved-thread"]
    assert not steps_of(trace, 5)
    assert tensor(state("E06"), "k")["values"] == [1.0, 1.0]
    assert state("E06")["bindings"]["k"] == state("E06")["bindings"]["out[0]"]


def test_a_forked_worker_writes_nothing_to_the_trace() -> None:
    trace = traced("E07")
    (note,) = noted(trace)

    assert trace.outcome.kind == "finished"
    assert not any(steps_of(trace, line) for line in (6, 7))
    assert not any(e.kind == "call" and "getitem" in e.function for s in trace.steps for e in s.events)
    assert note[0] == 8
    assert "ran in a worker process" in note[1]
    assert note[1] in printed(trace)
    assert "工作进程" in noted(trace, "zh")[0][1]
    assert state(PROGRAMS["E07"] + "print(out)\n")["stdout"] == "[1.0, 5.0]\n"


def test_a_program_that_takes_the_trace_function_away_is_told_so() -> None:
    trace = traced("E09")
    (note,) = noted(trace)

    assert lines(trace) == [1, 2, 3, 4]
    assert note[0] == 4
    assert "racing was turned off by the program at line 4" in note[1]
    assert note[1] in printed(trace)
    assert "第 4 行" in noted(trace, "zh")[0][1]
    # The final state is whole, and line 4 did not make y.
    assert tensor(state("E09"), "y")["values"] == [1.0]
    assert "4" not in state("E09")["changed"]
    assert "4" not in state("E09")["ops"]
    assert not any("y" in text for text in said(trace, 4) if "storage" in text)


def test_the_recursion_limit_reaches_the_handler_of_the_program() -> None:
    source = PROGRAMS["E10"] + "print(k)\n"
    trace = traced(source)

    assert trace.outcome.kind == "finished"
    assert state(source)["stdout"] == "1\n"
    assert lines(trace)[-3:] == [7, 8, 9]
    assert lines(trace).count(3) > 500


def test_autocast_shows_the_casts_it_inserts() -> None:
    trace = traced("E11")

    assert op_names(trace, steps_of(trace, 5)[0]) == ["aten::_to_copy", "aten::_to_copy", "aten::mm"]
    assert tensor(state("E11"), "y")["dtype"] == "torch.bfloat16"


def test_ops_of_an_optimizer_are_folded_under_the_line_that_steps_it() -> None:
    trace = traced("E12")
    (step,) = steps_of(trace, 7)
    inside = {e.site: e.module for s in trace.steps for e in s.events if e.kind == "inside"}
    sites = [e.site for e in trace.steps[step - 1].events if e.kind == "op"]
    verbose = printed(trace, verbose=True)

    assert len(sites) > 10
    assert {inside.get(site) for site in sites} == {"torch.optim"}
    assert {text_of(trace, trace.sites[site].range) for site in sites} == {"o.step()"}
    assert lines(trace).count(7) == 1
    assert f"{len(sites)} ops inside torch.optim" in verbose
    assert "aten::_foreach" not in verbose.split("o.step()")[1]
    # What backward runs is the graph's, not a library's.
    assert not any(trace.sites[site].node is not None for site in inside)
    assert f"`torch.optim` 内部的 {len(sites)} 个算子".replace("`", "") in printed(trace, "zh", verbose=True)


def test_each_call_of_a_chain_has_its_piece_of_the_line() -> None:
    trace = traced("E13")
    made = ops(trace, 3)

    assert [trace.names[op.api] for op in made if op.api is not None] == ["t", "contiguous", "view"]
    assert [text_of(trace, op.range) for op in made] == [
        "x.t()",
        "x.t().contiguous()",
        "x.t().contiguous().view(-1)",
    ]
    # The tensors between have no name; the log has their shapes and how each was made.
    assert [(trace.views[op.views[0]].shape, trace.views[op.views[0]].stride) for op in made] == [
        ((3, 2), (1, 3)),
        ((3, 2), (2, 1)),
        ((6,), (1,)),
    ]
    assert [op.verdicts for op in made] == [("view",), ("fresh",), ("view",)]
    assert [op.outputs for op in made[:2]] == [op.inputs for op in made[1:]]
    assert set(state("E13")["bindings"].values()) == {made[0].inputs[0], made[2].outputs[0]}


def test_out_and_foreach_write_all_their_tensors() -> None:
    trace = traced("E14")
    fourth, last = state("E14", 4), state("E14")
    (foreach,) = ops(trace, 5)

    assert (tensor(fourth, "a")["version"], tensor(fourth, "b")["version"]) == (1, 0)
    assert fourth["changed"]["4"] == {"a": ["data"]}
    assert last["changed"]["5"] == {"a": ["data"], "b": ["data"]}
    assert foreach.writes == (last["bindings"]["a"], last["bindings"]["b"])
    # As in a plain run, `_foreach_add_` moves both versions.
    assert (tensor(last, "a")["version"], tensor(last, "b")["version"]) == (2, 1)
    assert tensor(last, "a")["values"] == [3.0, 3.0]


def test_the_version_of_a_line_is_the_one_after_it() -> None:
    assert tensor(state("E16", 2), "x")["version"] == 0
    assert tensor(state("E16", 3), "x")["version"] == 1
    assert any("0 → 1" in text for text in said(traced("E16"), 3))


def test_printing_a_tensor_prints_the_same_and_is_no_op_of_the_program() -> None:
    assert state("E19")["stdout"] == untraced(PROGRAMS["E19"])["stdout"] == "tensor([0., 0.])\n"
    assert state("E19")["ops"] == {"2": ["aten::zeros"]}


def test_cuda_without_a_device_fails_as_it_does_in_a_plain_run() -> None:
    outcome = traced("E21").outcome

    assert untraced(PROGRAMS["E21"])["error"] == f"{outcome.type}: {outcome.message}"
    assert (outcome.kind, outcome.type, outcome.line) == ("raised", "AssertionError", 3)
    assert outcome.message == "Torch not compiled with CUDA enabled"


def test_a_foreach_write_makes_backward_fail_as_it_does_in_a_plain_run() -> None:
    plain, outcome = untraced(PROGRAMS["E23"])["error"], traced("E23").outcome

    assert plain == f"{outcome.type}: {outcome.message}"
    assert "modified by an inplace operation" in plain
    assert tensor(state("E23", 5), "a")["version"] == 1


def test_a_fused_optimizer_writes_its_parameter_past_the_version() -> None:
    before, after = state("E24", 6), state("E24")

    assert "aten::_fused_adamw_" in after["ops"]["7"]
    assert tensor(before, "w")["values"] == [1.0, 1.0, 1.0] != tensor(after, "w")["values"]
    assert tensor(before, "w")["version"] == tensor(after, "w")["version"] == 0
    assert after["changed"]["7"]["w"] == ["data"]
    assert fingerprints(PROGRAMS["E24"])[0] == fingerprints(PROGRAMS["E24"])[1]


def test_an_encoder_layer_in_eval_takes_the_fast_path_as_in_a_plain_run() -> None:
    watched, plain = fingerprints(PROGRAMS["E25"])

    assert state("E25")["ops"]["8"] == ["aten::_transformer_encoder_layer_fwd"]
    assert watched == plain


def test_a_reference_count_inside_a_function_is_known_to_be_one_more() -> None:
    source = PROGRAMS["E27"] + "x = torch.zeros(2)\nprint(k, sys.getrefcount(x))\n"
    trace = traced("E27")
    (note,) = noted(trace)

    assert untraced(source)["stdout"] == "2 2\n"
    assert state(source)["stdout"] == "3 2\n"
    assert note[0] == 5
    assert "a plain run gives 1 less" in note[1]
    assert note[1] in printed(trace)
    assert "少 1" in noted(trace, "zh")[0][1]
    # The note is about line 5 alone: at module level the count is right.
    assert [n["line"] for n in state(source)["notes"]] == [5]


# -- their relatives


@pytest.mark.parametrize(
    ("start", "functions"),
    [
        ("t = threading.Thread(target=w, name='one')\nt.start(); t.join()\n", "w"),
        (
            "import concurrent.futures as c\nwith c.ThreadPoolExecutor(1) as p:\n    p.submit(w).result()\n",
            "w",
        ),
        (
            "class T(threading.Thread):\n    def run(self):\n        w()\nt = T()\nt.start()\nt.join()\n",
            "T.run",
        ),
    ],
    ids=["target", "executor", "subclass"],
)
def test_a_write_from_a_thread_is_seen_by_the_next_look(start: str, functions: str) -> None:
    source = (
        "import threading\nimport torch\nx = torch.zeros(2)\ny = x.detach()\ndef w():\n"
        f"    x.data.add_(1)\n{start}k = 1\n"
    )
    document = state(source)

    assert tensor(document, "x")["values"] == [1.0, 1.0]
    assert functions in noted(traced(source))[0][1]


def test_what_jit_records_is_the_program_alone_and_can_be_called() -> None:
    # Recorded under a dispatch mode, even an empty one, the function could not be called (torch 2.13).
    source = (
        "import torch\nx = torch.ones(2, 3)\ndef f(a):\n    b = a.sin()\n    return b.view(-1) + 1\n"
        "t = torch.jit.trace(f, (x,))\n"
        "print([n.kind() for n in t.inlined_graph.nodes()])\n"
        "y = t(x)\nz = t(x + 1)\nprint(y, z)\n"
        "m = torch.jit.trace_module(torch.nn.Linear(3, 1), {'forward': x})\nprint(m(x))\n"
    )

    watched, plain = fingerprints(source)

    assert watched["stdout"] == plain["stdout"]
    assert "aten::view" in state(source)["stdout"]
    assert "aten::size" not in state(source)["stdout"]
    assert any(line == 6 and "not listened to" in text for line, text in noted(traced(source)))


@pytest.mark.parametrize(
    "make",
    [
        "from torch.fx.experimental.proxy_tensor import make_fx\ng = make_fx(f)(x)",
        "class M(torch.nn.Module):\n    forward = lambda self, a: f(a)\n"
        "g = torch.export.export(M(), (x,)).module()",
        "g = torch.func.vmap(f)",
    ],
    ids=["make_fx", "export", "vmap"],
)
def test_what_is_recorded_of_a_function_is_the_function_alone(make: str) -> None:
    source = (
        "import torch\nx = torch.ones(2, 3)\ndef f(a):\n    b = a.sin()\n    return b * 2 + 1\n"
        f"{make}\nz = g(x)\n"
        "print([(n.op, str(n.target)) for n in g.graph.nodes] if hasattr(g, 'graph') else z.tolist())\n"
    )

    assert state(source)["stdout"] == untraced(source)["stdout"]
    assert traced(source).outcome.kind == "finished"


def test_lines_are_told_again_once_the_trace_function_is_put_back() -> None:
    source = (
        "import sys\nimport torch\nold = sys.gettrace(); sys.settrace(None)\nx = torch.zeros(1)\n"
        "sys.settrace(old)\ny = x + 1\n"
    )
    document = state(source)

    assert lines(traced(source)) == [1, 2, 3, 6]
    assert document["changed"] == {"6": {"y": ["new"]}}
    assert [n["line"] for n in document["notes"]] == [3]


def test_a_debugger_that_finds_no_input_takes_the_lines_with_it() -> None:
    document = state(
        "import pdb\nimport torch\ntry:\n    pdb.Pdb().set_trace()\n    x = 1\n"
        "except BaseException:\n    pass\n"
        "y = torch.ones(1)\n"
    )

    assert [n["class"] for n in document["notes"]] == ["tracing-off"]
    assert tensor(document, "y")["values"] == [1.0]


def test_a_caught_exception_with_a_text_of_the_programs_own_is_told_without_it() -> None:
    trace = traced(
        "import torch\nclass E(Exception):\n    def __str__(self):\n        print('asked')\n"
        "        return 'x'\n"
        "def f():\n    raise E(torch.zeros(1))\ntry:\n    f()\nexcept E:\n    y = 1\n"
    )
    told = [e for s in trace.steps for e in s.events if e.kind == "exception"]

    assert [(e.type, e.message) for e in told] == [("E", "")]
    assert state(trace.source)["stdout"] == ""


def test_the_exception_that_ends_a_program_is_not_said_to_be_caught() -> None:
    trace = traced(
        "import torch\ndef f(x):\n    return x.view(5)\ntry:\n    f(torch.zeros(2))\nfinally:\n    y = 1\n"
    )

    assert trace.outcome.kind == "raised"
    assert not any("caught" in text for n in range(1, len(trace.steps) + 1) for text in said(trace, n))
