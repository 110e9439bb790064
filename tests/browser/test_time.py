"""The timeline as a reader uses it: where the memory is, its peak, writes of a storage, copies, playing."""

import re

import pytest
from playwright.sync_api import Page, Route, expect

from .conftest import Open, run, visit
from .test_accessibility import violations
from .test_layout import BOXES, moved

SMALL = """\
import torch
x = torch.zeros(4, 4)
y = x.t()
x.add_(1)
w = torch.ones(8, requires_grad=True)
loss = (w * w).exp().sum()
loss.backward()
x.mul_(0)
big = torch.ones(100, 100)
del big
"""
ADAM = """\
import torch
layer = torch.nn.Linear(4, 2)
opt = torch.optim.Adam(layer.parameters())
for epoch in range(2):
    loss = layer(torch.ones(3, 4)).pow(2).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
FULL = """\
import torch
kept = torch.zeros(1_000_000, device="cuda")
big = torch.zeros(8_000_000, device="cuda")
del big
torch.cuda.empty_cache()
more = torch.zeros(20_000_000, device="cuda")
"""

DEVICES = {
    "a copy whose source lives on": (
        "import torch\nx = torch.ones(4)\ng = x.cuda()\n",
        [
            (
                "x → g: 16 B, cpu → cuda:0",
                "Twice in memory now, 32 B in all: S2 is the copy, S1 lives on because x",
            )
        ],
    ),
    "a copy whose source nothing holds": (
        "import torch\nx = torch.ones(4)\nx = x.cuda()\n",
        [("x: 16 B, cpu → cuda:0", "Once in memory: S2. Nothing held the source on cpu any more")],
    ),
    "pinned memory and non_blocking": (
        'import torch\nx = torch.ones(4).pin_memory()\ng = x.to("cuda", non_blocking=True)\n',
        [("x → g: 16 B, cpu → cuda:0", "pinned"), ("x → g: 16 B, cpu → cuda:0", "non_blocking")],
    ),
    "to the device, back and there again": (
        "import torch\nx = torch.ones(4).cuda()\nback = x.cpu()\nagain = (back * 2).cuda()\n",
        [("cuda:0 → cpu", "x → back: 16 B"), ("again: 16 B, cpu → cuda:0", "to and fro")],
    ),
    "a module that moves": (
        "import torch\nnet = torch.nn.Linear(2, 2)\nnet.to('cuda')\ny = net(torch.ones(1, 2).cuda())\n",
        [("16 B, cpu → cuda:0", "Once in memory"), ("8 B, cpu → cuda:0", "Once in memory")],
    ),
}
"""Program → copies it makes: what is said of each, and what more."""


def shown(open_page: Open, program: str) -> Page:
    page = open_page("/playground?lang=en", own=True)
    run(page, program)
    expect(page.locator(".run-status")).to_contain_text("ran in")
    return page


def ledger(page: Page, row: str) -> str:
    return page.locator(f".ledger tr:has-text('{row}') td").first.inner_text()


def test_the_peak_leads_to_its_step_and_lists_what_was_alive(open_page: Open) -> None:
    page = shown(open_page, SMALL)
    peak = page.locator("button.timeline-peak")
    # x 64 B, w and its gradient 32 B each, loss 4 B, big 40,000 B.
    expect(peak).to_have_text("max 39.2 KiB")
    peak.click()
    expect(page.locator(".position")).to_have_text("Step 9 of 10")
    rows = page.locator(".ledger-rows button")
    expect(rows.first).to_contain_text("big")
    expect(rows.first).to_contain_text("39.1 KiB")
    assert ledger(page, "gradients") == "32 B"
    page.locator(".peak-mark").click()
    expect(page.locator(".position")).to_have_text("Step 9 of 10")
    rows.filter(has_text="w.grad").click()
    expect(rows.filter(has_text="w.grad")).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".life-badge")).to_have_text(re.compile(r"S\d+"))
    page.keyboard.press("m")
    expect(page.locator(".ledger")).to_be_hidden()


def test_bytes_are_told_apart_by_what_keeps_them(open_page: Open) -> None:
    page = shown(open_page, ADAM)
    page.keyboard.press("m")
    # Moments and a step count for weights (32 B) and bias (8 B).
    assert ledger(page, "optimizer state") == "88 B"
    assert ledger(page, "gradients") == "40 B"
    page.keyboard.press("Home")
    page.keyboard.press("2")
    assert (ledger(page, "named"), ledger(page, "optimizer state")) == ("40 B", "–")
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    expect(page.locator(".changes-title")).to_contain_text("loss =")
    assert ledger(page, "saved for backward") != "–"
    kinds = page.locator(".held-area")
    patterns = {kinds.nth(i).get_attribute("fill") for i in range(kinds.count())}
    assert len(patterns) == 4, "a ground of its own for every kind"


def test_pointing_at_another_step_reads_its_bytes_and_leaving_takes_them_back(open_page: Open) -> None:
    page = shown(open_page, SMALL)
    page.keyboard.press("m")
    assert ledger(page, "total") == "132 B"
    box = page.locator(".timeline-canvas").bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] * 8.5 / 10, box["y"] + 150)
    expect(page.locator(".ledger-sums")).to_contain_text("Step 9")
    assert ledger(page, "total") == "39.2 KiB"
    page.mouse.move(5, 5)
    expect(page.locator(".ledger-sums")).to_contain_text("Step 10")
    assert page.locator(".position").inner_text() == "Step 10 of 10"


def test_from_write_to_write_of_a_storage(open_page: Open) -> None:
    page = shown(open_page, SMALL)
    position = page.locator(".position")
    following = page.get_by_role("button", name="Next write")
    expect(following).to_have_attribute("aria-disabled", "true")
    expect(page.locator(".life-hint")).to_be_visible()
    page.keyboard.press(".")
    expect(position).to_have_text("Step 10 of 10")

    page.locator(".place .cell").first.click()
    expect(page.locator(".life-badge")).to_have_text("S1")
    for key, step in [(",", 8), (",", 4), (",", 2), (",", 2), (".", 4), (".", 8), (".", 8)]:
        page.keyboard.press(key)
        expect(position).to_have_text(f"Step {step} of 10")
        expect(page.locator(".life-badge")).to_have_text("S1")
    said = page.locator(".timeline-life-name").get_attribute("aria-label") or ""
    assert "S1 made by line 2: 64 B on cpu. Written 2 times, by line 4 and 8." in said
    assert "Shared by x and y from line 3 on." in said
    page.keyboard.press("?")
    expect(page.locator("dialog")).to_contain_text("Previous and next write")


@pytest.mark.parametrize("name", DEVICES)
def test_copies_between_devices_are_arrows_and_say_what_lives_where(open_page: Open, name: str) -> None:
    program, copies = DEVICES[name]
    page = shown(open_page, program)
    page.keyboard.press("m")
    # An arrow is drawn as done and as to come.
    expect(page.locator(".done .copy-arrow").first).to_be_attached()
    for words, more in copies:
        expect(
            page.locator(".ledger-copies li").filter(has_text=words).filter(has_text=more)
        ).not_to_have_count(0)
    names = page.locator(".timeline-memory-name")
    expect(names).to_have_count(2)
    expect(names.filter(has_text="cuda:0")).to_contain_text("simulated")
    expect(page.locator(".ledger thead")).to_contain_text("simulated")
    expect(page.locator(".allocator")).to_contain_text("simulated")


def test_before_the_first_copy_the_list_says_what_will_come(open_page: Open) -> None:
    page = shown(open_page, DEVICES["a copy whose source lives on"][0])
    page.keyboard.press("Home")
    page.keyboard.press("m")
    expect(page.locator(".ledger")).to_contain_text("Line 3 will copy x: 16 B from cpu to cuda:0.")
    expect(page.locator(".ledger")).to_contain_text("Nothing is alive here yet")


def test_an_allocator_keeps_gives_back_and_runs_out(open_page: Open) -> None:
    page = shown(open_page, FULL)
    page.keyboard.press("m")
    allocator = page.locator(".allocator")
    expect(allocator).to_contain_text("Out of memory")
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".position")).to_have_text("Step 5 of 6")
    expect(allocator).to_contain_text("gave 32 MiB of unused segments back")
    page.keyboard.press("ArrowLeft")
    # Freed by the program, kept by the allocator.
    expect(allocator).to_contain_text("reserved, unused")
    expect(allocator.locator(".segment-strip")).to_have_count(2)
    expect(allocator).to_contain_text("2 segments")
    assert ledger(page, "total") == "3.8 MiB"


def test_playing_goes_as_quick_as_the_reader_likes_and_remembers(open_page: Open) -> None:
    page = open_page("/playground?lang=en#step=1", own=True)
    page.clock.install(time=0)
    page.clock.pause_at(1000)
    page.get_by_label("Speed of playing").select_option("4×")
    page.get_by_role("button", name="Play", exact=True).click()
    page.clock.run_for(700)
    expect(page.locator(".position")).to_have_text("Step 4 of 9")
    page.get_by_label("Speed of playing").select_option("0.5×")
    page.clock.run_for(230)
    expect(page.locator(".position")).to_have_text("Step 5 of 9")
    page.clock.run_for(1500)
    expect(page.locator(".position")).to_have_text("Step 5 of 9")
    page.get_by_role("button", name="Pause").click()
    page.reload()
    expect(page.get_by_label("Speed of playing")).to_have_value("0.5")


def test_the_band_follows_the_mouse_that_is_held_down(open_page: Open) -> None:
    page = open_page("/playground?lang=en#step=1")
    box = page.locator(".timeline-canvas").bounding_box()
    assert box
    entries = page.evaluate("history.length")
    at = lambda step: box["x"] + box["width"] * (step - 0.5) / 9  # noqa: E731
    page.mouse.move(at(2), box["y"] + 60)
    page.mouse.down()
    for step in (5, 8, 6):
        page.mouse.move(at(step), box["y"] - 200)
        expect(page.locator(".position")).to_have_text(f"Step {step} of 9")
    page.mouse.up()
    page.mouse.move(at(3), box["y"] + 60)
    expect(page.locator(".position")).to_have_text("Step 6 of 9")
    assert page.evaluate("history.length") == entries


@pytest.mark.parametrize("program", [ADAM, DEVICES["to the device, back and there again"][0]])
def test_stepping_moves_nothing_of_the_open_timeline(open_page: Open, program: str) -> None:
    page = shown(open_page, program)
    page.keyboard.press("m")
    stays = [
        ".card",
        ".timeline-name",
        ".timeline-memory-name",
        ".timeline-life-name",
        ".peak-mark",
        ".copy-mark",
    ]
    stays += [".timeline-picture", ".controls button", ".ledger", ".ledger thead th", ".ledger tbody th"]
    page.keyboard.press("Home")
    before = page.evaluate(BOXES, stays)
    steps = int(page.locator(".position").inner_text().split(" of ")[1])
    for step in range(2, steps + 1):
        page.keyboard.press("ArrowRight")
        expect(page.locator(".position")).to_have_text(f"Step {step} of {steps}")
        assert moved(before, page.evaluate(BOXES, stays)) == [], f"at step {step}"


def test_folded_iterations_say_how_many_they_are(open_page: Open) -> None:
    def fold(route: Route) -> None:
        answer = route.fetch()
        trace = answer.json()
        for step in trace["steps"][7:11]:
            step["fold"], step["executions"] = {"loop": 5, "first": 4, "last": 97}, 94
        route.fulfill(response=answer, json=trace)

    page = open_page("/about?lang=en", own=True)
    page.route("**/traces/examples.training.*", fold)
    visit(page, "/playground?lang=en&example=training")
    expect(page.locator(".fold")).to_have_count(1)
    page.get_by_role("button", name="Detail", exact=True).click()
    page.keyboard.press("Home")
    count = page.locator(".fold-count")
    expect(count).to_have_text("×94")
    expect(count).to_have_attribute("title", "iterations 4 to 97 folded")
    box, canvas = count.bounding_box(), page.locator(".timeline-canvas").bounding_box()
    steps = int(page.locator(".position").inner_text().split(" of ")[1])
    assert box and canvas
    assert abs(box["width"] - 4 * canvas["width"] / steps) < 1.5, "over the columns of the four steps"


def test_axe_finds_nothing_in_the_open_timeline(open_page: Open) -> None:
    page = open_page("/playground?lang=en", own=True, bypass_csp=True)
    run(page, FULL + "x = torch.ones(2)\ng = x.cuda()\n")
    expect(page.locator(".run-status")).to_contain_text("ran in")
    page.keyboard.press("m")
    page.locator(".ledger-rows button").first.click()
    expect(page.locator(".ledger-life")).to_contain_text("made by line")
    assert violations(page, ".player-timeline") == []
