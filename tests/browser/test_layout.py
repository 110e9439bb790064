"""Nothing scrolls sideways, nothing moves when stepping, nothing is cut off, nothing animates unasked."""

import re

import pytest
from playwright.sync_api import Page, expect

from .conftest import SHOWN, Open, Watch, visit
from .test_pages import PAGES

# Place and size of every box of a kind, in tenths of a pixel.
BOXES = """selectors => {
  const found = {};
  for (const selector of selectors) {
    [...document.querySelectorAll(selector)].forEach((each, i) => {
      const { x, y, width, height } = each.getBoundingClientRect();
      found[`${selector} ${i}`] = [x, y, width, height].map(n => Math.round(n * 10) / 10).join(' ');
    });
  }
  return found;
}"""
CODE = [".line", ".line-source", ".changes-panel", ".tabs button"]
MEMORY = ["div.lane", "div.lane .place", ".memory .grid .cell"]
DETAIL = [".memory .lane", ".memory .place", ".memory .detail", ".memory .where", ".memory .facts"]
GRAPH = [".graph .node", ".graph .edges", ".graph .chip"]
STEPS = [".controls button", ".position", ".timeline-name", ".timeline-label", ".timeline-picture"]
FRAME = [".card", ".card > header", ".outcome"]
# The detail of a small picture is as high as what it shows: it is the last thing there.
SMALL = [*FRAME, ".code-body", ".changes-panel", *MEMORY, *STEPS]

# Controls whose words are wider or higher than they are. An ellipsis is a choice where code is long.
CUT_OFF = """() => [...document.querySelectorAll('button, .button, .site-nav a, .language-switch a, kbd')]
  .filter(each => each.checkVisibility() && each.textContent.trim() !== '')
  .filter(each => !each.matches('.node-title, .chip, .line-number, .detail tbody button'))
  .filter(each => each.scrollWidth > each.clientWidth + 1 || each.scrollHeight > each.clientHeight + 2
    && getComputedStyle(each).overflow !== 'visible')
  .map(each => `${each.className || each.tagName}: ${each.textContent.trim()}`)"""

SIDEWAYS = """() => document.documentElement.scrollWidth <= innerWidth ? [] :
  [...document.querySelectorAll('body *')]
    .filter(each => each.getBoundingClientRect().right > innerWidth + 0.5)
    .map(each => `${each.tagName}.${each.className}`).slice(0, 5)"""


def moved(before: dict[str, str], now: dict[str, str]) -> list[str]:
    """Boxes of both that are not where they were."""
    return [f"{key}: {before[key]} → {now[key]}" for key in before if key in now and before[key] != now[key]]


@pytest.mark.parametrize("example", ["write-through", "views", "in-place", "mlp"])
def test_nothing_moves_when_stepping(open_page: Open, example: str) -> None:
    page = open_page(f"/playground?lang=en&example={example}#step=1")
    steps = int(page.locator(".position").inner_text().split(" of ")[1])
    # A graph larger than its window is brought to the node a step makes; in the picture nothing moves.
    stays = [*FRAME, *CODE, *MEMORY, *DETAIL, *STEPS, *([] if example == "mlp" else GRAPH)]
    in_picture = (
        "() => [...document.querySelectorAll('.node')].map(node => [node.offsetLeft, node.offsetTop])"
    )
    before, nodes = page.evaluate(BOXES, stays), page.evaluate(in_picture)
    assert any(key.startswith("div.lane .place") for key in before)
    for step in range(2, steps + 1):
        page.keyboard.press("ArrowRight")
        expect(page.locator(".position")).to_have_text(f"Step {step} of {steps}")
        now = page.evaluate(BOXES, stays)
        assert moved(before, now) == [], f"at step {step}"
        assert page.evaluate(in_picture) == nodes
        before |= now
    page.keyboard.press("Home")
    assert moved(before, page.evaluate(BOXES, stays)) == []


def test_nothing_moves_in_an_embed(open_page: Open) -> None:
    page = open_page("/embed/v1/examples.write-through?lang=en&step=1", width=720, height=420)
    before = page.evaluate(BOXES, SMALL)
    for step in range(2, 10):
        page.locator(".control-next").click()
        expect(page.locator(".position")).to_have_text(f"{step} / 9")
        assert moved(before, page.evaluate(BOXES, SMALL)) == [], f"at step {step}"


