"""The graph as a reader uses it: backward passes node by node, details, chips of one storage, room."""

import pytest
from playwright.sync_api import Page, expect

from .conftest import Open, run
from .test_accessibility import violations

CHAIN = """import torch

w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
y = w * 2
s = (y + w.exp()).sum()
s.backward(retain_graph=True)
s.backward()
"""
STALE = """import torch

w = torch.ones(3, requires_grad=True)
y = w.exp()
z = y * y
y.add_(1)
"""
TURNS = "[data-turn='now']"


def playground(open_page: Open, source: str, **options: object) -> Page:
    page = open_page("/playground?lang=en&example=views", **options)
    run(page, source)
    expect(page.locator(".run-status")).to_contain_text("ran in")
    return page


def boxes(page: Page) -> list[list[float]]:
    """Panels on the page, and nodes in the picture: the window on it goes to the node whose turn it is."""
    found: list[list[float]] = page.evaluate(
        """() => [
          ...[...document.querySelectorAll('.card, .turns, .graph-frame')].map(each => {
            const { x, y, width, height } = each.getBoundingClientRect();
            return [x, y, width, height].map(n => Math.round(n * 10) / 10);
          }),
          ...[...document.querySelectorAll('.graph .node')].map(node => [node.offsetLeft, node.offsetTop]),
        ]"""
    )
    return found


def test_a_backward_pass_is_followed_node_by_node(open_page: Open) -> None:
    page = playground(open_page, CHAIN)
    page.locator(".control-previous").first.click()
    expect(page.locator(".position")).to_have_text("Step 5 of 6")
    words, position = page.locator(".turn-words"), page.locator(".turn-position")
    expect(words).to_contain_text("5 nodes")
    leaf = page.locator(".node.leaf .node-subtitle")
    expect(leaf).to_contain_text(".grad S")
    expect(page.get_by_text("Watching changed one fact")).to_be_visible()  # comes after the trace
    before = boxes(page)
    said = []
    for n in range(1, 6):
        page.keyboard.press("]")
        expect(position).to_have_text(f"{n} of 5")
        said.append(words.inner_text())
        assert boxes(page) == before
        if n < 5:
            expect(leaf).to_have_text("leaf (3,) · .grad None")
    assert said[0].startswith("SumBackward0")
    assert "sends [1, 1, 1] to AddBackward0" in said[0]
    assert "runs no op" in said[1]
    assert "sends [2.718, 7.389, 20.09] to w" in said[2]
    assert "gets the sum [4.718, 9.389, 22.09]" in said[4]
    assert "w.grad: None → [4.718, 9.389, 22.09]" in said[4]
    expect(leaf).to_contain_text(".grad S")
    page.keyboard.press("[")
    expect(position).to_have_text("4 of 5")
    expect(page.locator(f".node{TURNS} .node-title")).to_have_text("MulBackward0")


def test_a_second_pass_shows_what_it_adds_to(open_page: Open) -> None:
    page = playground(open_page, CHAIN)
    for _ in range(5):
        page.get_by_role("button", name="Next node of the backward pass").click()
    expect(page.locator(".turn-words")).to_contain_text(
        "w.grad: [4.718, 9.389, 22.09] + [4.718, 9.389, 22.09] = [9.437, 18.78, 44.17]"
    )
    page.locator(".control-first").click()
    page.get_by_role("button", name="Gradients flow in step 5").click()
    expect(page.locator(".position")).to_have_text("Step 5 of 6")


def test_gradients_stand_beside_the_lines_they_came_along(open_page: Open) -> None:
    page = playground(open_page, CHAIN)
    labels = page.locator(".edge-label")
    for _ in range(5):
        page.keyboard.press("]")
    expect(labels.first).to_be_visible()
    assert {tuple(each.split("\n")) for each in labels.all_inner_texts()} >= {
        ("(3,)", "[1, 1, 1]"),
        ("(3,)", "[2.718, 7.389, …]"),
    }
    expect(page.locator(".edge-label[data-turn='now']").first).to_contain_text("[2")
    apart = page.evaluate(
        """() => {
          const all = [...document.querySelectorAll('.edge-label, .graph .node')]
            .map(each => each.getBoundingClientRect());
          return all.every((a, i) => all.slice(i + 1).every(b =>
            a.left >= b.right || b.left >= a.right || a.top >= b.bottom || b.top >= a.bottom));
        }"""
    )
    assert apart
    page.keyboard.press("[")
    page.keyboard.press("[")
    expect(page.locator(".edge-label[data-turn='now']")).to_have_text("(3,)[1, 1, 1]")
    page.get_by_role("button", name="Play the backward pass").click()
    expect(page.get_by_role("button", name="Pause the backward pass")).to_be_visible()
    expect(page.locator(".turn-position")).to_have_text("5 of 5")
    expect(page.get_by_role("button", name="Play the backward pass")).to_be_visible()


