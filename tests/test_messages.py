"""The formatter keeps its table, and both catalogues say the same things."""

import json
import re
from pathlib import Path

import pytest
from tensor_anatomy.messages import LANGUAGES, catalogue, parts_of, text_of
from tensor_anatomy.messages.format import Argument, MessageSyntaxError, format_parts, parse, placeholders

ROOT = Path(__file__).parent.parent
TABLE = json.loads((ROOT / "tests/data/messages.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", TABLE["cases"], ids=lambda case: case["message"][:40] or "empty")
def test_a_message_becomes_its_parts(case):
    parts = format_parts(case["message"], case["args"], TABLE["lists"])

    assert [list(part) for part in parts] == case["parts"]


@pytest.mark.parametrize(
    "message", ["{", "{n", "a } b", "{n, plural, one {x}}", "{a b}", "{n, date}", "{n, select, x {y}}"]
)
def test_a_malformed_message_is_refused_when_read(message):
    with pytest.raises(MessageSyntaxError):
        parse(message)


def test_an_unknown_id_is_shown_as_it_is():
    assert text_of("en", "no.such.message", {"n": 1}) == "no.such.message"


def test_both_languages_have_the_same_messages():
    english, chinese = catalogue("en"), catalogue("zh")

    assert set(english) == set(chinese)


def test_both_languages_use_the_same_arguments():
    english, chinese = catalogue("en"), catalogue("zh")
    differing = {
        key: (placeholders(text), placeholders(chinese[key]))
        for key, text in english.items()
        if placeholders(text) != placeholders(chinese[key])
    }

    assert not differing


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_message_can_be_read_and_says_something(language):
    for key, text in catalogue(language).items():
        assert parse(text), key
        assert _balanced(text), f"{key}: a style is opened and not closed"


def _balanced(message: str) -> bool:
    """Each style that a message or a branch opens, it closes."""

    def even(pieces) -> bool:
        marks = [
            piece.style for piece in pieces if not isinstance(piece, Argument) and hasattr(piece, "style")
        ]
        branches = [b for piece in pieces if isinstance(piece, Argument) for b in piece.branches.values()]
        return all(marks.count(style) % 2 == 0 for style in set(marks)) and all(map(even, branches))

    return even(parse(message))


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_catalogue_is_sorted_and_has_each_id_once(language):
    pairs = json.loads(
        (ROOT / f"app/messages/{language}.json").read_text(encoding="utf-8"), object_pairs_hook=list
    )
    keys = [key for key, _ in pairs]

    assert keys == sorted(set(keys))


def test_the_chinese_catalogue_is_in_chinese():
    kept_in_english = {
        key
        for key, text in catalogue("zh").items()
        if not re.search(r"[\u3000-\u303f\u4e00-\u9fff]", text)
        and re.search(r"[A-Za-z]{4}", parse_text(text))
    }

    assert not {key for key in kept_in_english if catalogue("en")[key] == catalogue("zh")[key]} - SAME_IN_BOTH


SAME_IN_BOTH: set[str] = {"terminal.grad_fn", "ui.brand"}
"""Names of things that are not translated."""


def parse_text(message: str) -> str:
    return "".join(piece.text for piece in parse(message) if hasattr(piece, "text"))


def test_a_list_is_joined_as_the_language_does():
    english = "".join(part.text for part in format_parts("{n}", {"n": ["x", "y", "z"]}, catalogue("en")))
    chinese = "".join(part.text for part in format_parts("{n}", {"n": ["x", "y", "z"]}, catalogue("zh")))

    assert (english, chinese) == ("x, y and z", "x、y 和 z")


def test_arguments_are_not_read_as_markup():
    assert [p.style for p in parts_of("en", "list.more", {"n": "**x** `y` {z}"})] == ["plain"]
