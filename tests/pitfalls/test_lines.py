"""Which statement runs, in which frame, and what of it is told."""

from .programs import lines, op_names, traced


def test_a_statement_of_several_lines_is_one_step_with_all_its_ops() -> None:
    trace = traced("L01")

    assert lines(trace) == [1, 2, 6]
    assert op_names(trace, 2) == ["aten::zeros", "aten::ones", "aten::cat"]
    assert (trace.statements[trace.steps[1].statement].range.end_line) == 5
