"""Every word of the templates is there in Chinese, with the same placeholders."""

import re

import pytest
from babel.messages.extract import extract_from_dir
from babel.messages.pofile import read_po
from tensor_anatomy.resources import resource
from tensor_anatomy.web.languages import translations

PLACEHOLDER = re.compile(r"%\(\w+\)s")


def said_by_templates() -> list[str | tuple[str, ...]]:
    found = extract_from_dir(
        str(resource("templates")),
        [("**.html", "jinja2.ext:babel_extract")],
        {"**.html": {"trimmed": "true"}},
    )
    return list(dict.fromkeys(message for _, _, message, _, _ in found))


SAID = said_by_templates()


def chinese() -> dict[str | tuple[str, ...], str]:
    with (resource("templates") / "locale" / "zh.po").open("rb") as file:
        catalog = read_po(file, locale="zh")
    return {
        message.id if isinstance(message.id, str) else tuple(message.id): (
            message.string if isinstance(message.string, str) else message.string[0]
        )
        for message in catalog
        if message.id
    }


CHINESE = chinese()


def test_the_templates_say_something():
    assert len(SAID) > 50


@pytest.mark.parametrize("message", SAID, ids=lambda m: str(m)[:40])
def test_a_message_is_translated_with_its_placeholders(message):
    assert message in CHINESE, "add it to templates/locale/zh.po"
    text = CHINESE[message]
    assert text
    single = message if isinstance(message, str) else message[-1]
    assert sorted(PLACEHOLDER.findall(text)) == sorted(PLACEHOLDER.findall(single))


def test_no_translation_is_left_over():
    assert set(CHINESE) - set(SAID) == set()


def test_the_catalog_compiles_and_counts():
    said = translations("zh")
    assert said.gettext("Lessons") == "课程"
    assert said.ngettext("%(num)s lesson", "%(num)s lessons", 1) == "%(num)s 节课"
    assert translations("en").gettext("Lessons") == "Lessons"
