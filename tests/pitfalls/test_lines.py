"""Which statement runs, in which frame, and what of it is told."""

from typing import Any

from tensor_anatomy.schema import Trace

from .programs import lines, op_names, printed, said, state, steps_of, traced


def begun(trace: Trace) -> list[int]:
    """First lines of the statements in the order they began: a call before the lines inside it."""
    order = sorted(range(len(trace.steps)), key=lambda i: (trace.steps[i].began, -i))
    return [lines(trace)[i] for i in order]


def tensor(document: dict[str, Any], name: str) -> Any:
    return document["tensors"][str({**document["bindings"], **document["locals"]}[name])]


def text_of(trace: Trace, place: int) -> str:
    """The piece of the program at a range of one line."""
    at = trace.ranges[place]
    assert at.line == at.end_line
    return trace.source.split("\n")[at.line - 1][at.column : at.end_column]


def test_a_statement_of_several_lines_is_one_step_with_all_its_ops() -> None:
    trace = traced("L01")

    assert lines(trace) == [1, 2, 6]
    # PyTorch runs three aten ops for it.
    assert op_names(trace, 2) == ["aten::zeros", "aten::ones", "aten::cat"]
    assert trace.statements[trace.steps[1].statement].range.end_line == 5
    assert [op_names(trace, step) for step in (1, 3)] == [[], []]


def test_a_loop_on_one_line_is_a_step_per_iteration_and_one_that_finds_it_exhausted() -> None:
    trace = traced("L02")
    steps = steps_of(trace, 3)

    assert len(steps) == 4
    assert [tensor(state("L02", step), "x")["version"] for step in steps] == [1, 2, 3, 3]
    assert [op_names(trace, step) for step in steps] == [["aten::add_.Tensor"]] * 3 + [[]]


def test_a_comprehension_is_part_of_its_statement() -> None:
    trace = traced("L04")

    assert lines(trace) == [1, 2]
    assert {step.frame for step in trace.steps} == {0}
    assert op_names(trace, 2) == ["aten::zeros"] * 3
    assert list(state("L04")["bindings"]) == ["xs[0]", "xs[1]", "xs[2]"]
    assert [tensor(state("L04"), f"xs[{i}]")["shape"] for i in range(3)] == [[0], [1], [2]]


def test_a_generator_goes_on_in_its_own_frame() -> None:
    trace = traced("L05")
    last = state("L05")
    (fifth,) = steps_of(trace, 5)

    assert begun(trace)[1:] == [2, 7, 8, 3, 4, 9, 5, 6]
    assert len({step.frame for step in trace.steps if step.frame}) == 1
    assert last["bindings"]["a"] == last["bindings"]["b"]
    assert trace.steps[fifth - 1].changed == {"x": ("data",)}
    assert last["changed"]["9"] == {"b": ["new"], "a": ["data"]}
    assert [tensor(state("L05", step), "a")["version"] for step in (fifth - 1, len(trace.steps))] == [0, 1]


def test_recursion_keeps_a_frame_and_a_variable_for_each_call() -> None:
    trace = traced("L07")
    made = steps_of(trace, 3)

    assert len({trace.steps[step - 1].frame for step in made}) == 3
    assert [tensor(state("L07", step), "x")["shape"] for step in made] == [[3], [2], [1]]
    # Each `return x` gives the x of its own call, innermost first.
    assert [tensor(state("L07", step), "x")["shape"] for step in steps_of(trace, 6)] == [[1], [2], [3]]
    assert len({state("L07", step)["locals"]["x"] for step in made}) == 3


def test_a_statement_that_raises_keeps_what_it_did_before_and_says_what_was_caught() -> None:
    trace = traced("L08")
    (fourth,) = steps_of(trace, 4)
    (raised,) = [e for e in trace.steps[fourth - 1].events if e.kind == "exception"]
    told = [s for s in trace.sentences if s.id == "names.raised"]

    assert [tensor(state("L08", step), "x")["version"] for step in (fourth - 1, fourth)] == [0, 1]
    assert trace.steps[fourth - 1].raised
    assert (raised.type, raised.message) == ("RuntimeError", "shape '[5]' is invalid for input of size 2")
    assert text_of(trace, raised.range) == "x.add_(1).view(5)"
    assert [s.args["class_"] for s in told] == ["view-size"]
    assert "RuntimeError" in said(trace, fourth)[0]
    assert "view-size" in said(trace, fourth)[0]
    assert "RuntimeError" in said(trace, fourth, "zh")[0]
    assert "raised RuntimeError" in printed(trace)
    assert lines(trace)[fourth:] == [5, 6]
    assert trace.outcome.kind == "finished"


