"""Charts on demand: drawn under the page's policy, in its colours, with tables; without them, the tables."""

import re

from playwright.sync_api import Page, expect

from .conftest import Open, Watch

DRAWN = ".analyse-sheet .chart-picture .main-svg"
BARS = (
    """() => document.querySelectorAll('.analyse-values .chart')[0].querySelectorAll('.bars .point').length"""
)
GROUND = "() => document.querySelector('.chart-wide .main-svg').style.background"


def open_charts(page: Page) -> None:
    page.locator(".changes-body").press("a")
    page.locator(DRAWN).first.wait_for(timeout=30_000)


def test_charts_come_on_demand_with_tables_zoom_and_png(open_page: Open) -> None:
    asked: list[str] = []
    page = open_page("/playground?lang=en&example=mlp#step=9", own=True)
    page.on("request", lambda request: asked.append(request.url))
    open_charts(page)  # a violation of the policy would stand in the console, which fails the test
    assert sum("plotly.min.js" in url for url in asked) == 1
    sheet = page.get_by_role("dialog", name="Charts of this run")
    expect(sheet.locator(".chart-picture[role=img]")).to_have_count(6)
    memory = sheet.get_by_role("region", name="Memory in use on cpu", exact=True).first
    expect(memory).to_contain_text("At most 3,384 B, at step 9; 2,020 B after the last of 10 steps.")

    memory.get_by_text("As a table").click()
    expect(memory.get_by_role("columnheader").first).to_have_text("Step")
    expect(memory.locator("tbody tr").nth(8)).to_contain_text("3,384 B")

    ticks = memory.locator(".xtick text")
    expect(ticks).to_have_count(10)
    memory.get_by_role("button", name="Zoom in").click()
    expect(ticks).not_to_have_count(10)
    memory.get_by_role("button", name="Whole run").click()
    expect(ticks).to_have_count(10)
    with page.expect_download() as download:
        memory.get_by_role("button", name="PNG").click()
    assert download.value.path().read_bytes().startswith(b"\x89PNG")

    sheet.get_by_label("Tensor").select_option(label="x (5, 8)")
    expect(sheet.locator(".analyse-values")).to_contain_text("x does not require grad")
    expect(sheet.locator(".analyse-values .chart-summary").first).to_contain_text("All 40 values.")
    sheet.get_by_label("Measure").select_option(label="Memory allocated")
    expect(sheet.locator(".analyse-costs .chart-summary")).to_contain_text(
        re.compile(r"most on line 10, [\d,]+ B")
    )

    light = page.evaluate(GROUND)
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(f"before => ({GROUND})() !== before", arg=light)
    page.keyboard.press("Escape")
    expect(sheet).to_be_hidden()
    open_charts(page)
    assert sum("plotly.min.js" in url for url in asked) == 1


def test_without_the_library_the_tables_say_the_same(open_page: Open, watch: Watch) -> None:
    watch.expected.append("plotly.min.js")
    page = open_page("/playground?lang=zh&example=mlp#step=9", width=390, own=True)
    page.route("**/plotly.min.js*", lambda route: route.abort())
    page.locator(".changes-body").press("a")
    sheet = page.get_by_role("dialog")
    expect(sheet.get_by_role("status")).to_contain_text("绘图库没有加载成功")
    expect(sheet.locator(".chart-table table")).to_have_count(6)
    page.unroute("**/plotly.min.js*")
    sheet.get_by_role("button", name="重试").click()
    page.locator(DRAWN).first.wait_for(timeout=30_000)
    expect(sheet.get_by_role("status")).to_be_hidden()


def test_a_chart_on_a_narrow_phone_shows_its_legend_and_its_unit(open_page: Open) -> None:
    page = open_page("/playground?lang=en&example=mlp#step=9", width=320, height=568)
    open_charts(page)
    legend = page.locator(".chart-wide .main-svg .legend").first
    expect(legend.locator(".legendtext").first).to_have_text("named")
    box = legend.bounding_box()
    assert box and box["height"] > 20 and box["x"] + box["width"] <= 320
    expect(page.locator(".chart-wide .ytitle").first).to_have_text("Memory, B")
