"""Every message that the code names is in both catalogues, and every message in them is named somewhere.

Ids are found as they are written: whole, or as a pattern with a hole, `ui.layer.${layer}` or f"error.{name}".
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tensor_anatomy.messages import LANGUAGES, catalogue

ROOT = Path(__file__).resolve().parent.parent
SOURCES = [*sorted((ROOT / "static" / "src").rglob("*.ts")), *sorted((ROOT / "app").rglob("*.py"))]
FAMILIES = sorted({id.split(".")[0] for id in catalogue("en")})
LITERAL = re.compile(
    rf"""["'`]((?:{"|".join(FAMILIES)})\.(?:[\w.-]|\$?\{{[^{{}}]*(?:\{{[^{{}}]*\}}[^{{}}]*)*\}})+)["'`]"""
)
LED_BY_A_HOLE = re.compile(r"""["'`](\$?\{[\w.]+\}\.[a-z][\w.-]*)["'`]""")
"""As f"{layer}.none"."""

HOLE = re.compile(r"\$?\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}")
NO_MESSAGES = {
    "autograd.function.BackwardCFunction",
    "error.REASON",
    "error.REASON.fix",
    "error.html",
    "error.x",
    "error.x.fix",
}
"""Texts of the sources that look like ids and are something else."""


def literals() -> Iterator[tuple[str, str]]:
    for path in SOURCES:
        text = path.read_text(encoding="utf-8")
        for found in LITERAL.findall(text) + LED_BY_A_HOLE.findall(text):
            yield found, str(path.relative_to(ROOT))


WHOLE = {(id, where) for id, where in literals() if not HOLE.search(id) and not id.endswith(".")}
PATTERNS = {
    re.compile("[\\w-]+(?:\\.[\\w-]+)*".join(map(re.escape, HOLE.split(id))))
    for id, _ in literals()
    if HOLE.search(id)
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_message_that_is_named_exists(language):
    known = catalogue(language)
    missing = {
        (id, where)
        for id, where in WHOLE
        if id not in known and id not in NO_MESSAGES and not any(each.startswith(f"{id}.") for each in known)
    }
    assert not missing


def test_no_message_is_left_over():
    named = {id for id, _ in WHOLE}
    unused = {
        id for id in catalogue("en") if id not in named and not any(each.fullmatch(id) for each in PATTERNS)
    }
    assert not unused


def test_texts_that_only_look_like_ids_are_still_there():
    assert {id for id, _ in WHOLE} >= NO_MESSAGES


def test_the_patterns_are_not_so_wide_that_anything_fits():
    assert len(PATTERNS) > 20
    assert not any(
        each.fullmatch(f"{family}.nothing.like.this") for each in PATTERNS for family in ("ui", "data")
    )
