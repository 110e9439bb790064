"""The playground elsewhere: longer words, walls of pixels, fingers, paper, forced colours, the keyboard."""

import re

from playwright.sync_api import Page, expect

from .conftest import Open
from .test_layout import CUT_OFF, SIDEWAYS

PAGE = "/playground?lang=en#step=7"

# Every word of a control or a heading becomes 1.4 times as long, as a translation may be.
LONGER = """() => {
  const walker = (root) => document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  for (const each of document.querySelectorAll('button, .card h2, .sheet label span, th, .site-nav a')) {
    if (each.closest('.code, .graph .viewport, .memory tbody, .tensor-name')) continue;
    for (let texts = walker(each), node = texts.nextNode(); node !== null; node = texts.nextNode()) {
      const more = Math.ceil(node.data.trim().length * 0.4);
      if (more > 0 && !node.parentElement.closest('code')) node.data += 'n'.repeat(more);
    }
  }
}"""

SMALL = """least => [...document.querySelectorAll('button, select, input, summary, [role=tab]')]
  .filter(each => each.checkVisibility() && !each.closest('.viewport, .place-head'))
  .map(each => [each, each.getBoundingClientRect()])
  .filter(([, { width, height }]) => width > 0 && height < least - 0.1)
  .map(([each, { height }]) => `${each.className || each.tagName} ${height}: ${each.textContent.trim()}`)"""

STOPS = """() => {
  const here = document.activeElement;
  return here === document.body || here === null ? null : here.className || here.id || here.tagName;
}"""


def test_words_may_be_longer_by_two_fifths(open_page: Open) -> None:
    page = open_page(PAGE)
    page.evaluate(LONGER)
    assert page.evaluate(CUT_OFF) == []
    page.set_viewport_size({"width": 320, "height": 800})
    assert page.evaluate(SIDEWAYS) == []
    assert page.evaluate(CUT_OFF) == []


def size_of(page: Page, selector: str) -> float:
    size: float = page.locator(selector).first.evaluate("each => parseFloat(getComputedStyle(each).fontSize)")
    return size


def test_a_wall_of_pixels_has_larger_type_and_no_line_too_long_to_read(open_page: Open) -> None:
    page = open_page(PAGE, width=3840, height=2160)
    assert page.evaluate(
        "() => [document.documentElement.scrollWidth, document.documentElement.scrollHeight]"
    ) == [
        3840,
        2160,
    ]
    assert size_of(page, ".change p") >= 16 and size_of(page, ".line-source") >= 18
    line = page.locator(".change p").first.bounding_box()
    assert line is not None and line["width"] / size_of(page, ".change p") < 60
    page.goto("/about?lang=en")
    assert page.locator("main p").first.bounding_box()["width"] < 1500


def test_fingers_find_every_control_and_tap_what_a_mouse_hovers(open_page: Open) -> None:
    page = open_page(PAGE, width=390, height=844, has_touch=True, is_mobile=True)
    assert page.evaluate(SMALL, 28) == []
    content = page.locator("meta[name=viewport]").get_attribute("content")
    assert "user-scalable" not in content and "maximum-scale" not in content
    cell = page.get_by_role("gridcell").nth(6)
    cell.tap()
    expect(page.locator(".formula")).to_have_attribute("aria-label", re.compile(r"= S1\[6\]"))


def test_nothing_is_for_a_mouse_alone(open_page: Open) -> None:
    page = open_page(PAGE, width=390, height=844, has_touch=True, is_mobile=True)
    page.locator(".control-next").tap()
    expect(page.locator(".position")).to_have_text("Step 8 of 9")
    page.locator(".line-number").nth(5).tap()
    expect(page.locator(".position")).to_have_text("Step 6 of 9")
    # What a hover would show, a tap shows: the readout of a cell, and the details of a node.
    page.get_by_role("gridcell").nth(5).tap()
    expect(page.locator(".where .readout-title")).to_contain_text("live?")
    node = page.locator(".graph .node-title").first
    node.scroll_into_view_if_needed()
    node.tap()
    expect(page.locator(".node-details")).to_be_visible()
    # One finger over the timeline and the code scrolls the page: nothing takes that from it.
    taken = page.locator(".code-body, .memory .stage, .changes-body").evaluate_all(
        "all => all.map(each => getComputedStyle(each).touchAction).filter(each => each === 'none')"
    )
    assert taken == []