def test_leaving_a_with_block_is_a_second_visit_of_its_header_called_exit() -> None:
    trace = traced("L09")
    enter, leave = steps_of(trace, 3)
    last = state("L09")

    assert lines(trace) == [1, 2, 3, 4, 3, 5]
    assert not any("exit" in text for text in said(trace, enter))
    assert said(trace, leave)[0].startswith("exit: ")
    assert said(trace, leave, "zh")[0].startswith("退出")
    assert "exit: " in printed(trace)
    assert "ran 2 times" not in printed(trace)
    assert (tensor(last, "y")["requires_grad"], tensor(last, "z")["requires_grad"]) == (False, True)


def test_a_decorator_and_its_function_are_one_step() -> None:
    trace = traced("L10")
    statement = trace.statements[trace.steps[3].statement]

    assert lines(trace) == [1, 2, 3, 5, 6, 7]
    assert (statement.kind, trace.steps[3].frame) == ("FunctionDef", 0)
    assert not steps_of(trace, 4)
    assert trace.steps[2].frame != trace.steps[4].frame != 0
    assert op_names(trace, 5) == ["aten::zeros"]


def test_a_hook_runs_inside_the_line_that_calls_backward() -> None:
    trace = traced("L11")
    (backward,) = steps_of(trace, 4)
    registered, hook = steps_of(trace, 3)
    called = [e.function for step in trace.steps for e in step.events if e.kind == "call"]
    last = state("L11")

    assert begun(trace) == [1, 2, 3, 4, 3]
    assert (trace.steps[hook - 1].depth, trace.steps[registered - 1].depth) == (1, 0)
    assert called == ["<lambda>"]
    assert op_names(trace, hook) == ["aten::mul.Tensor"]
    assert "aten::mul.Tensor" in op_names(trace, backward)
    assert last["tensors"][str(tensor(last, "w")["grad"])]["values"] == [2.0, 2.0]


def test_lines_of_forward_nest_in_the_line_that_calls_the_module() -> None:
    trace = traced("L12")
    (call,) = steps_of(trace, 12)
    inner = [*steps_of(trace, 9), *steps_of(trace, 10)]
    during, after = state("L12", inner[0]), state("L12")

    assert [trace.steps[step - 1].depth for step in inner] == [1, 1]
    assert all(trace.steps[call - 1].began < step < call for step in inner)
    assert during["locals"]["self.fc.weight"] == after["bindings"]["m.fc.weight"]
    assert during["bindings"]["m.fc.weight"] == after["bindings"]["m.fc.weight"]


def test_finally_runs_after_return_and_before_the_call_ends() -> None:
    trace = traced("L13")
    inside = [line for line, step in zip(lines(trace), trace.steps, strict=True) if step.depth]
    last = state("L13")

    assert inside == [3, 4, 5, 7]
    assert tensor(last, "y")["version"] == 1
    assert last["bindings"]["y"] == state("L13", steps_of(trace, 3)[0])["locals"]["x"]


# -- their relatives


def test_what_a_yield_receives_is_bound_by_its_own_line() -> None:
    trace = traced(
        "import torch\ndef g():\n    x = yield torch.zeros(1)\n    y = yield x + 1\n"
        "it = g()\na = next(it)\nb = it.send(torch.ones(1))\nit.close()\n"
    )
    waits, goes_on = steps_of(trace, 3)

    assert trace.steps[waits - 1].changed == {}
    assert trace.steps[goes_on - 1].changed == {"x": ("new",)}
    assert said(trace, goes_on)[0].startswith("resumed: ")
    assert said(trace, goes_on, "zh")[0].startswith("继续")
    # `close()` does not go on with line 4.
    assert len(steps_of(trace, 4)) == 1
    assert "ran 2 times" not in printed(trace)


