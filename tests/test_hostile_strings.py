"""Whatever a program calls its things, no text of it commands a terminal or leaves its place in a file."""

import io
import re

import pytest
from rich.console import Console
from tensor_anatomy import cli
from tensor_anatomy.drawing import draw
from tensor_anatomy.explaining import explain
from tensor_anatomy.schema import Trace
from tensor_anatomy.terminal import Manner, print_trace

from .conftest import record
from .test_export import built  # noqa: F401

BAD = "\x1b]0;owned\x07\x9b31m\u202e\u2066</script><!--\r\"; filename=x\\'\u2028&#x1b;\x00\ud800"

PROGRAM = f"""\
import torch, warnings
BAD = {BAD!a}
PLAIN = BAD.replace("\\x00", "").replace("\\ud800", "")
M = type(PLAIN, (torch.nn.Module,), {{"forward": lambda self, x: x * 2}})
m = torch.nn.Sequential(M())
m.add_module(PLAIN.replace(".", ""), M())
w = torch.ones(2, requires_grad=True)
d = {{BAD: w, "k": [w.detach()]}}
globals()[BAD] = torch.zeros(3)
y = m(w)
print(BAD)
warnings.warn_explicit(BAD, type(PLAIN, (UserWarning,), {{}}), "<program>", 3)
def f(x):
    return x.sum()
f.__name__ = f.__qualname__ = BAD
f.__code__ = f.__code__.replace(co_name=PLAIN, co_qualname=PLAIN)
z = f(y)
z.backward()
try:
    torch.ones(2) @ torch.ones(3)
except RuntimeError as e:
    raise type(PLAIN, (Exception,), {{}})(BAD) from e
# {BAD[:-2].replace(chr(13), "")}
"""


@pytest.fixture(scope="module")
def hostile() -> Trace:
    trace = draw(explain(record(PROGRAM)))
    assert trace.outcome.kind == "raised"
    assert "owned" in (trace.outcome.type or "")
    return trace


def commands_in(text: str) -> set[str]:
    """Characters that do something to a terminal or to the order of a text."""
    return set(
        re.findall(
            "[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", text
        )
    )


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("step", [None, 5])
def test_no_text_of_a_program_commands_the_terminal(hostile: Trace, language: str, step: int | None) -> None:
    out = io.StringIO()
    console = Console(file=out, width=90, highlight=False, markup=False, emoji=False)
    print_trace(hostile, console, Manner(step=step, language=language, verbose=True, title=BAD))
    assert "owned" in out.getvalue()
    assert commands_in(out.getvalue()) == set()


def test_json_is_plain_to_a_terminal_and_gives_the_texts_back(hostile: Trace) -> None:
    text = hostile.model_dump_json(by_alias=True)
    assert commands_in(text) <= set("\x7f\x9b\u202e\u2066")
    assert Trace.model_validate_json(text) == hostile


def test_no_text_leaves_its_place_in_an_exported_page(built, tmp_path):  # noqa: F811
    program, out = tmp_path / "program.py", tmp_path / "out.html"
    program.write_text(PROGRAM, encoding="utf-8", newline="")
    assert cli.main(["export", str(program), "-o", str(out), "--title", BAD[:-2]]) == 0
    page = out.read_bytes().decode()
    assert page.count("<script") == page.count("</script>") == 3
    assert commands_in(page) == set()
