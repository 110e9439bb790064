"""Storages of many cells: their picture by tiles, and the way from it to single cells.

PyTorch is the oracle of what a tile holds, division that of where a cell lies.
"""

import json
import re
from typing import Any

import pytest
import torch
from playwright.sync_api import Page, expect

from .conftest import Open
from .test_lenses import open_program

SOURCE = """\
import torch
x = torch.arange(90_000.).reshape(300, 300)
y = x.t()
z = x[::2, 1:]
x[100:200, 50:150] = 0
"""

# Colours of the middle of tiles, in a picture of 16 × 16 of them.
TILES = """([rows, columns]) => {
  const canvas = document.querySelector('.pixels canvas');
  const pen = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', {willReadFrequently: true});
  pen.drawImage(canvas, 0, 0);
  const found = [];
  for (let row = 0; row < rows; row++) for (let column = 0; column < columns; column++) {
    const at = (i, n, size) => Math.min(size - 3, Math.floor((i + 0.5) * Math.ceil(size / n)));
    const [x, y] = [at(column, columns, canvas.width), at(row, rows, canvas.height)];
    found.push([...pen.getImageData(x, y, 1, 1).data.slice(0, 3)]);
  }
  return found;
}"""

# The first and last row and column that have dots in the colour of changed data.
BLUE = """() => {
  const canvas = document.querySelector('.pixels canvas');
  const {width, height} = canvas;
  const pen = new OffscreenCanvas(width, height).getContext('2d', {willReadFrequently: true});
  pen.drawImage(canvas, 0, 0);
  const data = pen.getImageData(0, 0, width, height).data;
  const ink = getComputedStyle(canvas).getPropertyValue('--data').trim();
  const own = [1, 3, 5].map(at => parseInt(ink.slice(at, at + 2), 16));
  const dots = Array.from({length: width * height}, (_, i) => i);
  const blue = dots.filter(i => own.every((c, k) => data[4 * i + k] === c));
  const rows = blue.map(i => Math.floor(i / width)), columns = blue.map(i => i % width);
  return [Math.min(...rows), Math.max(...rows), Math.min(...columns), Math.max(...columns)];
}"""


@pytest.fixture
def page(open_page: Open) -> Page:
    page = open_program(open_page, SOURCE)
    page.locator(".tensor-name", has_text=re.compile("^x$")).click()
    return page


def means(t: torch.Tensor) -> torch.Tensor:
    """The mean of each of 16 × 16 tiles of 19 × 19 cells, the last ones smaller."""
    bands = [[piece.mean() for piece in band.split(19, 1)] for band in t.split(19, 0)]
    return torch.tensor(bands, dtype=torch.float64)


def bright(colour: list[int]) -> int:
    return sum(colour)


def test_a_dot_is_as_dark_as_the_mean_of_its_tile(page: Page) -> None:
    x = torch.arange(90_000.0).reshape(300, 300)
    x[100:200, 50:150] = 0
    expected = means(x).flatten()
    seen = torch.tensor([bright(each) for each in page.evaluate(TILES, [16, 16])], dtype=torch.float64)
    # The ramp goes from light to dark. A tile that was overwritten in part is as light as its mean says.
    order = expected.argsort()
    assert (seen[order].diff() <= 2).all()
    assert seen.max() - seen.min() > 100
    legend = page.locator(".tile-legend").inner_text().split()
    assert [float(n) for n in legend] == pytest.approx(
        [expected.min().item(), expected.max().item()], rel=1e-3
    )


def test_what_a_write_changed_is_framed_and_the_tile_told_from_old_to_new(page: Page) -> None:
    inside = page.evaluate(
        "() => { const box = document.querySelector('.pixels canvas').getBoundingClientRect();"
        " return [box.left + box.width * 0.45, box.top + box.height * 0.5]; }"
    )
    page.mouse.move(*inside)
    row, column = (
        int(n)
        for n in re.findall(r"\[(\d+), (\d+)\]", page.locator(".detail .where .readout-title").inner_text())[
            0
        ]
    )
    t = torch.arange(90_000.0).reshape(300, 300)
    tile = (slice(row // 19 * 19, row // 19 * 19 + 19), slice(column // 19 * 19, column // 19 * 19 + 19))
    before = t[tile].mean().item()
    t[100:200, 50:150] = 0
    told = page.locator(".detail .facts .tile.changed dd").inner_text().splitlines()[0].split(" → ")
    assert [float(n) for n in told] == pytest.approx([before, t[tile].mean().item()], rel=1e-3)
    blue = page.evaluate(BLUE)
    # Tiles of 19 cells that hold rows 100 to 199 and columns 50 to 149.
    assert blue == [95, 208, 38, 151]


def test_the_way_to_a_cell_ends_at_its_offset_byte_and_address(page: Page) -> None:
    page.locator(".pixels canvas").click(position={"x": 120, "y": 60})
    page.keyboard.press("+")
    window = page.locator(".lens .field-window")
    expect(window).to_be_focused()
    expect(page.locator(".lens [data-order=address]")).to_have_attribute("aria-pressed", "true")
    assert float(page.locator(".lens-field canvas").first.get_attribute("data-scale") or 0) == 1
    before, start = cell_of(page), start_of(page)
    for key in ("ArrowRight", "ArrowDown", "ArrowDown"):
        window.press(key)
    cell = cell_of(page)
    assert cell == before + 601
    assert page.locator(".lens .facts dd").first.inner_text().startswith(f"+{cell * 4}")
    assert start_of(page) == start
    window.press("0")
    scale = page.locator(".lens-field canvas").first
    expect(scale).not_to_have_attribute("data-scale", "1.0000")
    window.press("+")
    assert cell_of(page) == cell
    row, column = divmod(cell, 300)
    tile = (
        row // 19 * 19,
        min(row // 19 * 19 + 18, 299),
        column // 19 * 19,
        min(column // 19 * 19 + 18, 299),
    )
    expect(page.locator(".lens-figures")).to_contain_text(
        f"rows {tile[0]} to {tile[1]} and columns {tile[2]} to {tile[3]}"
    )


def start_of(page: Page) -> int:
    """The storage's address: that of the element, less its byte."""
    byte, address = page.locator(".lens .facts dd").all_inner_texts()[:2]
    return int(address, 16) - int(byte.split()[0])


def cell_of(page: Page) -> int:
    said = page.locator(".lens .formula").get_attribute("aria-label") or ""
    return int(said.rpartition("[")[2].rstrip("]"))


def test_ctrl_and_the_wheel_zoom_at_the_pointer_and_dragging_pans(page: Page) -> None:
    page.get_by_role("button", name="See single cells").click()
    window = page.locator(".lens .field-window")
    box = window.bounding_box()
    assert box
    read: Any = page.locator(".lens-field canvas").first
    whole = float(read.get_attribute("data-scale") or 0)
    page.mouse.move(box["x"] + 200, box["y"] + 100)
    before = cell_of(page)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -600)
    page.keyboard.up("Control")
    page.wait_for_function(
        "s => Number(document.querySelector('.lens-field canvas').dataset.scale) > s * 3", arg=whole
    )
    page.mouse.move(box["x"] + 201, box["y"] + 100)
    after = cell_of(page)
    assert abs(after // 300 - before // 300) <= 3 and abs(after % 300 - before % 300) <= 3
    left = json.loads(read.get_attribute("data-box"))[0]
    page.mouse.down()
    page.mouse.move(box["x"] + 151, box["y"] + 100)
    page.mouse.up()
    assert json.loads(read.get_attribute("data-box"))[0] == pytest.approx(left - 50)
