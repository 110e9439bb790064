"""One self-contained HTML file: the embed with its trace, styles and script inside. Works offline, for good.

It asks nothing of a server, so a policy inside the file forbids it to ask for anything.
"""

import base64
import hashlib
import re

from markupsafe import Markup

from ..messages import Language
from ..resources import resource
from ..schema import Trace
from .figures import step_figure
from .templating import data_block, render
from .words import words_of_figures, words_of_recording

TEMPLATE = "export.html"
_ENDS = re.compile(r"<(/(?:script|style)|!--)", re.IGNORECASE)

_COMMANDS = re.compile(
    "[\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f-\\x9f\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069]|\\r(?!\\n)"
)


class FrontEndMissing(RuntimeError):
    """The scripts of the pages were not built."""

    def __init__(self) -> None:
        super().__init__("the front end is not built: run `make setup`")


def page_of(trace: Trace, title: str, language: Language) -> str:
    """Make a page of a trace.

    Args:
        trace: Explained and laid out.
        title: Of the page.
        language: Of its words and sentences.

    Returns:
        A whole HTML document.

    Raises:
        FrontEndMissing: The front end was not built.
    """
    # What a served embed brings when it is asked to has to be inside: the file can ask for nothing.
    styles, script = (_built(f"more.{kind}", f"embed.{kind}") for kind in ("css", "js"))
    steps = len(trace.steps)
    page = render(
        language,
        TEMPLATE,
        title=title,
        lang="zh-Hans" if language == "zh" else "en",
        policy=f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(styles)}; img-src data:",
        styles=Markup(styles),
        script=Markup(script),
        trace=data_block(trace.model_dump(mode="json", by_alias=True)),
        messages=data_block(words_of_figures(language) | words_of_recording(trace, language)),
        figure=step_figure(trace, steps, language),
        step=steps,
        view="memory" if trace.graph is None else "both",
    )
    ours = re.compile(f"({re.escape(styles)}|{re.escape(script)})")
    return "".join(part if number % 2 else _quiet(part) for number, part in enumerate(ours.split(page)))


def _quiet(text: str) -> str:
    """Without characters that command a terminal or turn the order of a text around.

    In the trace's JSON the escapes mean the same characters, in what is shown they can be seen.
    """
    return _COMMANDS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _built(*names: str) -> str:
    """Built files, safe inside `<style>` or `<script>`: nothing in them can end the element."""
    paths = [resource("static") / "dist" / name for name in names]
    if not all(path.is_file() for path in paths):
        raise FrontEndMissing
    text = "\n".join(path.read_text(encoding="utf-8") for path in paths)
    # Both can only stand in a string or a comment of what the build makes, where a backslash changes nothing.
    return _ENDS.sub(r"<\\\1", text).strip()


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
