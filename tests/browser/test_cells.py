"""Pixels of storages too large for cells of words, against the trace: every cell, seven dtypes, both themes.

A pixel's place between two colours is its value's between the smallest and the largest. The colours are those
of the theme, the values those of the state document: PyTorch's, not the page's.
"""

import math
from typing import Any

import pytest
from playwright.sync_api import Page

from .conftest import Open
from .test_lenses import States, open_program

DTYPES = """\
import torch
i = torch.arange(600).reshape(20, 30)
b = i % 3 == 0
h = torch.linspace(-2, 2, 500, dtype=torch.float16).reshape(20, 25)
f = torch.linspace(0, 1, 410, dtype=torch.bfloat16)
u = torch.full((450,), 7, dtype=torch.uint8)
d = torch.sin(torch.arange(1000.0, dtype=torch.float64)).reshape(25, 40)
w = torch.cos(torch.arange(800.0)).reshape(40, 20)
w.mul_(-3)
t = w.t()
"""
CELLS = 600 + 600 + 500 + 410 + 450 + 1000 + 800
# Of every storage that is drawn as pixels: its label, its size in cells, and the colours of its pixels.
READ = """() => [...document.querySelectorAll('.memory .place:not(.waiting) .pixels')].map(frame => {
  const canvas = frame.querySelector('canvas');
  const { width, height } = canvas;
  const pen = new OffscreenCanvas(width, height).getContext('2d', { willReadFrequently: true });
  pen.drawImage(canvas, 0, 0);
  const { data } = pen.getImageData(0, 0, width, height);
  const pixels = Array.from({ length: width * height }, (_, i) => [...data.slice(i * 4, i * 4 + 3)]);
  return [frame.getAttribute('aria-label').match(/S(\\d+)/)[1], width, pixels];
})"""
TOKENS = (
    "names => names.map(each => getComputedStyle(document.documentElement).getPropertyValue(each).trim())"
)
NAMES = ["--cell", "--line3", "--vink", "--v1", "--v2", "--v3", "--v4"]
LOW, HIGH = 0.18, 0.85


def flat(values: Any) -> list[float]:
    """The elements of a nested list, the last dimension fastest."""
    if not isinstance(values, list):
        return [float(values)]
    return [each for part in values for each in flat(part)]


def whole(state: dict[str, Any], storage: str) -> list[float] | None:
    """The values of a storage in address order, from a tensor that reads all of it in that order."""
    for tensor in state["tensors"].values():
        if str(tensor["storage"]) != storage or tensor["values"] is None or tensor["storage_offset"] != 0:
            continue
        shape, stride = tensor["shape"], tensor["stride"]
        strides = [math.prod(shape[d + 1 :]) for d in range(len(shape))]
        if stride == strides:
            return flat(tensor["values"])
    return None


def ramp(low: str, high: str, value: float, least: float, span: float) -> list[float]:
    """The colour of a value between two."""
    place = int((value - least) / span * 255) if span > 0 else 0
    share = 0 if place == 0 else LOW + (HIGH - LOW) * place / 255
    ends = [[int(colour[i : i + 2], 16) for i in (1, 3, 5)] for colour in (low, high)]
    return [a * (1 - share) + b * share for a, b in zip(*ends, strict=True)]


def check(page: Page, states: States) -> int:
    """Every pixel of every storage that is drawn so, in both themes; how many there were."""
    state, checked = states(), 0
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        page.keyboard.press("ArrowLeft")  # what is shown is painted anew
        page.keyboard.press("ArrowRight")
        cell, line, ink, *views = page.evaluate(TOKENS, NAMES)
        for storage, _, pixels in page.evaluate(READ):
            values = whole(state, storage)
            if values is None or state["storages"][storage]["freed"]:
                continue
            least, span = min(values), max(values) - min(values)
            tried = [(cell, line), (line, ink), *((view, ink) for view in views)]
            # All of its cells are of one tensor, so they are on one ramp, whichever that is.
            worst = min(
                max(
                    max(abs(a - b) for a, b in zip(pixel, ramp(*ends, value, least, span), strict=True))
                    for pixel, value in zip(pixels, values, strict=False)
                )
                for ends in tried
            )
            assert worst <= 2.5, (theme, storage, worst)
            assert len(pixels) >= len(values)
            checked += len(values)
    return checked


def test_pixels_of_every_dtype_are_shaded_by_their_values(open_page: Open, server: str) -> None:
    page = open_program(open_page, DTYPES)
    assert check(page, States(server, DTYPES)) >= 2 * CELLS


def test_a_wrong_pixel_is_found(open_page: Open, server: str) -> None:
    page = open_program(open_page, DTYPES)
    page.evaluate("""() => {
      const draw = CanvasRenderingContext2D.prototype.putImageData;
      CanvasRenderingContext2D.prototype.putImageData = function (image, ...rest) {
        image.data[4 * 7] ^= 64;
        draw.call(this, image, ...rest);
      };
    }""")
    with pytest.raises(AssertionError):
        check(page, States(server, DTYPES))
