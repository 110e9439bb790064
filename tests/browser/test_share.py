"""What leaves the page: links, lines for other pages, pictures that stand by themselves, data."""

import base64
import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Page, expect

from .conftest import Open, run

SVG = "{http://www.w3.org/2000/svg}"
GRAPH = "import torch\nw = torch.ones(3, requires_grad=True)\ny = w.exp()\nz = y[1:]\ns = y.sum()\n"


# Width of a PNG, and how many of its pixels have the fill of the first view.
COUNT = """async (png) => {
  const image = new Image();
  image.src = "data:image/png;base64," + png;
  await image.decode();
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [image.width, image.height];
  const context = canvas.getContext("2d");
  context.drawImage(image, 0, 0);
  const { data } = context.getImageData(0, 0, image.width, image.height);
  let count = 0;
  for (let i = 0; i < data.length; i += 4) {
    count += data[i] === 0x77 && data[i + 1] === 0xaa && data[i + 2] === 0xdd;
  }
  return [image.width, count];
}"""


def saved(page: Page, act: Callable[[], None]) -> tuple[str, bytes]:
    with page.expect_download() as download:
        act()
    return download.value.suggested_filename, Path(download.value.path()).read_bytes()


def sheet(page: Page):
    page.get_by_role("button", name="Share", exact=True).click()
    return page.get_by_role("dialog")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_panel_becomes_a_picture_that_needs_nothing_of_the_page(open_page: Open, theme: str) -> None:
    page = open_page("/playground?lang=en&example=write-through#step=7", theme=theme)
    dialog = sheet(page)

    for name, words in (
        ("memory", ["S1", "float32 · 12 × 4 B", "Memory"]),
        ("graph", ["MmBackward0"]),
        ("timeline", ["7 z.mul_(10)"]),
    ):
        label = {"memory": "Memory", "graph": "Autograd graph", "timeline": "Timeline"}[name]
        file, svg = saved(page, dialog.get_by_role("button", name=f"{label}: SVG").click)
        assert file == f"tensor-anatomy-{name}-step-7.svg"
        root = ElementTree.fromstring(svg)
        text = "\n".join("".join(each.itertext()) for each in root.iter(f"{SVG}text"))
        for word in words:
            assert word in text, (word, text[:2000])
        assert "A write through a view, and why backward refuses · step 7 of 9 · torch 2.13.0" in text
        assert not re.search(rb'\s(?:class|style)="|var\(--|href="(?!data:)', svg)
        ground = root.find(f"{SVG}rect")
        assert ground is not None and ground.get("fill") == (
            "rgb(255, 255, 255)" if theme == "light" else "rgb(22, 27, 34)"
        )
    file, png = saved(page, dialog.get_by_role("button", name="Memory: PNG").click)
    width, blue = page.evaluate(COUNT, base64.b64encode(png).decode())
    box = page.locator(".player-memory").bounding_box()
    assert box is not None
    assert (file, width) == ("tensor-anatomy-memory-step-7.png", 2 * math.ceil(box["width"]))
    assert blue > 1000, "the cells of x have the fill of the view looked at"
    assert page.locator(".in-picture").count() == 0


def test_a_picture_of_a_simulated_device_says_so(open_page: Open) -> None:
    page = open_page("/playground?lang=en")
    run(page, "import torch\nx = torch.ones(2)\ny = x.cuda()\n")
    expect(page.locator(".device-badge")).to_be_visible()

    _, svg = saved(page, sheet(page).get_by_role("button", name="Devices: SVG").click)

    assert b"simulated CUDA" in svg


def test_the_data_are_the_trace_and_the_state_of_the_step(open_page: Open) -> None:
    page = open_page("/playground?lang=en")
    run(page, GRAPH)
    expect(page.locator(".position")).to_have_text("Step 5 of 5")
    page.keyboard.press("ArrowLeft")
    dialog = sheet(page)

    file, trace = saved(page, dialog.get_by_role("button", name="Whole trace").click)
    assert (file, len(json.loads(trace)["steps"]), json.loads(trace)["source"]) == (
        "tensor-anatomy-trace.json",
        5,
        GRAPH,
    )
    file, state = saved(page, dialog.get_by_role("button", name="State after step 4").click)
    document = json.loads(state)
    assert (file, document["step"]) == ("tensor-anatomy-state-step-4.json", 4)
    assert set(document["bindings"]) == {"w", "y", "z"}