def test_a_pass_whose_gradients_were_not_read_says_so_and_leads_to_one_that_was(open_page: Open) -> None:
    loop = "import torch\nw = torch.ones(2, requires_grad=True)\nfor i in range(5):\n    w.grad = None\n"
    page = playground(open_page, loop + "    (w * w).sum().backward()\n")
    words = page.locator(".turn-words")
    words.get_by_role("button", name="Gradients flow in step").click()
    expect(words).to_contain_text("first 3 executions of a line, and this is execution 5")
    for _ in range(4):
        page.keyboard.press("]")
    expect(words).to_contain_text("w.grad: None → [2, 2]")  # as the storage has it
    assert page.locator(".edge-label").all_inner_texts().count("(2,)") > 0
    words.get_by_role("button", name="See them in step").click()
    expect(words).not_to_contain_text("not recorded")
    page.keyboard.press("]")
    expect(words).to_contain_text("[1, 1]")


def test_details_say_what_a_node_keeps_and_how_it_passes_gradients_on(open_page: Open) -> None:
    page = playground(open_page, STALE)
    page.locator(".node-title", has_text="MulBackward0").click()
    details = page.get_by_role("complementary", name="Details of MulBackward0")
    expect(details).to_contain_text("grad * other")
    expect(details.locator(".node-saved .stale")).to_have_count(2)
    expect(details.locator(".node-saved .stale").first).to_contain_text("needs version 0, is at 1")
    expect(details.locator(".node-saved .stale").first).to_contain_text("[3.718, 3.718, 3.718]")
    before = boxes(page)
    page.locator(".control-previous").first.click()
    assert boxes(page) == before
    expect(details.locator(".node-saved .stale")).to_have_count(0)
    details.get_by_role("button", name="ExpBackward0").first.click()
    exp = page.get_by_role("complementary", name="Details of ExpBackward0")
    expect(exp).to_contain_text("grad * result")
    page.keyboard.press("Escape")
    expect(exp).to_be_hidden()


STATES = """import torch

w = torch.ones(3, requires_grad=True)
kept = (w * w).sum()
used = w.exp().sum()
lost = (w.sin() * 2).sum()
kept.backward(retain_graph=True)
used.backward()
del lost
"""


def test_a_node_says_whether_what_it_saved_is_there_freed_or_the_node_itself_gone(open_page: Open) -> None:
    page = playground(open_page, STATES)
    for name, subtitle, chip in (
        ("MulBackward0", "line 4", "v0"),
        ("ExpBackward0", "line 5", "freed"),
        ("SinBackward0", "line 6 · gone", ""),
    ):
        node = page.locator(".graph .node", has_text=name).first
        expect(node.locator(".node-subtitle")).to_have_text(subtitle)
        expect(node.locator(".chip-state").first).to_have_text(chip)
    expect(
        page.get_by_role("button", name="SinBackward0; line 6; no tensor leads here any more")
    ).to_be_visible()
    page.locator(".control-first").click()
    expect(page.locator(".graph .node", has_text="SinBackward0").locator(".node-subtitle")).to_have_text(
        "line 6"
    )


def test_all_that_shows_one_storage_lights_up_together(open_page: Open) -> None:
    page = playground(open_page, STALE)
    chip = page.locator(".chip", has_text="result")
    chip.hover()
    storage = chip.get_attribute("data-storage")
    lit = page.locator(f".graph .chip.lit[data-storage='{storage}']")
    expect(lit).to_have_count(3)
    expect(page.locator(f".memory .badge.lit[data-storage='{storage}']").first).to_be_visible()
    page.locator(".memory .badge").first.hover()
    expect(lit).to_have_count(0)


