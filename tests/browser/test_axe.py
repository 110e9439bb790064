"""axe-core over every page and everything that opens, in both themes and both languages: zero violations.

`test_accessibility` has what is quick. Left out is what others draw: the inside of plotly's own charts,
whose words a table beside them has.
"""

import pytest

from .conftest import Open, Watch, visit
from .scenes import EVERYWHERE
from .test_accessibility import AXE, RUN, TAGS


@pytest.mark.slow
@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("name", EVERYWHERE)
def test_axe_finds_nothing_anywhere(open_page: Open, watch: Watch, name: str, language: str) -> None:
    scene = EVERYWHERE[name]
    watch.expected += scene.faults
    page = open_page("/about", bypass_csp=True, first_visit=scene.first_visit)
    visit(page, scene.address(language))
    scene.play(page)
    page.evaluate(AXE)
    where = "dialog" if page.locator("dialog[open]").count() else "html"
    found: dict[str, list[str]] = {}
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        # Only contrast follows from the theme.
        rules = TAGS if theme == "light" else ["color-contrast"]
        if violations := page.evaluate(RUN, [where, rules]):
            found[theme] = violations
    assert found == {}
