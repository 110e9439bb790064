"""Text that cannot be read: cut off with no way to the rest, or under other text; looked for in the browser.

Cut off: a line of text reaches out of a box that hides what reaches out, and neither a tooltip nor scrolling
brings it back. Over one another: two lines of text whose middles cross, where neither stands on a ground of
its own above the other. What is wider than the window is told as well.
"""

from pathlib import Path

from playwright.sync_api import Page

_FINDER = Path(__file__).with_name("reading.js").read_text("utf-8").partition("\n")[2].strip()

# What a picture is made of is panned, zoomed or listed, and says all of its words elsewhere.
_PICTURES = (".graph .viewport", ".compiled-picture", ".chart-picture", ".main-svg")

# Cut off by choice: the same words stand in full in another place of the page.
_ELSEWHERE = {
    ".skip-link": "comes into sight when it has the focus",
    ".hints": "the keys, all of which are on the sheet of keys",
    ".timeline-label": "a line of the code, which stands above in full",
}


def unreadable(page: Page) -> list[str]:
    """Text of the page, or of the sheet that is open, that a reader cannot read."""
    found: list[str] = page.evaluate(_FINDER, [", ".join(_PICTURES), ", ".join(_ELSEWHERE)])
    return found
