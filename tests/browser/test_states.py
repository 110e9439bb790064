"""First visit, waiting, trouble, no connection, no scripts: what a reader is told and can do."""

import json
import re
from urllib.parse import quote

from playwright.sync_api import Page, Route, expect

from .conftest import Open, Watch, run

SMALL = "import torch\nx = torch.ones(2)\n"
SLEEPY = "import time\nwhile True:\n    time.sleep(0.01)\n"
STOPS = 7


def card(page: Page):
    return page.locator(".guide-card")


def test_the_guided_minute_is_offered_once_goes_over_real_things_and_gives_the_focus_back(
    open_page: Open,
) -> None:
    page = open_page("/playground?lang=en#step=7", first_visit=True)
    offer = page.get_by_role("complementary", name="A guided minute")
    offer.get_by_role("button", name="Show me").click()
    expect(offer).to_have_count(0)
    before = page.locator(".player-memory").bounding_box()

    titles = []
    for stop in range(STOPS):
        expect(page.locator(".guide-count")).to_have_text(f"{stop + 1} of {STOPS}")
        titles.append(page.locator(".guide-card h2").inner_text())
        assert page.evaluate("() => document.activeElement.id") == "guide-title"
        assert covers_nothing(page) is True
        if stop == 1:
            page.keyboard.press("ArrowRight")
            expect(page.locator(".position")).to_have_text("Step 8 of 9")
            expect(page.locator(".guide-count")).to_have_text("✓ That is it")
        page.get_by_role("button", name="Next" if stop < STOPS - 1 else "Done", exact=True).click()
    assert len(set(titles)) == STOPS
    expect(card(page)).to_have_count(0)
    assert page.evaluate("() => document.activeElement.closest('.line.now') !== null")
    assert page.locator(".player-memory").bounding_box() == before
    page.reload()
    expect(page.locator(".player.loaded")).to_be_visible()
    expect(offer).to_have_count(0)

    page.keyboard.press("?")
    page.get_by_role("dialog").get_by_role("button", name="Guided minute").click()
    expect(card(page)).to_be_visible()
    page.keyboard.press("Escape")
    expect(card(page)).to_have_count(0)


def covers_nothing(page: Page) -> bool:
    """The words hide none of what they are about, and are all in the window."""
    return bool(
        page.evaluate("""() => {
          const box = (name) => document.querySelector(name).getBoundingClientRect();
          const [ring, words] = [box(".guide-ring"), box(".guide-card")];
          const beside = ring.right <= words.left || words.right <= ring.left;
          const above = ring.bottom <= words.top || words.bottom <= ring.top;
          const across = words.left >= 0 && words.right <= innerWidth;
          const down = words.top >= 0 && words.bottom <= innerHeight;
          return (beside || above || ring.height > innerHeight / 2) && across && down;
        }""")
    )


def test_on_a_phone_what_is_talked_about_is_seen_above_the_words(open_page: Open) -> None:
    page = open_page("/playground?lang=zh#step=7", width=390, height=844, first_visit=True)
    page.get_by_role("button", name="开始导览").click()
    for stop in range(STOPS):
        ring, words = page.locator(".guide-ring").bounding_box(), card(page).bounding_box()
        assert ring is not None and words is not None
        assert ring["y"] < words["y"] - 20, stop
        assert page.evaluate("() => document.documentElement.scrollWidth") <= 390
        page.locator(".guide-card .primary").click()


def test_who_says_no_is_not_asked_again(open_page: Open) -> None:
    page = open_page("/playground?lang=en", first_visit=True)
    page.get_by_role("button", name="No, thanks").click()
    page.reload()
    expect(page.locator(".player.loaded")).to_be_visible()
    expect(page.locator(".guide-offer")).to_have_count(0)


def test_a_busy_server_says_when_and_it_is_tried_again_by_itself(open_page: Open, watch: Watch) -> None:
    watch.expected.append("429")
    page = open_page("/playground?lang=en", own=True)
    page.clock.install()
    refused = {"left": 1}

    def busy(route: Route) -> None:
        if refused["left"] == 0:
            route.continue_()
            return
        refused["left"] -= 1
        body = json.dumps({"code": "busy", "message": "Every sandbox is busy."})
        route.fulfill(status=429, body=body, headers={"Retry-After": "4", "Content-Type": "application/json"})

    page.route("**/api/trace*", busy)
    run(page, SMALL)

    expect(page.get_by_role("alert")).to_contain_text("Every sandbox is busy. Try again in 4 seconds")
    expect(page.get_by_role("button", name="Try again (4 s)")).to_be_visible()
    page.clock.run_for(2100)
    expect(page.get_by_role("button", name="Try again (2 s)")).to_be_visible()
    page.clock.run_for(2000)
    page.clock.resume()
    expect(page.locator(".position")).to_have_text("Step 2 of 2")
    expect(page.locator(".notice.problem")).to_be_hidden()


def test_without_a_connection_steps_still_work_and_the_run_comes_when_it_is_back(
    open_page: Open, watch: Watch
) -> None:
    watch.expected.append("ERR_INTERNET_DISCONNECTED")
    page = open_page("/playground?lang=en", own=True)
    page.get_by_role("button", name="Edit").click()  # what it needs is loaded
    expect(page.get_by_label("Program to run")).to_be_visible()
    page.context.set_offline(True)

    expect(page.locator(".offline-badge")).to_have_text("offline")
    run(page, SMALL)
    expect(page.get_by_role("alert")).to_contain_text("You are offline. What is loaded still works")
    page.get_by_role("button", name="Previous step").click()
    expect(page.locator(".position")).to_have_text("Step 8 of 9")
    page.context.set_offline(False)

    expect(page.locator(".position")).to_have_text("Step 2 of 2")
    expect(page.locator(".offline-badge")).to_be_hidden()


def test_the_first_run_of_a_page_shows_where_it_will_stand_and_how_far_it_is(open_page: Open) -> None:
    page = open_page("/about")
    page.goto(f"/playground?lang=en#code={quote(SLEEPY)}")
    expect(page.locator(".skeleton-words")).to_have_text(re.compile(r"Running, [12] s….*line [23]"))
    expect(page.get_by_label("Program to run")).to_be_visible()
    expect(page.locator(".position")).to_be_visible()
    expect(page.locator(".skeleton")).to_have_count(0)


def test_the_fix_stands_one_press_away_from_the_error(open_page: Open) -> None:
    page = open_page("/playground?lang=en")
    page.get_by_role("button", name="Compare with the fix").click()
    expect(page.locator(".compare-summary-text")).to_contain_text("the right runs to its end")
    assert (
        page.locator(".compare-side[data-side=right] .line-alone .line-source").inner_text()
        == "z = z.clone()"
    )


def test_without_scripts_every_example_is_a_page_to_read(open_page: Open) -> None:
    page = open_page("/playground?lang=en", scripts=False)
    links = page.locator("noscript li a")
    titles = links.all_inner_texts()
    assert len(titles) >= 6
    seen = set()
    for title in titles[::2]:
        page.get_by_role("link", name=title, exact=True).click()
        code = "\n".join(page.locator(".static-code code").all_inner_texts())
        assert code.startswith("import torch")
        seen.add(code)
    assert len(seen) == len(titles[::2])
