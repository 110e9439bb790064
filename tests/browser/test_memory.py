"""Where an element lives: `offset + Σ index·stride`, for every tensor of a program with seven views.

PyTorch is the oracle: the program runs here too, and each element's own `storage_offset()` is its cell.
"""

import itertools
import re
from pathlib import Path

import pytest
import torch
from playwright.sync_api import Page, expect

from .conftest import ROOT, Open, run

VIEWS: Path = ROOT / "app" / "lessons" / "examples" / "views.py"
NAMES = "abcdefgh"

# For each cell: choose the tensor, point at the cell, and read what is said.
READ_OUTS = """(grid, [name, cells]) => cells.map(cell => {
  const detail = grid.closest('.memory').querySelector('.detail');
  const boxes = grid.querySelectorAll('.cell');
  boxes[0].focus();
  detail.querySelector(`tbody button[title="${name}"]`).click();
  boxes[0].blur();
  boxes[cell].focus();
  const facts = [...detail.querySelectorAll('.facts dd')].map(fact => fact.textContent);
  return [detail.querySelector('.where .readout-title').textContent,
          detail.querySelector('.formula').getAttribute('aria-label'), facts];
})"""


@pytest.fixture(scope="module")
def tensors() -> dict[str, torch.Tensor]:
    """The program's tensors, made by PyTorch in this process."""
    names: dict[str, torch.Tensor] = {}
    exec(compile(VIEWS.read_text(), VIEWS.name, "exec"), names)
    return {name: names[name] for name in NAMES}


@pytest.fixture
def page(open_page: Open) -> Page:
    return open_page("/playground?lang=en&example=views")


def grid_of(page: Page, name: str):
    """The cells of the storage a tensor looks at."""
    names = page.locator(".place-names", has_text=re.compile(rf"^{'e' if name == 'e' else 'a, b, c'}"))
    return page.locator(".place").filter(has=names).get_by_role("grid")


def look_at(page: Page, name: str) -> None:
    """Choose a tensor as a reader does: its storage first, then its row."""
    grid_of(page, name).locator(".cell").first.click()
    page.locator(f'.detail tbody button[title="{name}"]').click()


def cells_of(tensor: torch.Tensor) -> list[int]:
    """Where PyTorch puts the elements, each cell once."""
    everywhere = itertools.product(*map(range, tensor.shape))
    return sorted({tensor[index].storage_offset() for index in everywhere})


def formula(tensor: torch.Tensor, index: tuple[int, ...]) -> str:
    terms = [f"{i}·{stride}" for i, stride in zip(index, tensor.stride(), strict=True)]
    return " + ".join([str(tensor.storage_offset()), *terms])


def test_the_program_has_views_whose_elements_share_cells(tensors) -> None:
    shared = {name for name in NAMES if tensors[name].data_ptr() != tensors["e"].data_ptr()}
    assert shared == set("abcdfgh")
    assert (tensors["f"].stride(), tensors["h"].stride()) == ((0, 1), (5, 1))