def test_the_graph_takes_all_the_room_and_gives_it_back(open_page: Open) -> None:
    page = playground(open_page, CHAIN)
    height = page.locator(".player-graph").bounding_box()
    page.locator(".graph .viewport").focus()
    page.keyboard.press("g")
    expect(page.locator(".player-memory")).to_be_hidden()
    large = page.locator(".player-graph").bounding_box()
    assert height and large and large["height"] > 1.8 * height["height"]
    page.get_by_role("button", name="Give the graph all the room").click()
    expect(page.locator(".player-memory")).to_be_visible()


@pytest.mark.parametrize("width", [320, 390])
def test_the_bar_fits_a_phone(open_page: Open, width: int) -> None:
    page = playground(open_page, CHAIN, width=width, height=800)
    page.get_by_role("button", name="Next node of the backward pass").click()
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    bar = page.locator(".turns").bounding_box()
    assert bar and bar["width"] <= width


NET = """import torch
from torch import nn

model = nn.Sequential(*[nn.Sequential(nn.LayerNorm(4), nn.Linear(4, 4), nn.ReLU()) for _ in range(6)])
loss = model(torch.ones(2, 4)).sum()
loss.backward()
"""


FOLD = ".graph .node[data-fold]"


def corner(page: Page, name: str) -> list[float]:
    """Where a fold's box or frame begins in the window."""
    found: list[float] = page.evaluate(
        """name => {
          const head = [...document.querySelectorAll('[data-fold-head]')]
            .find(each => each.textContent.startsWith(name));
          const box = head?.parentElement ?? [...document.querySelectorAll('.graph .node')]
            .find(each => each.querySelector('.node-title').textContent === name);
          const { x, y } = box.getBoundingClientRect();
          return [Math.round(x), Math.round(y)];
        }""",
        name,
    )
    return found


def test_folds_open_where_they_stand_and_close_again(open_page: Open) -> None:
    page = playground(open_page, NET)
    fold = page.get_by_role("button", name="Fold", exact=True)
    expect(fold).to_have_attribute("aria-pressed", "true")
    titles = page.locator(".graph .node-title")
    expect(page.locator(FOLD)).to_have_count(6)
    at_first = boxes(page)
    for opened, name in enumerate(("model[1]", "model[3]"), 1):
        page.locator(FOLD, has_text=name).get_by_role("button").focus()
        place = corner(page, name)
        page.keyboard.press("Enter")
        expect(page.locator(".fold-frame")).to_have_count(opened)
        assert corner(page, name) == place
        expect(page.locator(":focus")).to_have_attribute("aria-expanded", "true")
        expect(page.locator(FOLD)).to_have_count(6 + opened)  # its norm and its linear layer
    expect(titles.filter(has_text="ReluBackward0")).to_have_count(2)
    expect(page.get_by_role("navigation", name="Open in the graph")).to_contain_text("model[3] ×")
    before = boxes(page)
    page.locator(".control-previous").first.click()
    assert boxes(page) == before
    page.locator(".control-next").click()
    page.get_by_role("button", name="Next node of the backward pass").click()
    expect(page.locator(".graph .node[data-turn='now']")).to_have_count(1)
    page.get_by_role("button", name="Fold model[1] again").click()
    expect(page.locator(":focus")).to_have_text("model[1]")
    page.locator("[data-fold-head]").press("Enter")
    expect(page.locator(".fold-frame")).to_have_count(0)
    assert boxes(page)[3:] == at_first[3:]
    fold.click()
    expect(page.locator(FOLD)).to_have_count(0)
    expect(titles.filter(has_text="ReluBackward0")).to_have_count(6)


def test_what_opens_glides_unless_less_motion_is_wanted(open_page: Open) -> None:
    running = (
        "() => document.getAnimations().filter(({ effect }) => effect.target.closest('.viewport')).length"
    )
    for still in (True, False):
        page = playground(open_page, NET, still=still)
        page.wait_for_function(f"() => ({running})() === 0")
        page.locator(FOLD).first.get_by_role("button").press("Enter")
        assert (page.evaluate(running) > 0) is not still


def test_axe_finds_nothing_in_the_graph_with_its_panels_open(open_page: Open) -> None:
    page = playground(open_page, NET, bypass_csp=True)
    page.locator(".graph .node[data-fold] button").first.press("Enter")
    page.get_by_role("button", name="Next node of the backward pass").click()
    page.locator(".node-title", has_text="ReluBackward0").first.press("Enter")
    expect(page.locator(".node-details")).to_be_visible()
    assert violations(page, ".graph") == []