def test_nothing_moves_in_a_lesson(open_page: Open) -> None:
    page = open_page("/lessons/one-storage?lang=en", width=1280)
    page.locator("#question-who-sees-zeros").get_by_role("button", name="Skip").click()
    figure = page.locator("trace-player").nth(3)
    expect(figure.locator(".position")).to_have_text("7 / 7")
    figure.locator(".controls").scroll_into_view_if_needed()
    before = page.evaluate(BOXES, SMALL)
    for step in range(6, 0, -1):
        figure.locator(".control-previous").click()
        expect(figure.locator(".position")).to_have_text(f"{step} / 7")
        assert moved(before, page.evaluate(BOXES, SMALL)) == [], f"at step {step}"


def test_the_playground_fills_the_window_and_scrolls_before_figures_shrink(open_page: Open) -> None:
    page = open_page("/playground?lang=en#step=7")
    for width, height in [(1440, 900), (1280, 800)]:
        page.set_viewport_size({"width": width, "height": height})
        page.reload()
        page.wait_for_function(SHOWN)
        size = page.evaluate(
            "() => [document.documentElement.scrollWidth, document.documentElement.scrollHeight]"
        )
        if height < 880:
            assert size[0] == width
            # The figures are as high as in a window that is just high enough, and the way on is in sight.
            figures = page.locator(".player-main").bounding_box()
            assert figures is not None and figures["height"] == 540
            expect(page.locator(".timeline-bar, .player-timeline button").first).to_be_in_viewport()
            continue
        assert size == [width, height]
        shown = (
            ".line.now",
            ".changes",
            ".memory .grid",
            ".formula",
            ".graph .viewport",
            ".timeline-picture",
        )
        for seen in shown:
            expect(page.locator(seen).first).to_be_in_viewport(ratio=0.9)
    page.set_viewport_size({"width": 1440, "height": 900})
    code = page.locator(".player-code").bounding_box()
    timeline = page.locator(".player-timeline").bounding_box()
    assert code and 440 <= code["width"] <= 480
    assert timeline and 200 <= timeline["height"] <= 230


@pytest.mark.parametrize("language", ["en", "zh"])
def test_pages_fit_narrow_windows_and_cut_no_words_off(open_page: Open, watch: Watch, language: str) -> None:
    watch.expected.append("/nothing-here")
    page = open_page("/about", width=320, height=700)
    faults: dict[str, list[str]] = {}
    for name, path in PAGES.items():
        visit(page, f"{path}?lang={language}")
        found = page.evaluate(SIDEWAYS) + page.evaluate(CUT_OFF)
        page.set_viewport_size(
            {"width": 720, "height": 420} if name == "embed" else {"width": 1440, "height": 900}
        )
        found += page.evaluate(CUT_OFF)
        page.set_viewport_size({"width": 320, "height": 700})
        if found:
            faults[name] = found
    assert not faults, faults


def test_the_finder_of_cut_off_words_finds_them(open_page: Open) -> None:
    page = open_page("/about?lang=en")
    page.evaluate("""() => {
      const button = document.createElement('button');
      button.className = 'small-button';
      button.textContent = 'far too many words';
      button.style.setProperty('width', '40px');
      document.querySelector('main').append(button);
    }""")
    assert page.evaluate(CUT_OFF) == ["small-button: far too many words"]


def animations(page: Page) -> int:
    """Animations that a step has started."""
    page.keyboard.press("ArrowRight")
    expect(page.locator(".position")).to_have_text(re.compile("Step 7"))
    running: int = page.evaluate("() => document.getAnimations().length")
    return running


def test_a_step_moves_only_for_who_has_not_asked_for_stillness(open_page: Open) -> None:
    assert animations(open_page("/playground?lang=en#step=6", still=False)) > 0
    assert animations(open_page("/playground?lang=en#step=6", still=True)) == 0


def test_nothing_starts_to_play_by_itself(open_page: Open) -> None:
    page = open_page("/playground?lang=en#step=3", still=False, own=True)
    page.clock.install()
    page.clock.run_for(5000)
    expect(page.locator(".position")).to_have_text("Step 3 of 9")
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()