def test_every_cell_of_every_tensor_is_explained_as_pytorch_computes_it(page: Page, tensors) -> None:
    for name in NAMES:
        tensor = tensors[name]
        cells = cells_of(tensor)
        grid = grid_of(page, name)
        expect(grid.locator(".cell")).to_have_count(tensor.untyped_storage().nbytes() // 4)

        said = grid.evaluate(READ_OUTS, [name, cells])

        storage = re.findall(r"S\d+", grid.get_attribute("aria-label") or "")[0]
        for cell, (title, text, facts) in zip(cells, said, strict=True):
            asked = re.fullmatch(rf"Where does {name}\[([\d, ]+)\] live\?", title)
            assert asked, title
            index = tuple(map(int, asked[1].split(", ")))
            assert tensor[index].storage_offset() == cell
            assert text.endswith(f"{storage}[{formula(tensor, index)}] = {storage}[{cell}]"), (name, text)
            assert facts[0] == f"+{cell * 4} … {cell * 4 + 3}"
            assert float(facts[2]) == tensor[index].item()


def test_pointing_and_arrows_say_the_same(page: Page, tensors) -> None:
    title, text = page.locator(".where .readout-title"), page.locator(".detail .formula")
    look_at(page, "d")
    cells = grid_of(page, "d").locator(".cell")

    cells.nth(9).hover()
    expect(title).to_have_text("Where does d[1, 0] live?")
    expect(text).to_have_attribute("aria-label", re.compile(r"\[1 \+ 1·8 \+ 0·1\] = S\d\[9\]$"))

    cells.nth(1).focus()
    for key, cell, index in [("ArrowRight", 2, "0, 1"), ("End", 3, None), ("ArrowDown", 7, None)]:
        page.keyboard.press(key)
        expect(cells.nth(cell)).to_be_focused()
        expect(cells.nth(cell)).to_have_class(re.compile(r"\bring\b"))
        # `d` does not read the cells at the end of a row: the first tensor that does is named.
        expect(title).to_have_text(
            f"Where does d[{index}] live?" if index else f"Where does a[{cell // 4}, 3] live?"
        )
    expect(page.locator(".position")).to_have_text("Step 10 of 10")


def test_pointing_lights_up_who_else_reads_the_cell(page: Page) -> None:
    look_at(page, "a")
    grid_of(page, "a").locator(".cell").nth(1).hover()

    others = page.locator(".detail .others .alias")
    assert others.locator("code").all_inner_texts() == ["b[1, 0]", "c[0, 0]", "d[0, 0]", "f[0, 1]"]
    expect(page.locator(".detail .others")).to_contain_text("2 more")
    others.nth(2).click()
    expect(page.locator(".where .readout-title")).to_have_text("Where does d[0, 0] live?")
    expect(page.locator(".detail tr.chosen button")).to_contain_text("d")


def test_as_a_strip_the_cells_stand_in_address_order(page: Page) -> None:
    page.get_by_role("button", name="Strip").click()
    strip = page.locator(".strip").first
    expect(strip).to_be_visible()
    expect(strip.locator(".strip-number")).to_have_text([str(cell) for cell in range(12)])
    expect(strip.locator(".strip-value")).to_have_text([str(100 + cell) for cell in range(12)])


def test_a_graph_node_shows_what_it_saved(open_page: Open) -> None:
    page = open_page("/playground?lang=en#step=7")
    page.locator(".graph .chip-stale").click()
    expect(page.locator(".detail .detail-title")).to_contain_text("Tensors looking at S1")
    page.get_by_role("button", name="List", exact=True).click()
    expect(page.locator(".node-list li").first).to_contain_text("w")


CHAIN = """\
import torch
w = torch.ones(2, requires_grad=True)
y = w
for i in range(400):
    y = y * w
"""
ROUNDS = """\
import torch
w = torch.ones(2, requires_grad=True)
for i in range(200):
    (w * w).sum().backward()
"""


def test_nodes_without_a_box_are_counted_while_they_exist(open_page: Open) -> None:
    page = open_page("/playground?lang=en")
    omitted = page.locator(".graph .omitted")
    run(page, CHAIN)
    # 400 products are one box, and more than there may be boxes one by one
    expect(omitted).to_be_hidden()
    page.get_by_role("button", name="Fold", exact=True).click()
    expect(omitted).to_have_text(re.compile(r"^\d{3} nodes are not drawn$"))
    page.get_by_role("button", name="First step").click()
    expect(omitted).to_be_hidden()
    # Every round of this loop is gone when the next begins, so none is missed.
    run(page, ROUNDS)
    expect(page.locator(".run-status")).to_contain_text("ran in")
    expect(page.locator(".graph .node").first).to_be_visible()
    expect(omitted).to_be_hidden()