def test_what_an_await_gives_is_bound_by_its_own_line() -> None:
    trace = traced(
        "import asyncio\nimport torch\nasync def one():\n    await asyncio.sleep(0)\n"
        "    return torch.ones(1)\n"
        "async def main():\n    x = await one()\n    y = x + 1\n    return y\nz = asyncio.run(main())\n"
    )
    bound = {line: step.changed for line, step in zip(lines(trace), trace.steps, strict=True) if step.depth}

    assert bound[7] == {"x": ("new",)}
    assert bound[8] == {"y": ("new",)}
    assert trace.outcome.kind == "finished"


def test_an_asynchronous_with_and_for_bind_on_their_headers() -> None:
    trace = traced(
        "import asyncio\nimport torch\nclass Ctx:\n    async def __aenter__(self):\n"
        "        await asyncio.sleep(0)\n        return torch.ones(2)\n"
        "    async def __aexit__(self, *e):\n        await asyncio.sleep(0)\n"
        "async def numbers():\n    for i in range(2):\n        await asyncio.sleep(0)\n"
        "        yield torch.full((1,), float(i))\n"
        "async def main():\n    async with Ctx() as c:\n        async for n in numbers():\n"
        "            c = c + n\n    return c\ny = asyncio.run(main())\n"
    )
    steps = trace.steps
    of_with = [steps[n - 1].changed for n in steps_of(trace, 14)]
    of_for = [steps[n - 1].changed for n in steps_of(trace, 15)]
    marks = [said(trace, n)[0] for n in steps_of(trace, 14)]

    assert {"c": ("new",)} in of_with
    assert [changed for changed in of_for if "n" in changed] == [{"n": ("new",)}, {"n": ("rebound",)}]
    assert sum(text.startswith("exit: ") for text in marks) == 1
    assert trace.outcome.kind == "finished"


def test_a_pattern_binds_on_the_line_of_its_case() -> None:
    trace = traced(
        "import torch\nt = [torch.zeros(1), torch.ones(2)]\nmatch t:\n    case [x]:\n        y = 1\n"
        "    case [x, *rest] if len(rest) > 4:\n        y = 2\n    case [x, z]:\n        w = x + 1\n"
    )

    assert lines(trace) == [1, 2, 3, 4, 6, 8, 9]
    assert trace.steps[steps_of(trace, 8)[0] - 1].changed == {"z": ("new",)}
    assert {"x", "rest[0]"} <= set(trace.steps[steps_of(trace, 6)[0] - 1].changed)
    assert trace.steps[-1].changed == {"w": ("new",)}


def test_every_way_out_of_a_block_is_an_exit() -> None:
    trace = traced(
        "import torch\ndef leave():\n    with torch.no_grad():\n        return torch.zeros(1)\n"
        "def fail():\n    with torch.no_grad():\n        torch.zeros(1).view(2)\n"
        "for i in range(3):\n    with torch.enable_grad(), torch.autograd.set_grad_enabled(True):\n"
        "        if i == 1:\n            break\nx = leave()\n"
        "try:\n    fail()\nexcept RuntimeError:\n    pass\n"
    )
    marks = {
        line: [any("exit: " in text for text in said(trace, n)) for n in steps_of(trace, line)]
        for line in (3, 6, 9)
    }

    assert marks == {3: [False, True], 6: [False, True], 9: [False, True, False, True]}
    # Lines 8, 9 and 10; leaving the block of line 9 does not count.
    assert printed(trace).count("ran 2 times") == 3
    assert "ran 4 times" not in printed(trace)


def test_what_yield_from_returns_is_bound_by_its_own_line() -> None:
    trace = traced(
        "import torch\ndef inner():\n    yield torch.zeros(1)\n    return torch.ones(1)\n"
        "def outer():\n    got = yield from inner()\n    yield got + 1\n"
        "items = [t for t in outer()]\n"
    )
    sixth = steps_of(trace, 6)

    assert [trace.steps[n - 1].changed for n in sixth] == [{}, {"got": ("new",)}]
    assert [trace.steps[n - 1].depth for n in steps_of(trace, 3)] == [2]
