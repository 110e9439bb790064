"""A trace as text: what a reader sees in a terminal, in a pipe, in Chinese, and from a hostile program."""

import io

import pytest
from rich.console import Console
from tensor_anatomy.explaining import explain
from tensor_anatomy.terminal import Manner, print_trace
from tensor_anatomy.terminal_text import visible

WRITE = """\
import torch
x = torch.arange(12.).view(3, 4)
y = x.t()
w = torch.ones(4, 2, requires_grad=True)
h = x @ w
x[1:, ::2].mul_(10)
print("sum", x.sum().item())
h.sum().backward()
"""
CALLS = """\
import torch
def double(t):
    return t * 2
for i in range(3):
    y = double(torch.ones(2))
"""


@pytest.fixture
def printed(trace_of):
    """Program → the lines of its text form."""

    def show(source: str, *, width: int = 100, color: bool = False, **manner) -> list[str]:
        out = io.StringIO()
        console = Console(
            file=out,
            width=width,
            highlight=False,
            markup=False,
            emoji=False,
            force_terminal=color,
            color_system="standard" if color else None,
        )
        print_trace(explain(trace_of(source)), console, Manner(**manner))
        return out.getvalue().splitlines()

    return show


def line_of(lines: list[str], part: str) -> int:
    return next(i for i, line in enumerate(lines) if part in line)


def test_each_line_has_its_four_lamps(printed):
    lines = printed(WRITE)

    assert " 1  · · · ·  │ import torch" in lines
    assert " 2  ■ ◆ · ·  │ x = torch.arange(12.).view(3, 4)" in lines
    assert " 3  · ◆ · ·  │ y = x.t()" in lines
    assert " 6  ■ · ▲ ·  │ x[1:, ::2].mul_(10)" in lines


def test_below_a_line_stands_what_it_changed_and_not_what_it_did_not(printed):
    lines = printed(WRITE)
    at = line_of(lines, "y = x.t()")

    assert (
        lines[at + 1]
        .strip()
        .startswith("◆ y is a view of x: same storage S1, shape (4, 3) instead of (3, 4)")
    )
    assert lines[at + 2].strip().endswith("of (4, 1).")
    assert not any("No change" in line for line in lines)


def test_an_error_points_at_its_place_and_is_explained(printed):
    lines = printed(WRITE)
    at = line_of(lines, "│ h.sum().backward()")

    assert lines[at + 1].index("^") == lines[at].index("h.sum()")
    assert lines[at + 1].strip() == "^" * len("h.sum().backward()")
    text = " ".join(" ".join(lines).split())
    assert "RuntimeError line 8: one of the variables needed for gradient computation" in text
    assert "backward() needs x as it was when MmBackward0 saved it, at version 0. Line 6 wrote to it" in text
    assert "→ Copy first: x = x.clone() before line 6; or call backward() before line 6." in text


def test_the_last_state_is_a_table_of_names(printed):
    lines = printed(WRITE)
    rows = [line.split() for line in lines[line_of(lines, "Tensors") :]]

    assert ["name", "shape", "stride", "offset", "dtype", "storage", "version", "grad_fn"] in rows
    assert ["y", "(4,", "3)", "(1,", "4)", "0", "float32", "S1", "1"] in rows
    assert ["w", "(4,", "2)", "(2,", "1)", "0", "float32", "S2", "0", "leaf"] in rows
    assert ["h", "(3,", "2)", "(2,", "1)", "0", "float32", "S3", "0", "MmBackward0"] in rows
    assert "  x and y share storage S1 (48 B)" in lines


def test_the_output_of_the_program_is_shown(printed):
    lines = printed(WRITE)

    assert lines[line_of(lines, "Output") + 1] == "  sum 318.0"


def test_a_step_stops_the_clock(printed):
    lines = printed(WRITE, step=3)
    text = "\n".join(lines)

    assert "▶3  · ◆ · ·  │ y = x.t()" in lines
    assert " 6           │ x[1:, ::2].mul_(10)" in lines
    assert "RuntimeError" not in text
    assert "Output" not in text
    assert "step 3 of" in lines[0]


def test_a_step_that_is_not_there_is_an_error(printed):
    with pytest.raises(IndexError, match="There is no step 99"):
        printed(WRITE, step=99)


def test_ops_are_shown_on_request_with_what_came_of_them(printed):
    text = "\n".join(printed(WRITE, verbose=True))

    assert "aten::t  view  ← t" in text
    assert "aten::mm  new storage  ← matmul" in text
    assert "aten::mul_.Tensor  in place  ← mul_" in text
    assert "aten::" not in "\n".join(printed(WRITE))


def test_a_loop_is_told_by_its_last_round(printed):
    lines = printed(CALLS)

    assert sum("ran 3 times; the last time:" in line for line in lines) == 2
    assert sum("y has a storage of its own" in line for line in lines) == 1


def test_a_statement_over_several_lines_is_told_below_its_last(printed):
    lines = printed("import torch\na = torch.ones(\n    2,\n    3,\n)\n")

    assert lines[line_of(lines, "│ )") + 1].strip() == "■ a has a storage of its own, S1 (24 B)."


def test_a_pointer_below_wide_characters_stays_in_place(printed):
    lines = printed('import torch\ns = "张量"; q = torch.ones(2) @ torch.ones(3)\n')
    at = line_of(lines, "张量")
    before = lines[at].split("torch.ones(2)")[0]

    assert lines[at + 1].index("^") == len(before) + len("张量")


def test_a_syntax_error_shows_its_place(printed):
    lines = printed("x = (1 +\n")

    assert lines[line_of(lines, "│ x = (1 +") + 1].strip() == "^"
    assert "SyntaxError line 1: '(' was never closed" in lines


def test_chinese(printed):
    text = "\n".join(printed(WRITE, language="zh"))

    assert "y 是 x 的视图：同一个存储 S1" in text
    assert "张量" in text
    assert "instead of" not in text


def test_a_pipe_gets_plain_text_without_trailing_spaces(printed):
    lines = printed(WRITE)

    assert not any("\x1b" in line for line in lines)
    assert not [line for line in lines if line.endswith(" ") and "│" not in line]


def test_a_terminal_gets_colours(printed):
    assert any("\x1b[1;34m ■" in line for line in printed(WRITE, color=True))


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_no_sentence_is_wider_than_the_terminal(printed, width):
    lines = printed(WRITE, width=width)

    assert max(len(line) for line in lines if "│" not in line and "^" not in line) <= width


def test_a_program_cannot_command_the_terminal(printed):
    source = (
        'import torch\nprint("\\x1b[2J\\x07\\u202e")\n# \x1b]0;owned\x07\nraise ValueError("\\x1b[31mred")\n'
    )
    text = "\n".join(printed(source))

    assert "\x1b" not in text
    assert "\x07" not in text
    assert "\u202e" not in text
    assert r"\x1b[2J\x07\u202e" in text


def test_visible_text_keeps_letters_of_every_language():
    assert visible("naïve 张量 ∑\tx") == "naïve 张量 ∑    x"
    assert visible("\ud800") == r"\ud800"


def test_notes_and_warnings_have_their_lines(printed):
    source = "import torch\nx = torch.ones(2)\nx.to('meta')\nimport warnings\nwarnings.warn('careful')\n"
    lines = printed(source)

    assert any(line.startswith("  ⚠ line 3: .to() does not change x;") for line in lines)
    assert "  line 5: UserWarning: careful" in lines


def test_an_empty_program_is_shown_too(printed):
    assert "step 0 of 0" in printed("")[0]
