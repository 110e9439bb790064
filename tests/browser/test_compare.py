"""Two programs side by side: how a reader gets there, what is said, and that both sides step together."""

import re

from playwright.sync_api import Page, expect

from .conftest import Open, run

IN_PLACE = (
    "import torch\nw = torch.ones(3, requires_grad=True)\ny = w.exp()\ns = y.sum()\ny.add_(1)\ns.backward()\n"
)
CUDA = "import torch\nx = torch.ones(2).cuda()\ny = x * 2\n"
DRAWN = ".compare-slider[data-marked=all]"


def line_of(page: Page, side: str) -> str:
    return page.locator(f".compare-side[data-side={side}] .line.now .line-source").inner_text()


def choose(page: Page, words: str | re.Pattern[str]) -> None:
    page.get_by_role("button", name="Compare", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name=words).click()
    expect(page.locator(DRAWN)).to_be_visible()


def test_the_fix_that_an_explanation_offers_stands_beside_the_program_and_both_step(open_page: Open) -> None:
    page = open_page("/playground?lang=en")
    run(page, IN_PLACE)
    expect(page.locator(".outcome")).to_contain_text("RuntimeError on line 6")

    choose(page, "instead of a write in place")

    summary = page.locator(".compare-summary-text")
    expect(summary).to_contain_text("With the change it runs to its end.")
    expect(summary).to_contain_text("Same until line 5. Then ExpBackward0 of line 3 holds a saved tensor")
    expect(summary).to_contain_text("The left ends with RuntimeError on line 6, the right runs to its end.")
    assert (line_of(page, "left"), line_of(page, "right")) == ("y.add_(1)", "y = y.add(1)")
    expect(page.locator(".line-changed")).to_have_count(2)
    autograd = page.locator(".compare-facts .change").nth(2)
    expect(autograd).to_contain_text("y._version is 1 on the left, 0 on the right")
    for key, line in (("Home", "import torch"), ("ArrowRight", "w = torch.ones(3, requires_grad=True)")):
        page.keyboard.press(key)
        assert [line_of(page, side) for side in ("left", "right")] == [line, line]
    expect(page.locator(".compare-facts [aria-live]")).to_contain_text("Nothing differs so far")
    page.keyboard.press("n")
    assert line_of(page, "left") == "y.add_(1)"
    page.locator(".compare-side[data-side=right] .line-number").nth(2).click()
    assert [line_of(page, side) for side in ("left", "right")] == ["y = w.exp()", "y = w.exp()"]
    slider = page.get_by_role("slider")
    expect(slider).to_have_attribute("aria-valuetext", "Step 3 of 6")


def test_the_address_holds_both_programs_and_the_step_and_back_returns(open_page: Open) -> None:
    page = open_page("/playground?lang=en")
    choose(page, "refuses")
    expect(page.locator(".compare-side[data-side=left] .outcome")).to_contain_text("RuntimeError on line 4")
    expect(page).to_have_url(re.compile("&z2=.*&step=4$"))
    page.keyboard.press("ArrowLeft")
    expect(page).to_have_url(re.compile("&step=3$"))
    address = page.url.removeprefix(page.evaluate("() => location.origin"))

    page.goto("/about")
    page.goto(address)
    expect(page.locator(DRAWN)).to_be_visible()
    assert (line_of(page, "left"), page.locator(".position").inner_text()) == ("t = x.t()", "Step 3 of 5")
    page.get_by_role("button", name="Back to one").click()

    expect(page.locator(".compare")).to_have_count(0)
    expect(page.locator(".player-page .line.now .line-source")).to_have_text("t = x.t()")
    page.go_back()
    expect(page.locator(DRAWN)).to_be_visible()


def test_a_side_is_edited_and_runs_again(open_page: Open) -> None:
    page = open_page("/playground?lang=en")
    choose(page, "A slice views")
    right = page.locator(".compare-side[data-side=right]")
    right.get_by_role("button", name="Edit").click()
    editor = right.get_by_role("textbox")
    editor.fill("import torch\nx = torch.arange(6.)\ny = x[1:4]\ny.zero_()\n")
    editor.press("Control+Enter")

    expect(page.locator(".compare-summary-text")).to_have_text(
        re.compile("Every step leaves the same on both sides. Both run to their end.")
    )


