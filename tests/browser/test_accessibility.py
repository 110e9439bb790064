"""axe-core finds nothing on any page: WCAG 2.2 A and AA, and what axe calls best practice.

Only contrast depends on the theme, so dark asks for that rule alone.
"""

import pytest
from playwright.sync_api import Page

from .conftest import ROOT, Open, Watch

AXE = (ROOT / "node_modules" / "axe-core" / "axe.min.js").read_text()
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
# What a picture with a name of its own is made of is not read, and would take axe a minute.
RUN = """async ([where, tags]) => {
  const context = { include: [where], exclude: ['.chart-picture > *'] };
  const { violations } = await axe.run(context, { resultTypes: ['violations'], runOnly: tags });
  return violations.flatMap(({ id, nodes }) => nodes.map(({ target, any, all, none }) =>
    `${id} at ${target.join(' ')}: ${(any[0] ?? all[0] ?? none[0])?.message}`));
}"""

PAGES = {
    "playground": ("/playground?lang=en#step=7", 1440, 900),
    "playground-narrow": ("/playground?lang=zh&example=in-place#step=6", 320, 800),
    "home": ("/?lang=en", 1440, 900),
    "lessons": ("/lessons?lang=en", 1440, 900),
    "lesson": ("/lessons/one-storage?lang=zh", 1280, 900),
    "embed": ("/embed/v1/examples.write-through?lang=en&step=7", 720, 420),
    "playground-graph": ("/playground?lang=zh&example=mlp#step=9", 1440, 900),
    "embed-narrow": ("/embed/v1/examples.views?lang=zh&step=3", 320, 560),
    "about": ("/about?lang=zh", 1280, 900),
    "security": ("/security?lang=en", 320, 800),
    "api": ("/api/docs?lang=en", 320, 900),
    "not-found": ("/nothing-here?lang=en", 1280, 900),
}


def violations(page: Page, where: str = "body") -> list[str]:
    """What axe has against a part of a page, light and dark, once that is there."""
    page.locator(where).first.wait_for()
    page.evaluate(AXE)
    found: list[str] = page.evaluate(RUN, [where if where != "body" else "html", TAGS])
    page.emulate_media(color_scheme="dark")
    found += [f"dark: {each}" for each in page.evaluate(RUN, [where, ["color-contrast"]])]
    page.emulate_media(color_scheme="light")
    return found


@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing(open_page: Open, watch: Watch, name: str) -> None:
    path, width, height = PAGES[name]
    watch.expected.append("/nothing-here")
    # The policy of our pages keeps a test's scripts out as well.
    page = open_page(path, width=width, height=height, bypass_csp=True)
    if name == "lesson":
        answer_a_question(page)
    assert violations(page) == []


def answer_a_question(page: Page) -> None:
    """One question of a lesson is then answered, half wrong, and the others are open."""
    question = page.locator(".question").first
    question.get_by_role("checkbox").first.check()
    question.locator("button.primary").click()
    question.locator(".question-answer").wait_for()


def test_axe_finds_nothing_in_what_opens(open_page: Open) -> None:
    page = open_page("/playground?lang=en#step=9", bypass_csp=True)
    page.get_by_role("button", name="Details").click()
    assert violations(page, ".outcome") == []
    page.keyboard.press("Escape")
    page.get_by_role("tab", name="Ops").click()
    page.get_by_role("button", name="Edit").click()
    assert violations(page, ".player-code") == []
    page.get_by_role("button", name="Strip").click()
    assert violations(page, ".memory .stage") == []
    page.get_by_role("button", name="List", exact=True).click()
    assert violations(page, ".graph") == []


SHEETS = {"t": ".text-sheet tbody tr", "a": ".analyse-sheet .main-svg", "?": "dialog table"}
"""Keys that open a sheet, and what is there once it is ready."""


def test_axe_finds_nothing_in_the_panels_of_a_page(open_page: Open) -> None:
    page = open_page("/playground?lang=en&example=mlp#step=9", bypass_csp=True)
    found: dict[str, list[str]] = {}
    body = page.locator(".changes-body")
    for lens in "vbwk":
        body.press(lens)
        found[lens] = violations(page, ".memory")
        body.press(lens)
    body.press("e")
    found["operations"] = violations(page, ".player-code")
    assert not {name: each for name, each in found.items() if each}


def test_axe_finds_nothing_in_the_sheets_of_a_page(open_page: Open) -> None:
    page = open_page("/playground?lang=zh&example=mlp#step=9", bypass_csp=True)
    found: dict[str, list[str]] = {}
    for key, ready in SHEETS.items():
        page.locator(".changes-body").press(key)
        page.locator(ready).first.wait_for(timeout=30_000)
        found[key] = violations(page, "dialog")
        page.keyboard.press("Escape")
        page.locator("dialog").wait_for(state="detached")
    page.locator(".share-button").click()
    page.locator("dialog").wait_for()
    found["share"] = violations(page, "dialog")
    assert not {name: each for name, each in found.items() if each}


def test_axe_finds_nothing_in_two_programs_side_by_side(open_page: Open) -> None:
    page = open_page("/playground?lang=en#step=9", bypass_csp=True)
    page.get_by_role("button", name="Compare", exact=True).click()
    assert violations(page, "dialog") == []
    fix = page.get_by_role("dialog").get_by_role("button", name="with a copy made before the write in place")
    fix.click()
    page.locator(".compare-slider[data-marked=all]").wait_for()
    assert violations(page, ".compare") == []


def test_axe_is_listened_to(open_page: Open) -> None:
    page = open_page("/about?lang=en", bypass_csp=True)
    page.evaluate("""() => document.querySelector('h1').insertAdjacentHTML('afterend',
      '<button></button><p style="color: #999; background: #aaa">pale</p>')""")
    found = " ".join(violations(page))
    assert "button-name" in found and "color-contrast" in found and "dark: color-contrast" in found
