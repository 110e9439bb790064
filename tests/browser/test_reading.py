"""Every word can be read: none cut off with no way to the rest, none over another, in both languages.

At the widths of a desk, a phone and the narrowest window; with text of 1.4 times the size, as browsers that
zoom text alone make it; with words 1.4 times as long, as a translation may have them. The fast set has a few
scenes; all of them are marked slow.
"""

from typing import Literal

import pytest
from playwright.sync_api import Page, expect

from .conftest import Open, Watch, visit
from .reading import unreadable
from .scenes import EVERYWHERE, Scene
from .test_everywhere import LONGER

Given = Literal["as it is", "larger", "longer"]
WIDTHS = ((1440, 900), (390, 844), (320, 700))

# As a browser does that zooms text alone: sizes and lines of all text but that of pictures.
LARGER = """() => {
  const kept = '.graph .viewport *, .compiled-picture *, svg, svg *, .cells *, .strip *, .main-svg *';
  const all = [...document.querySelectorAll('body, body *')].filter(each => !each.matches(kept)).map(each => {
    const { fontSize, lineHeight } = getComputedStyle(each);
    return [each, parseFloat(fontSize) * 1.4, parseFloat(lineHeight) * 1.4];
  });
  for (const [each, size, line] of all) {
    each.style.setProperty('font-size', `${size}px`, 'important');
    if (!Number.isNaN(line)) each.style.setProperty('line-height', `${line}px`, 'important');
  }
}"""
CHANGED: dict[Given, str] = {"larger": LARGER, "longer": LONGER}


def faults(open_page: Open, watch: Watch, scene: Scene, language: str, *given: Given) -> dict[str, list[str]]:
    """What cannot be read of a scene, by width; changed text is tried at the two ends."""
    watch.expected += scene.faults
    page = open_page("/about", own=scene.own, first_visit=scene.first_visit)
    visit(page, scene.address(language))
    scene.play(page)
    found: dict[str, list[str]] = {}
    for each in given:
        for width, height in WIDTHS if each == "as it is" else WIDTHS[::2]:
            page.set_viewport_size({"width": width, "height": height})
            settle(page)
            if each in CHANGED and width == WIDTHS[0][0]:
                page.evaluate(CHANGED[each])
                settle(page)
            if there := unreadable(page):
                found[f"{each}, {width} px"] = there
    return found


def settle(page: Page) -> None:
    """Let observers of sizes answer, and what they changed be laid out."""
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


FEW = [("home", "zh"), ("lesson", "en"), ("embed of views", "zh"), ("write-through", "zh"), ("ops", "en")]


@pytest.mark.parametrize(("name", "language"), FEW)
def test_no_word_is_cut_off(open_page: Open, watch: Watch, name: str, language: str) -> None:
    assert faults(open_page, watch, EVERYWHERE[name], language, "as it is") == {}


@pytest.mark.parametrize("given", ["larger", "longer"])
def test_no_word_is_cut_off_that_is_larger_or_longer(open_page: Open, watch: Watch, given: Given) -> None:
    assert faults(open_page, watch, EVERYWHERE["write-through"], "en", given) == {}


@pytest.mark.slow
@pytest.mark.parametrize(("language", "given"), [("en", "longer"), ("zh", "larger")])
@pytest.mark.parametrize("name", EVERYWHERE)
def test_no_word_of_any_page_or_panel_is_cut_off(
    open_page: Open, watch: Watch, name: str, language: str, given: Given
) -> None:
    changed = () if name == "charts" else (given,)
    assert faults(open_page, watch, EVERYWHERE[name], language, "as it is", *changed) == {}


PLANTED = """([css, words]) => {
  const box = document.createElement('div');
  for (const [name, value] of Object.entries(css)) box.style.setProperty(name, value);
  box.append(Object.assign(document.createElement('p'), { textContent: words }));
  box.className = 'planted';
  document.querySelector('main').prepend(box);
}"""


def test_the_finder_finds_what_is_cut_off_and_what_lies_over_another(open_page: Open) -> None:
    page = open_page("/about?lang=en")
    assert unreadable(page) == []
    narrow = {"width": "60px", "overflow": "hidden", "white-space": "nowrap"}
    page.evaluate(PLANTED, [narrow, "far too many words"])
    assert unreadable(page) == ["cut off: p in div.planted: far too many words"]
    # A tooltip says it, or it can be scrolled to: a reader can read it.
    page.locator(".planted").evaluate("each => { each.title = 'far too many words'; }")
    assert unreadable(page) == []
    page.locator(".planted").evaluate("each => { each.title = ''; each.style.overflow = 'auto'; }")
    assert unreadable(page) == []
    page.locator(".planted").evaluate("each => each.remove()")
    title = page.locator("h1").bounding_box()
    assert title is not None
    there = {"position": "absolute", "left": f"{title['x']}px", "top": f"{title['y']}px"}
    page.evaluate(PLANTED, [there, "this is in the way"])
    over = unreadable(page)
    assert over and all("this is in the way" in each for each in over)
    page.locator(".planted").evaluate("each => each.remove()")
    page.evaluate(PLANTED, [{"width": "2000px"}, "wide"])
    assert any(each.startswith("wider than the window") for each in unreadable(page))
    expect(page.locator(".planted")).to_have_count(1)
