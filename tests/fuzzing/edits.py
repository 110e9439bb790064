"""Programs of the test data with random edits, and texts that are no programs at all."""

import io
import json
import tokenize
from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

DATA = Path(__file__).resolve().parent.parent / "data"

_FILES = ("cases.jsonl", "claims.jsonl", "pitfalls.jsonl")


@lru_cache(maxsize=1)
def known_programs() -> tuple[str, ...]:
    """Every program of the data."""
    lines = [line for name in _FILES for line in (DATA / name).read_text(encoding="utf-8").splitlines()]
    programs = [json.loads(line)["source"] for line in lines]
    return (*programs, *(path.read_text(encoding="utf-8") for path in sorted(DATA.glob("lives/*.py"))))


def _tokens(source: str) -> list[str]:
    """A program cut before each of its tokens; together they are the program again."""
    try:
        starts = [token.start for token in tokenize.generate_tokens(io.StringIO(source).readline)]
    except (tokenize.TokenError, SyntaxError):
        return source.splitlines(keepends=True)
    lines = source.splitlines(keepends=True)
    offsets = [0]
    for line in lines:
        offsets.append(offsets[-1] + len(line))
    cuts = sorted(
        {offsets[row - 1] + column for row, column in starts if row <= len(lines)} | {0, len(source)}
    )
    return [source[a:b] for a, b in pairwise(cuts)]


@st.composite
def edited_programs(draw: Callable[..., Any]) -> str:
    """Programs of the data in which lines or tokens are gone, doubled, swapped or from another program."""
    source = draw(st.sampled_from(known_programs()))
    for _ in range(draw(st.integers(1, 4))):
        by_line = draw(st.booleans())
        pieces = source.splitlines(keepends=True) if by_line else _tokens(source)
        if len(pieces) < 2:
            break
        here, there = (draw(st.integers(0, len(pieces) - 1)) for _ in range(2))
        match draw(st.integers(0, 3)):
            case 0:
                del pieces[here]
            case 1:
                pieces.insert(there, pieces[here])
            case 2:
                pieces[here], pieces[there] = pieces[there], pieces[here]
            case _:
                other = draw(st.sampled_from(known_programs()))
                others = other.splitlines(keepends=True) if by_line else _tokens(other)
                pieces.insert(there, draw(st.sampled_from(others)))
        source = "".join(pieces)
    return source


_PIECES = (
    "import torch\n", "x = ", "'''", '"', "\\", "\n", "\t", "\r", "\0", "\f", "\u2028", "\u202e", "\ufeff",
    "{", "}", "(" * 90, "]" * 90, "lambda:", "# -*- coding: utf-7 -*-\n", "def f(", "0x", "9" * 5000, "f'{",
    "async ", "await ", "x.y" * 200, "-" * 3000, "if 1:\n " * 60, "\x1b[2J", "é", "𝔵", "match x:\n case ",
)  # fmt: skip


def unreadable() -> st.SearchStrategy[str]:
    """Bytes and characters of every kind; no half characters, which no request can hold."""
    characters = st.characters(exclude_categories=("Cs",))
    pieces = st.sampled_from(_PIECES)
    texts = st.lists(st.one_of(pieces, st.text(characters, max_size=12)), max_size=12).map("".join)
    return st.one_of(texts, st.binary(max_size=200).map(lambda raw: raw.decode("latin-1")))
