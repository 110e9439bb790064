"""Markdown of a lesson → its front matter and its parts: prose, players, questions, checks.

    ---                       front matter (YAML)
    title: …
    ---
    Prose before the first heading is the introduction.
    ## A part
    ```trace transpose step=3 focus=storage      the player, with the program transpose.py
    ```
    ```question which-layers                     YAML, see questions.py
    ```
    ```check transpose                           Python that the tests run after the program
    ```

Raw HTML is not allowed. It does not read the programs, and it decides nothing about pages.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import yaml
from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.front_matter import front_matter_plugin
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from .questions import Question, question_of


class LessonInvalid(ValueError):
    """A lesson's Markdown is not as it must be; the message says where."""


@dataclass(frozen=True)
class Prose:
    """Running text."""

    html: str


@dataclass(frozen=True)
class Player:
    """A recorded trace."""

    program: str
    """Name of the lesson's program."""

    step: int | None
    """The step to show first; the last one if None."""

    focus: str | None
    """The view to show first."""


@dataclass(frozen=True)
class Check:
    """Statements that must hold after a program, on the installed torch."""

    program: str
    code: str
    line: int
    """Line of the lesson file it stands on."""


Block = Prose | Player | Question | Check


@dataclass(frozen=True)
class Part:
    """A heading and what follows it."""

    id: str
    title: str
    """Plain text; empty for the introduction."""

    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Text:
    """A lesson in one language."""

    title: str
    goal: str
    teaches: tuple[str, ...]
    sources: tuple[str, ...]
    parts: tuple[Part, ...]

    @property
    def blocks(self) -> tuple[Block, ...]:
        """All blocks in order."""
        return tuple(block for part in self.parts for block in part.blocks)


_FOCUSES = {"code", "storage", "autograd", "devices"}
_SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_HTML = HtmlFormatter(nowrap=True)
# Chinese has no spaces between sentences, and a line break of the source would become one.
_BREAK_IN_CHINESE = re.compile(
    r"(?<=[\u3000-\u9fff\uff00-\uffef])\n(?=[\u3000-\u9fff\uff00-\uffef<])|(?<=[。！？；：，、）”])\n"
)


def highlighted(source: str) -> list[str]:
    """Python as HTML, line by line, with Pygments' short class names.

    >>> highlighted("x = 1")
    ['<span class="n">x</span> <span class="o">=</span> <span class="mi">1</span>']
    """
    html: str = highlight(source, PythonLexer(stripnl=False, ensurenl=True), _HTML)
    return html.removesuffix("\n").split("\n")


def read_lesson(text: str) -> Text:
    """Read a lesson's Markdown.

    Raises:
        LessonInvalid: Front matter or a fence is not as it must be.
    """
    markdown = _markdown()
    tokens = markdown.parse(text)
    front = yaml.safe_load(tokens[0].content) if tokens and tokens[0].type == "front_matter" else None
    if not isinstance(front, dict) or not {"title", "goal"} <= set(front):
        raise LessonInvalid("a lesson begins with front matter that has a title and a goal")
    body = tokens[1:]
    starts = [i for i, token in enumerate(body) if token.type == "heading_open" and token.tag == "h2"]
    parts = [_part(markdown, "introduction", "", body[: starts[0]] if starts else body)]
    for number, start in enumerate(starts, 1):
        end = starts[number] if number < len(starts) else len(body)
        parts.append(_part(markdown, f"part-{number}", body[start + 1].content, body[start + 3 : end]))
    return Text(
        title=str(front["title"]),
        goal=str(front["goal"]),
        teaches=tuple(map(str, front.get("teaches", ()))),
        sources=tuple(map(str, front.get("sources", ()))),
        parts=tuple(part for part in parts if part.blocks),
    )


def inline(markdown_text: str) -> str:
    """A sentence or a few paragraphs of Markdown as HTML, without the tags of a lone paragraph."""
    html: str = _BREAK_IN_CHINESE.sub("", _markdown().render(str(markdown_text)).strip())
    if html.startswith("<p>") and html.count("<p>") == 1 and html.endswith("</p>"):
        return html.removeprefix("<p>").removesuffix("</p>")
    return html


def _markdown() -> MarkdownIt:
    markdown = MarkdownIt("commonmark", {"html": False, "typographer": False}).enable("table")
    markdown.use(front_matter_plugin)
    markdown.options["highlight"] = lambda code, lang, _: (
        "\n".join(highlighted(code)) + "\n" if lang == "python" else ""
    )
    return markdown


def _part(markdown: MarkdownIt, identifier: str, title: str, tokens: Sequence[Token]) -> Part:
    blocks: list[Block] = []
    run: list[Token] = []

    def flush() -> None:
        if run:
            html: str = markdown.renderer.render(run, markdown.options, {})
            blocks.append(Prose(_BREAK_IN_CHINESE.sub("", html)))
            run.clear()

    for token in tokens:
        special = _special(token)
        if special is None:
            run.append(token)
        else:
            flush()
            blocks.append(special)
    flush()
    return Part(identifier, title.replace("`", ""), tuple(blocks))


def _special(token: Token) -> Block | None:
    if token.type != "fence":
        return None
    line = token.map[0] + 1 if token.map else 0
    kind, *words = token.info.split()
    if kind not in {"trace", "question", "check"}:
        return None
    if not words or not _SLUG.fullmatch(words[0]):
        raise LessonInvalid(
            f"line {line}: a {kind} fence names a program or a question, as in `{kind} slice`"
        )
    name, options = words[0], dict(word.split("=", 1) for word in words[1:] if "=" in word)
    if kind == "trace":
        return _player(line, name, options)
    if kind == "check":
        return Check(name, token.content, line)
    return question_of(name, _yaml(token.content, line), inline)


def _player(line: int, name: str, options: dict[str, str]) -> Player:
    step, focus = options.get("step"), options.get("focus")
    if (
        set(options) - {"step", "focus"}
        or (step and not step.isdecimal())
        or (focus and focus not in _FOCUSES)
    ):
        raise LessonInvalid(f"line {line}: a trace fence takes step=N and focus={'|'.join(sorted(_FOCUSES))}")
    return Player(name, int(step) if step else None, focus)


def _yaml(text: str, line: int) -> Any:
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as e:
        raise LessonInvalid(f"line {line}: the fence is not YAML: {e}") from e
