"""The player in other people's pages: alone, and in a sandboxed frame of another origin."""

import http.server
import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import FrameLocator, Page, expect
from tensor_anatomy.lessons.catalog import load
from tensor_anatomy.web.export import page_of

from .conftest import ROOT, Open, Watch, visit

EMBED = "/embed/v1/examples.write-through?lang=en"

COURSE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>A course</title>
<link rel="icon" href="data:,"><h1>A course</h1>
<iframe id="plain" title="a program" width="720" height="420" src="{server}{embed}&amp;step=4"></iframe>
<iframe id="boxed" title="the same, boxed" width="720" height="420" sandbox="allow-scripts"
  src="{server}{embed}&amp;step=4&amp;autoheight=1&amp;id=boxed"></iframe>
<script>
  window.heights = [];
  addEventListener("message", event => {{
    if (event.data.type === "tensor-anatomy.resize") heights.push([event.data.id, event.data.height]);
  }});
</script>"""


@pytest.fixture
def course(server: str) -> Iterator[str]:
    """Address of a page on another port that embeds a player twice."""
    body = COURSE.format(server=server, embed=EMBED).encode()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as other:
        thread = threading.Thread(target=other.serve_forever)
        thread.start()
        yield f"http://localhost:{other.server_port}/"
        other.shutdown()
        thread.join()


def test_an_embed_steps_and_keeps_the_step_in_its_address(open_page: Open) -> None:
    page = open_page(f"{EMBED}&step=6", width=720, height=420)
    expect(page.locator(".position")).to_have_text("6 / 9")
    page.get_by_role("button", name="Next step").click()
    expect(page.locator(".position")).to_have_text("7 / 9")
    expect(page).to_have_url(re.compile("step=7"))
    page.get_by_role("button", name="Graph").click()
    expect(page.locator(".graph .chip-stale")).to_be_visible()


def test_an_embed_fits_its_frame(open_page: Open) -> None:
    page = open_page(f"{EMBED}&step=7", width=720, height=420)
    size = page.evaluate(
        "() => [document.documentElement.scrollWidth, document.documentElement.scrollHeight]"
    )
    assert size == [720, 420]
    cells = page.locator(".memory .place").first.locator(".cell")
    parts = [page.locator(".line.now .lamps"), cells.nth(0), cells.nth(11), page.locator("tr.chosen")]
    for part in [*parts, page.locator(".formula"), page.locator(".position"), page.locator("#open")]:
        expect(part).to_be_in_viewport(ratio=0.95)
    # Within the panel too, not only within the window.
    panel, formula = (page.locator(each).bounding_box() for each in (".memory-body", ".formula"))
    assert panel and formula and formula["y"] + formula["height"] <= panel["y"] + panel["height"] + 1


def test_an_embed_has_every_word_it_says(open_page: Open) -> None:
    for key in ("examples.write-through", "one-storage.copy-or-view"):
        page = open_page(f"/embed/v1/{key}?lang=en&step=1", width=720, height=420)
        steps = int(page.locator(".position").inner_text().split(" / ")[1])
        page.locator(".control-next").focus()
        for step in range(1, steps + 1):
            expect(page.locator(".position")).to_have_text(f"{step} / {steps}")
            assert ids(page) == set()
            page.keyboard.press("ArrowRight")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    assert ids(page) == set()


def ids(page: Page) -> set[str]:
    """Ids of messages that stand in a page because their words do not."""
    known = set(json.loads((ROOT / "app" / "messages" / "en.json").read_text()))
    page.evaluate("() => document.querySelector('#messages')?.remove()")
    return known.intersection(re.findall(r"[a-z]+(?:\.[\w-]+)+", page.content()))


def test_options_leave_out_what_is_not_wanted(open_page: Open) -> None:
    page = open_page(f"{EMBED}&code=0&controls=0&chrome=min&view=memory&theme=dark", width=720, height=420)
    expect(page.locator(".code")).to_have_count(0)
    expect(page.get_by_role("button", name="Next step")).to_have_count(0)
    expect(page.locator(".embed-title")).to_be_hidden()
    assert page.evaluate("() => getComputedStyle(document.body).backgroundColor") == "rgb(22, 27, 34)"


def test_a_program_in_the_address_is_run(open_page: Open) -> None:
    page = open_page("/about?lang=en")
    page.goto("/embed/v1/?lang=en#code=import%20torch%0Ax%20%3D%20torch.ones(2)%0Ax.add_(1)%0A&step=3")
    expect(page.locator(".position")).to_have_text("3 / 3")
    expect(page.locator(".line.now .line-source")).to_have_text("x.add_(1)")
    expect(page.locator("#open")).to_have_attribute(
        "href", re.compile(r"/playground\?lang=en#z=[\w-]+&step=3")
    )


def test_both_frames_of_another_origin_show_the_player(open_page: Open, watch: Watch, course: str) -> None:
    watch.allow_host(course)
    page = open_page("/about")
    page.goto(course)
    for name in ("plain", "boxed"):
        frame: FrameLocator = page.frame_locator(f"#{name}")
        expect(frame.locator(".position")).to_have_text("4 / 9")
        frame.get_by_role("button", name="Next step").click()
        expect(frame.locator(".position")).to_have_text("5 / 9")
        expect(frame.locator(".line.now .line-source")).to_have_text(
            "w = torch.ones(4, 2, requires_grad=True)"
        )
    page.wait_for_function("() => window.heights.some(([id, height]) => id === 'boxed' && height > 420)")
    # The page around may set the step, nobody else.
    page.evaluate("""() => document.getElementById('boxed').contentWindow.postMessage(
        {type: 'tensor-anatomy.set', step: 2}, '*')""")
    expect(page.frame_locator("#boxed").locator(".position")).to_have_text("2 / 9")


def test_an_embed_brings_the_tools_of_the_playground_when_it_is_asked_to(open_page: Open) -> None:
    page = open_page("/about", width=720, height=420)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    visit(page, f"{EMBED}&step=7")
    more = page.get_by_role("button", name="More:")
    expect(more).to_be_visible()
    assert not [url for url in asked if "more." in url or "/words/" in url]

    more.click()
    expect(page.locator(".life-opener")).to_be_focused()
    expect(more).to_have_count(0)
    for name in ("Tensor", "Bytes", "What if", "Kept by"):
        page.get_by_role("button", name=name, exact=True).click()
        expect(page.locator(".lens")).to_be_visible()
        assert ids(page) == set()
    page.get_by_role("button", name="Graph").click()
    page.locator(".node button").first.click()
    expect(page.locator(".node-details")).to_contain_text("next_functions")
    page.locator(".code-body").focus()
    page.keyboard.press("e")
    expect(page.locator(".ladder:visible")).to_have_count(1)
    page.keyboard.press("t")
    expect(page.get_by_role("dialog").locator("tbody tr")).to_have_count(9)
    assert ids(page) == set()
    size = page.evaluate(
        "() => [document.documentElement.scrollWidth, document.documentElement.scrollHeight]"
    )
    assert size == [720, 420]


def test_a_key_of_a_tool_brings_it_in_a_sandboxed_frame(open_page: Open, watch: Watch, course: str) -> None:
    watch.allow_host(course)
    page = open_page("/about")
    page.goto(course)
    frame = page.frame_locator("#boxed")
    frame.locator(".code-body").focus()
    page.keyboard.press("b")
    expect(frame.locator(".lens[data-lens=bytes]")).to_contain_text("lowest address first")
    expect(frame.locator(".lens .byte-box")).not_to_have_count(0)


def test_what_did_not_come_may_be_asked_for_again(open_page: Open, watch: Watch) -> None:
    watch.expected.append("ERR_FAILED")
    page = open_page("/about", own=True, width=720, height=420)
    page.route("**/dist/more.js*", lambda route: route.abort())
    visit(page, EMBED)
    page.get_by_role("button", name="More:").click()
    again = page.get_by_role("button", name="Try again")
    expect(again).to_be_visible()
    page.unroute("**/dist/more.js*")
    again.click()
    expect(page.locator(".lens-buttons")).to_be_visible()


def test_an_exported_file_has_the_tools_inside(open_page: Open, watch: Watch, tmp_path: Path) -> None:
    catalog = load()
    program = catalog.program("one-storage.slice")
    assert program
    out = tmp_path / "out.html"
    out.write_text(page_of(catalog.recordings.read(program), "a slice", "en"), encoding="utf-8")
    page = open_page("/about", width=720, height=420)
    watch.allow_host(out.as_uri())
    page.goto(out.as_uri())
    page.get_by_role("button", name="More:").click()
    page.get_by_role("button", name="Bytes").click()
    expect(page.locator(".lens .byte-box")).not_to_have_count(0)
    assert not re.findall(r"\bui\.[a-z]+\.[\w-]+", page.locator("body").inner_text())
