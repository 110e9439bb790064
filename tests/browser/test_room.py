"""Everything that is said can be read where it is said: nothing is cut, covered or out of sight."""

import pytest
from playwright.sync_api import Page, expect

from .conftest import Open, run

IN_PLACE = (
    "import torch\nw = torch.ones(3, requires_grad=True)\ny = w.exp()\ns = y.sum()\ny.add_(1)\ns.backward()\n"
)
LARGE = (
    "import torch\nimage = torch.zeros(64, 3, 32, 32)\nlast = image.permute(0, 2, 3, 1)\n"
    "flat = torch.zeros(4096, 1024)\nt = flat[:5].t()\n"
)
MANY = (
    "import torch\na = torch.arange(12.).reshape(3, 4)\nb = a.t()\nc = b[1:]\nd = a[::2]\n"
    "e = a[0]\nf = a[1]\ng = a[2]\nh = a[:, 1:]\n"
)

# What stands outside of an element that clips it, or is wider than it.
CUT = """selectors => {
  const [inner, outer] = selectors;
  const frame = document.querySelector(outer).getBoundingClientRect();
  return [...document.querySelectorAll(inner)].filter(each => {
    const box = each.getBoundingClientRect();
    return box.width > 0 && (box.left < frame.left - 0.5 || box.right > frame.right + 0.5
      || each.scrollWidth > each.clientWidth + 1 && getComputedStyle(each).overflow !== 'visible');
  }).map(each => each.textContent);
}"""
SEEN = """selectors => {
  const [inner, outer] = selectors.map(each => document.querySelector(each).getBoundingClientRect());
  return inner.top >= outer.top && inner.bottom <= outer.bottom + 0.5;
}"""
COVERED = """() => {
  const box = document.querySelector('.guide-offer').getBoundingClientRect();
  return [...document.querySelectorAll('a, button, select, input, textarea, [tabindex="0"]')]
    .filter(each => each.checkVisibility() && each.closest('.guide-offer') === null)
    .filter(each => [...each.getClientRects()].some(({ left, right, top, bottom }) =>
      right > left && left < box.right && right > box.left && top < box.bottom && bottom > box.top))
    .map(each => each.outerHTML.slice(0, 80));
}"""


def ran(open_page: Open, program: str, **options: int) -> Page:
    page = open_page("/playground?lang=en", **options)
    run(page, program)
    expect(page.locator(".run-status")).to_contain_text("same untraced")
    return page


def test_shapes_and_sums_of_any_length_can_be_read_whole(open_page: Open) -> None:
    page = ran(open_page, LARGE)
    for step in (5, 3, 2):
        while not page.locator(".position").inner_text().startswith(f"Step {step}"):
            page.keyboard.press("ArrowLeft")
        assert page.evaluate(CUT, [".memory .views th, .memory .views td", ".memory .views"]) == []
        assert page.evaluate(CUT, [".memory .term", ".memory .formula"]) == []
        assert page.evaluate(SEEN, [".memory .term-cell", ".memory .formula"])
    expect(page.locator(".memory .formula")).to_have_attribute(
        "aria-label", "S1[0 + 63·3072 + 2·1024 + 31·32 + 31·1] = S1[196607]"
    )


def test_of_more_tensors_than_rows_the_one_looked_at_is_in_sight(open_page: Open) -> None:
    page = ran(open_page, MANY)
    chosen = ".memory .views tr.chosen"
    expect(page.locator(chosen)).to_contain_text("h")
    assert page.evaluate(SEEN, [chosen, ".memory .views"])
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    assert page.evaluate(SEEN, [chosen, ".memory .views"])


def test_with_an_error_above_it_the_place_of_an_element_is_in_sight(open_page: Open) -> None:
    page = ran(open_page, IN_PLACE)
    expect(page.locator(".outcome")).to_be_visible()
    assert page.evaluate(SEEN, [".memory .facts", ".memory .detail"])
    # On paper nothing is out of sight: what would be drawn when scrolled to is drawn.
    page.emulate_media(media="print")
    drawn = page.locator(".graph .node").evaluate_all(
        "all => all.map(n => getComputedStyle(n).contentVisibility)"
    )
    assert set(drawn) == {"visible"}


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (1366, 768), (1280, 800), (320, 568)])
def test_the_header_says_how_a_run_went_to_its_last_word(open_page: Open, width: int, height: int) -> None:
    page = ran(open_page, "import torch\nx = torch.ones(2, device='cuda')\n", width=width, height=height)
    last = page.locator(".run-status > span").last
    expect(last).to_have_text("same untraced")
    assert page.evaluate(CUT, [".run-status > span, .run-status", ".site-header"]) == []
    words, header = page.locator(".run-status").bounding_box(), page.locator(".site-header").bounding_box()
    assert words and header and header["y"] <= words["y"]
    assert words["y"] + words["height"] <= header["y"] + header["height"]


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (1024, 768), (390, 844), (320, 568)])
def test_the_offer_of_a_guided_minute_covers_nothing(open_page: Open, width: int, height: int) -> None:
    page = open_page("/playground?lang=en&example=in-place", width=width, height=height, first_visit=True)
    expect(page.locator(".guide-offer")).to_be_visible()
    assert page.evaluate(COVERED) == []
    if width != 1440:
        return
    page.get_by_role("button", name="Show me").click()
    ring, word = (
        page.locator(".guide-ring").bounding_box(),
        page.locator(".line.now .line-fault").bounding_box(),
    )
    assert ring and word and word["x"] + word["width"] <= ring["x"] + 6, "the padding of the word is free"


def test_lit_code_out_of_sight_is_told_of_at_the_edge_and_the_code_stays(open_page: Open) -> None:
    between = "".join(f"x{i} = torch.zeros(2)\n" for i in range(25))
    page = ran(open_page, f"import torch\na = torch.arange(4.)\n{between}b = a[1:]\n")
    body = page.locator(".code-body")
    before = body.evaluate("body => body.scrollTop")
    page.locator(".memory .place .cell").nth(1).hover()
    mark = page.locator(".code-edge-above button")
    expect(mark).to_have_text("↑ line 2")
    assert body.evaluate("body => body.scrollTop") == before > 0
    mark.press("Enter")
    expect(mark).to_be_hidden()
    expect(page.locator(".code-edge-below button")).to_have_text("↓ line 28")
    assert page.evaluate(SEEN, [".line[data-line='2']", ".code-body"])
    page.locator(".memory .place .cell").nth(2).hover()
    expect(mark).to_be_hidden()
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".code-edge button").last).to_be_hidden()
    assert page.evaluate(SEEN, [".line.now", ".code-body"])