def test_paper_shows_the_step_on_white_and_nothing_to_press(open_page: Open) -> None:
    page = open_page(PAGE, width=794, height=1123, theme="dark")
    page.emulate_media(media="print")
    assert page.evaluate("() => getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    for shown in (".line.now", ".changes", ".memory .grid", ".timeline-picture"):
        expect(page.locator(shown).first).to_be_visible()
    for hidden in (".controls", ".run-button", ".language-switch", ".tabs"):
        expect(page.locator(hidden).first).to_be_hidden()
    for whole in (".code-body", ".changes-body"):
        assert page.locator(whole).evaluate("each => each.scrollHeight <= each.clientHeight + 1")


def test_forced_colours_mark_by_borders_what_grounds_marked(open_page: Open) -> None:
    page = open_page(PAGE)
    page.emulate_media(forced_colors="active")
    now = page.locator(".line.now").evaluate("each => getComputedStyle(each).outlineStyle")
    assert now == "solid"
    pressed = page.locator(".segments button[aria-pressed=true]").first
    assert pressed.evaluate("each => parseFloat(getComputedStyle(each).borderTopWidth)") == 2
    assert page.locator(".lamp-data").first.evaluate("each => getComputedStyle(each).fill") != "rgb(0, 0, 0)"


def test_forced_colours_lose_no_mark(open_page: Open) -> None:
    page = open_page(PAGE)
    page.emulate_media(forced_colors="active")
    page.locator(".control-next").evaluate("each => each.focus({ focusVisible: true })")
    outline = page.locator(".control-next").evaluate("each => getComputedStyle(each).outlineStyle")
    assert outline == "solid"
    for edge in (".card", ".control-next", ".edit-button", ".share-button"):
        width = page.locator(edge).first.evaluate("each => parseFloat(getComputedStyle(each).borderTopWidth)")
        assert width >= 1, edge
    # Coverage bars, views and layers are told by colour and shape: they keep theirs.
    kept = page.locator(".lamp, .memory .cell, .swatch").evaluate_all(
        "all => all.map(each => getComputedStyle(each).forcedColorAdjust).filter(each => each !== 'none')"
    )
    assert kept == []


def test_the_keyboard_goes_over_the_page_from_top_to_bottom_and_is_never_lost(open_page: Open) -> None:
    page = open_page(PAGE)
    page.keyboard.press("Tab")
    expect(page.locator(".skip-link")).to_be_focused()
    stops: list[str] = []
    for _ in range(70):
        page.keyboard.press("Tab")
        stop = page.evaluate(STOPS)
        if stop is None:
            break
        stops.append(stop)
    parts = [
        "brand",
        "theme-button",
        "run-button",
        "line-number",
        "changes-body",
        "cell",
        "node-title",
        "control-first",
    ]
    places = [next(i for i, stop in enumerate(stops) if part in stop) for part in parts]
    assert places == sorted(places)

    page.locator(".skip-link").focus()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    expect(page).to_have_url(re.compile("step=7"))  # the place in the run is kept
    expect(page.locator(".position")).to_have_text("Step 7 of 9")
    # A step, a panel or a sheet leaves the focus where it was.
    held = page.get_by_role("tab", name="Changes")
    held.focus()
    for key in ("End", "1", "e"):
        page.keyboard.press(key)
    for key in ("t", "?"):
        page.keyboard.press(key)
        page.locator("dialog").wait_for()
        page.keyboard.press("Escape")
        page.locator("dialog").wait_for(state="detached")
    expect(held).to_be_focused()