def test_the_link_holds_the_language_and_an_example_is_embedded_by_its_name(open_page: Open) -> None:
    page = open_page("/playground?lang=zh&example=views#step=3")
    page.get_by_role("button", name="分享", exact=True).click()
    dialog = page.get_by_role("dialog")
    link, lines = (
        dialog.get_by_label("指向此程序和步骤的链接"),
        dialog.get_by_label("用于其他页面的代码").last,
    )
    assert re.search(r"lang=zh#z=.*&step=3$", link.input_value())
    assert "/embed/v1/examples.views?step=3" in lines.input_value()

    dialog.get_by_role("button", name="Jupyter").click()
    dialog.get_by_label("主题").select_option("dark")

    assert lines.input_value().startswith("from IPython.display import IFrame")
    assert "theme=dark" in lines.input_value()
    frame = re.search(r'IFrame\("([^"]+)"', lines.input_value())
    assert frame is not None
    shown = open_page(frame[1].removeprefix(page.evaluate("() => location.origin")))
    expect(shown.locator(".player-steps .position")).to_have_text("3 / 10")


def test_a_pasted_program_takes_its_device_into_the_embed(open_page: Open) -> None:
    page = open_page("/playground?lang=en")
    run(page, "import torch\nprint(torch.cuda.is_available())\n")
    expect(page.locator(".device-badge")).to_be_visible()
    page.locator(".site-header").get_by_label("Device").select_option("cpu")
    expect(page).to_have_url(re.compile("device=cpu"))
    lines = sheet(page).get_by_label("Lines for another page").last.input_value()
    frame = re.search(r'src="([^"]+)"', lines)
    assert frame is not None and "device=cpu" in frame[1]
    embed = open_page("/about")
    embed.goto(frame[1].replace("&amp;", "&"))
    expect(embed.locator(".player.loaded")).to_be_visible(timeout=15_000)
    assert embed.get_by_text("simulated").count() == 0


def test_a_link_opens_what_was_open_and_older_links_mean_what_they_meant(open_page: Open) -> None:
    page = open_page("/playground?lang=en&example=views#step=4")
    page.locator(".player-memory [data-mode=strip]").click()
    page.keyboard.press("m")
    page.locator("[data-tab=ops]").click()
    page.locator(".memory .views button").first.click()
    page.keyboard.press("b")
    expect(page.locator(".bytes-own")).to_be_visible()
    link = sheet(page).get_by_label("Link").input_value()
    assert link.endswith("&step=4&lens=bytes&cells=strip&tab=ops&memory=open&look=a")
    page.wait_for_url("**#step=4&lens=bytes&cells=strip&tab=ops&memory=open&look=a")

    again = open_page(link[link.index("/playground") :], own=True)
    expect(again.locator(".bytes-own")).to_be_visible()
    for pressed in ("[data-mode=strip]", "button[data-lens=bytes]"):
        expect(again.locator(f".player-memory {pressed}")).to_have_attribute("aria-pressed", "true")
    expect(again.locator("[data-tab=ops]")).to_have_attribute("aria-selected", "true")
    expect(again.locator(".ledger")).to_be_visible()
    expect(again.locator(".lens-bar select option:checked")).to_have_text("a")

    plain = open_page("/playground?lang=en&example=views#step=4&tab=nothing&look=nobody&index=9", own=True)
    expect(plain.locator(".position")).to_contain_text("Step 4")
    expect(plain.locator("[data-tab=changed]")).to_have_attribute("aria-selected", "true")
    expect(plain.locator("[data-mode=grid]")).to_have_attribute("aria-pressed", "true")