def test_auto_says_which_device_it_took_and_the_same_program_is_compared_on_another(open_page: Open) -> None:
    page = open_page("/playground?lang=en")
    run(page, CUDA)
    menu = page.locator(".site-header").get_by_label("Device")
    expect(menu.locator("option:checked")).to_have_text("Auto: CUDA (simulated)")
    page.locator(".site-header").get_by_role("button", name="simulated").click()
    expect(page.locator(".device-about:popover-open")).to_contain_text(
        "The program names CUDA. There is no GPU here"
    )
    page.keyboard.press("Escape")

    menu.select_option("cpu")
    expect(page.locator(".outcome")).to_contain_text("Torch not compiled with CUDA enabled")
    expect(page).to_have_url(re.compile("&device=cpu"))
    page.reload()
    expect(page.locator(".outcome")).to_contain_text("Torch not compiled with CUDA enabled")
    expect(menu).to_have_value("cpu")
    choose(page, "another device: CUDA")
    expect(page.locator(".compare-summary-text")).to_contain_text("x exists only on the right")
    expect(
        page.locator(".compare-side[data-side=right]").get_by_role("button", name="simulated")
    ).to_be_visible()
    expect(
        page.locator(".compare-side[data-side=left]").get_by_role("button", name="simulated")
    ).to_be_hidden()


def test_a_phone_shows_one_side_at_a_time(open_page: Open) -> None:
    page = open_page("/playground?lang=zh", width=390, height=844)
    page.get_by_role("button", name="对比", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="切片是视图").click()
    expect(page.locator(DRAWN)).to_be_visible()
    sides = [page.locator(f".compare-side[data-side={side}]") for side in ("left", "right")]

    expect(sides[0]).to_be_visible()
    expect(sides[1]).to_be_hidden()
    page.get_by_role("button", name="右", exact=True).click()
    expect(sides[1]).to_be_visible()
    expect(sides[0]).to_be_hidden()
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 390


def test_prepared_pairs_open_from_their_recorded_traces_and_nothing_runs(open_page: Open) -> None:
    page = open_page("/playground?lang=en")
    runs: list[str] = []
    page.on("request", lambda request: runs.append(request.url) if "/api/trace" in request.url else None)
    choose(page, "Two backward passes")
    page.get_by_role("button", name="Back to one").click()
    choose(page, "alone moves nothing")

    expect(page.locator(".compare-summary-text")).to_contain_text("The left ends with RuntimeError")
    expect(page.locator(".compare-side .device-badge:visible")).to_have_count(2)
    assert runs == []


def test_a_lens_and_a_line_open_on_both_sides_and_keys_reach_the_side_that_has_the_focus(
    open_page: Open,
) -> None:
    page = open_page("/playground?lang=en")
    choose(page, "modified in place")
    left, right = (page.locator(f".compare-side[data-side={side}]") for side in ("left", "right"))
    right.locator(".code-body").focus()

    page.keyboard.press("b")
    for side in (left, right):
        expect(side.locator(".lens[data-lens=bytes] .bytes-observed")).to_contain_text("float32")
    page.keyboard.press("e")
    expect(right.locator(".ladder:visible")).to_contain_text("y.add(1)")
    expect(left.locator(".ladder:visible")).to_contain_text("y.add_(1)")
    lines = [side.locator(".line[data-line='6']").bounding_box() for side in (left, right)]
    assert abs(lines[0]["y"] - lines[1]["y"]) <= 60
    page.keyboard.press("ArrowLeft")
    assert [line_of(page, side) for side in ("left", "right")] == ["s = y.sum()", "s = y.sum()"]
    expect(right.locator(".lens[data-lens=bytes]")).to_be_visible()
    page.keyboard.press("b")
    expect(page.locator(".lens:visible")).to_have_count(0)


def test_a_node_of_either_side_tells_what_it_keeps(open_page: Open) -> None:
    page = open_page("/playground?lang=en")
    choose(page, "modified in place")
    left, right = (page.locator(f".compare-side[data-side={side}]") for side in ("left", "right"))
    left.locator("[data-figure=graph]").first.click()
    for side, said in ((left, "needs version 0, is at 1"), (right, "ExpBackward0")):
        side.locator(".node", has_text="ExpBackward0").locator("button").first.click()
        expect(side.locator(".node-details")).to_contain_text(said)
    expect(right.locator(".turns")).to_be_visible()
