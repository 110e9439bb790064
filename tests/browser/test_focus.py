"""Tab follows the order of reading, is never caught, is always seen; sheets take the focus and return it."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from .conftest import Open
from .scenes import OPENED, PROGRAMS
from .test_rules import contrast

HERE = Path(__file__).with_name("focus.js").read_text("utf-8").partition("\n")[2].strip().rstrip(";")
PARTS = ["site-header", "outcome", "player-code", "player-memory", "player-graph", "player-timeline"]


def tour(page: Page, most: int = 150, key: str = "Tab") -> list[dict[str, Any]]:
    """Every stop of the Tab key until it leaves the page."""
    stops: list[dict[str, Any]] = []
    for _ in range(most):
        page.keyboard.press(key)
        here = page.evaluate(HERE)
        if here is None:
            return stops
        stops.append(here)
    pytest.fail(f"the focus does not leave the page: {[each['name'] for each in stops[-12:]]}")


def check(stops: list[dict[str, Any]]) -> None:
    """Each stop is seen, in sight, and none comes twice."""
    hidden = [each["name"] for each in stops if not each["seen"]]
    assert not hidden, hidden
    away = [each["name"] for each in stops if not each["inside"]]
    assert not away, away
    twice = [
        each["name"] for n, each in enumerate(stops) if each["id"] in {prior["id"] for prior in stops[:n]}
    ]
    assert not twice, twice


def test_tab_goes_over_the_playground_part_by_part(open_page: Open) -> None:
    page = open_page("/playground?lang=en#step=7")
    stops = tour(page)
    check(stops)
    assert "skip-link" in stops[0]["name"]
    parts = [each["part"] for each in stops if each["part"] in PARTS]
    order = sorted(parts, key=PARTS.index)
    assert parts == order and set(parts) == set(PARTS)
    # And back: the same stops the other way round.
    last = stops[-1]["name"]
    page.keyboard.press("Shift+Tab")
    assert page.evaluate(HERE)["name"] == last


@pytest.mark.parametrize(
    ("path", "width"),
    [("/lessons/one-storage", 1280), ("/embed/v1/examples.write-through?step=7", 720), ("/", 1280)],
    ids=["lesson", "embed", "home"],
)
def test_tab_goes_down_a_page(open_page: Open, path: str, width: int) -> None:
    page = open_page(f"{path}{'&' if '?' in path else '?'}lang=zh", width=width, height=700)
    stops = tour(page)
    check(stops)
    assert len(stops) > 8
    if path != "/":
        return
    rows = [each["box"][1] for each in stops[1:]]
    assert all(below >= above - 60 for above, below in pairwise(rows)), rows


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [*PROGRAMS, "ops", "lens of a tensor", "lens of bytes", "what if", "holders", "details of a node"]
)
def test_tab_is_never_caught(open_page: Open, name: str) -> None:
    scene = {**PROGRAMS, **OPENED}[name]
    page = open_page("/about", own=scene.own)
    page.goto(scene.address("en"))
    page.locator(".player.loaded").wait_for()
    scene.play(page)
    page.locator(".skip-link").focus()
    check(tour(page, 400))


def test_the_editor_lets_go_of_the_focus(open_page: Open) -> None:
    page = open_page("/playground?lang=en", own=True)
    page.get_by_role("button", name="Edit").click()
    editor = page.get_by_label("Program to run")
    editor.focus()
    for key in ("Tab", "Shift+Tab"):
        editor.focus()
        before = page.evaluate(HERE)
        # Tab may write spaces; Escape first lets it leave, as the line below the editor says.
        page.keyboard.press("Escape")
        page.keyboard.press(key)
        here = page.evaluate(HERE)
        assert here is not None and here["name"] != before["name"], key
        if page.get_by_label("Program to run").is_hidden():
            page.get_by_role("button", name="Edit").click()


def test_sheets_take_the_focus_keep_it_and_give_it_back(open_page: Open) -> None:
    page = open_page("/playground?lang=en&example=mlp#step=9")
    openers = {
        "share": page.locator(".share-button"),
        "compare": page.locator(".compare-button"),
        "keys": page.get_by_role("button", name="Next step"),
    }
    for name, opener in openers.items():
        opener.focus()
        page.keyboard.press("Enter") if name != "keys" else page.keyboard.press("?")
        page.locator("dialog[open]").wait_for()
        for key in ("Tab", "Shift+Tab", "Tab", "Tab"):
            page.keyboard.press(key)
            here = page.evaluate(HERE)
            assert here is None or here["part"] == "dialog", (name, here)  # None: the browser's own controls
        page.keyboard.press("Escape")
        page.locator("dialog").wait_for(state="detached")
        expect(opener).to_be_focused()


def test_the_ring_of_the_focus_is_told_from_its_ground(open_page: Open) -> None:
    page = open_page("/playground?lang=en#step=7")
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        tokens = (
            "names => names.map(each => getComputedStyle(document.documentElement).getPropertyValue(each))"
        )
        focus, *grounds = page.evaluate(tokens, ["--focus", "--bg", "--card", "--now", "--warn-t"])
        assert all(contrast(focus.strip(), ground.strip()) >= 3 for ground in grounds), theme
