"""A closer look at memory: every element of every tensor, read from the page, against the state of the trace.

Elements are read as a reader does it from the keyboard: the arrows move a ring, and the cell's words are
said. Changed cells and missing values are read off the canvas, at fixed points of each cell. PyTorch is
the oracle of what if.
"""

import itertools
import json
import math
import re
import struct
import urllib.request
import zlib
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from playwright.sync_api import Page, expect

from .conftest import ROOT, Open
from .test_accessibility import violations

PROGRAMS = ROOT / "benchmarks" / "programs"
CASES = {
    row["id"]: row for row in map(json.loads, (ROOT / "tests/data/cases.jsonl").read_text().splitlines())
}
# Views, windows, expanded and re-pointed tensors, other dtypes, in-place writes, modules, gradients.
CHOSEN = (
    *("c001", "c003", "c006", "c008", "c010", "c015", "c016", "c018", "c022", "c032", "c035"),
    *("c044", "c054", "c060", "c065", "c074", "c085", "c088", "c090", "c115"),
)
MOST = 64  # elements read of one tensor

# Moves the ring over all elements of the chosen tensor and reads what is said of each.
READ = """([rows, columns, most]) => {
  const field = document.querySelector('.lens-field .field-window');
  const options = {bubbles: true, cancelable: true};
  const press = key => field.dispatchEvent(new KeyboardEvent('keydown', {key, ...options}));
  const said = [];
  for (let i = 0; i < rows; i++) press('ArrowUp');
  for (let row = 0; row < rows && said.length < most; row++) {
    press('Home');
    for (let column = 0; column < columns; column++) {
      said.push([field.querySelector('[role=gridcell]').textContent,
                 document.querySelector('.lens .formula').getAttribute('aria-label'),
                 [...document.querySelectorAll('.lens .facts dd')].map(fact => fact.textContent)]);
      press('ArrowRight');
    }
    press('ArrowDown');
  }
  return said;
}"""

# The colour at a corner of each cell and just inside its frame, of what the canvas shows.
PIXELS = """async ([rows, columns]) => {
  await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
  const canvas = document.querySelector('.lens-field canvas');
  const [left, top, width, height] = JSON.parse(canvas.dataset.box);
  const copy = new OffscreenCanvas(canvas.width, canvas.height);
  const pen = copy.getContext('2d', {willReadFrequently: true});
  pen.drawImage(canvas, 0, 0);
  const at = (x, y) => [...pen.getImageData(Math.round(x), Math.round(y), 1, 1).data.slice(0, 3)];
  return Array.from({length: rows}, (_, r) => Array.from({length: columns}, (_, c) => {
    const [x, y] = [left + c * width, top + r * height];
    return {frame: at(x + 2, y + height / 2), ground: at(x + 6, y + height - 6)};
  }));
}"""


def address_of(source: str) -> str:
    """The playground with a program in its address."""
    packed = zlib.compressobj(9, zlib.DEFLATED, -15)
    data = packed.compress(source.encode()) + packed.flush()
    return f"/playground?lang=en#z={urlsafe_b64encode(data).decode().rstrip('=')}"


class States:
    """The state documents of one program, as the server answers them."""

    def __init__(self, server: str, source: str) -> None:
        self._server, self._source = server, source
        self._known: dict[int | None, dict[str, Any]] = {}

    def __call__(self, step: int | None = None) -> dict[str, Any]:
        """The state after a step; the last by default."""
        if step not in self._known:
            where = f"{self._server}/api/trace?format=state" + ("" if step is None else f"&step={step}")
            body = json.dumps({"source": self._source, "device": "cpu", "seed": 0}).encode()
            request = urllib.request.Request(where, body, {"Content-Type": "application/json"})
            with urllib.request.urlopen(request, timeout=20) as answer:
                self._known[step] = json.load(answer)
        return self._known[step]


def open_program(open_page: Open, source: str) -> Page:
    """The playground at the last step of a program."""
    page = open_page(address_of(source))
    expect(page.locator(".run-status")).to_contain_text("ran in")
    return page


def choose(page: Page, name: str) -> bool:
    """Choose a tensor in the lens that is open; false when it is not offered by that name."""
    options = page.locator(".lens-bar option").all_inner_texts()
    label = next((each for each in options if name in each.split(", ")), None)
    if label is None:
        return False
    page.locator(".lens-bar select").select_option(label=label)
    return True


def elements(shape: list[int]) -> Iterator[tuple[int, ...]]:
    """All indices, the last dimension fastest."""
    return itertools.product(*map(range, shape))


def at(nested: Any, index: tuple[int, ...]) -> Any:
    """One value of a nested list."""
    for i in index:
        nested = nested[i]
    return nested


def same(said: str, value: Any, dtype: str) -> bool:
    """The words name the value exactly, among those of its dtype."""
    if isinstance(value, bool):
        return said == str(value)
    if isinstance(value, list):
        return abs(complex(said) - complex(*map(float, value))) < 1e-6
    if isinstance(value, str) or "int" in dtype:
        return said == str(value)
    told, wanted = float(said), float(value)
    if dtype == "torch.float32" and math.isfinite(wanted):
        return struct.pack("f", told) == struct.pack("f", wanted)
    return told == wanted


def readable(state: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Named tensors whose values are known, small enough to read one by one; one name each."""
    seen = set()
    for name, id in state["bindings"].items():
        tensor = state["tensors"][str(id)]
        known = (
            tensor["values"] is not None and tensor["stride"] is not None and tensor["storage"] is not None
        )
        if not known or id in seen or state["storages"][str(tensor["storage"])]["freed"]:
            continue
        seen.add(id)
        if tensor["layout"] == "torch.strided" and 0 < math.prod(tensor["shape"]) <= MOST:
            yield name, tensor


def check_elements(page: Page, state: dict[str, Any]) -> int:
    """Every element of every tensor: index, formula, cell, byte, value."""
    checked = 0
    for name, tensor in readable(state):
        if not choose(page, name):
            continue
        shape, stride, offset = tensor["shape"], tensor["stride"], tensor["storage_offset"]
        for lead in elements(shape[:-2]):
            for d, i in enumerate(lead):
                slider = page.locator(f'.lens-step[data-dim="{d}"] input')
                slider.fill(str(i))
            rows, columns = ([1, 1, *shape])[-2:]
            said = page.evaluate(READ, [rows, columns, MOST])
            for (words, formula, facts), rest in zip(said, elements([rows, columns]), strict=True):
                index = (*lead, *rest)[-len(shape) :] if shape else ()
                cell = offset + sum(i * s for i, s in zip(index, stride, strict=True))
                match = re.fullmatch(r"(?:.*\[([\d, ]+)\]|[^\[]*), cell ([\d,]+): (.*)", words)
                assert match, words
                assert tuple(map(int, match[1].split(", "))) == index if match[1] else index == (), words
                assert int(match[2].replace(",", "")) == cell, (name, words)
                assert same(match[3], at(tensor["values"], index), tensor["dtype"]), (name, words)
                terms = [str(offset), *(f"{i}·{s}" for i, s in zip(index, stride, strict=True))]
                assert formula.endswith(f"[{' + '.join(terms)}] = S{tensor['storage']}[{cell}]"), formula
                size = torch.empty(
                    0, dtype=getattr(torch, tensor["dtype"].removeprefix("torch."))
                ).element_size()
                assert facts[0].startswith(f"+{cell * size}"), facts
                checked += 1
    return checked


def check_changed(page: Page, states: States, step: int) -> int:
    """The cells framed on the canvas are those whose values the step changed."""
    before, now = states(step - 1), states(step)
    changed = 0
    for name, tensor in readable(now):
        old = before["tensors"].get(str(now["bindings"][name]))
        if old is None or before["bindings"].get(name) != now["bindings"][name] or old["values"] is None:
            continue
        kept = ("shape", "stride", "storage", "storage_offset")
        if len(tensor["shape"]) > 2 or any(old[key] != tensor[key] for key in kept) or not choose(page, name):
            continue
        rows, columns = ([1, 1, *tensor["shape"]])[-2:]
        if rows > 8 or columns > 6:
            continue
        pixels = page.evaluate(PIXELS, [rows, columns])
        blue = page.evaluate("() => getComputedStyle(document.documentElement).getPropertyValue('--data')")
        data = [int(blue.strip().lstrip("#")[i : i + 2], 16) for i in (0, 2, 4)]
        ringed = page.locator(".lens-field [role=gridcell]").inner_text()
        for row, column in elements([rows, columns]):
            index = (row, column)[-len(tensor["shape"]) :] if tensor["shape"] else ()
            if f"[{', '.join(map(str, index))}]," in ringed or not index:
                continue  # the ring stands on its frame
            differs = at(old["values"], index) != at(tensor["values"], index)
            frame = pixels[row][column]["frame"]
            assert (math.dist(frame, data) < 40) == differs, (name, index, frame)
            changed += differs
    return changed


def check_program(open_page: Open, server: str, source: str) -> tuple[int, int]:
    """All of a program's last step, and the changes of its last three."""
    states = States(server, source)
    page = open_program(open_page, source)
    last = states()
    page.locator(".lens-buttons [data-lens=tensor]").click()
    expect(page.locator(".lens")).to_be_visible()
    checked = check_elements(page, last)
    changed = 0
    for step in range(last["step"], max(1, last["step"] - 3), -1):
        changed += check_changed(page, states, step)
        page.locator(".lens-bar select").blur()
        page.keyboard.press("ArrowLeft")
    return checked, changed


def test_every_element_of_views_is_read_as_the_trace_has_it(open_page: Open, server: str) -> None:
    checked, _ = check_program(open_page, server, (PROGRAMS / "views.py").read_text())
    assert checked >= 20


def test_changed_cells_are_framed(open_page: Open, server: str) -> None:
    source = "import torch\nx = torch.arange(12.).reshape(3, 4)\ny = x[1:, ::2]\ny.mul_(10)\nx.t()[0] += 1\n"
    checked, changed = check_program(open_page, server, source)
    assert checked == 16
    # Both writes as x and as y see them, without the element of y that the first changes under the ring.
    assert changed == (3 + 2) + (4 + 4 - 1)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mlp", "matmul", "inplace", "train"])
def test_every_element_of_a_benchmark_program_is_read_as_the_trace_has_it(
    open_page: Open, server: str, name: str
) -> None:
    checked, _ = check_program(open_page, server, (PROGRAMS / f"{name}.py").read_text())
    assert checked > 3


@pytest.mark.slow
@pytest.mark.parametrize("case", CHOSEN)
def test_every_element_of_a_case_is_read_as_the_trace_has_it(open_page: Open, server: str, case: str) -> None:
    checked, _ = check_program(open_page, server, CASES[case]["source"])
    assert checked > 0


VIEWS = """\
import torch
x = torch.arange(12.).reshape(3, 4)
e = torch.tensor([1.5, 0.1]).expand(3, 2)
big = torch.zeros(1000, 1000)
none = torch.empty(0, 3)
h = torch.tensor([1.5], dtype=torch.bfloat16)
"""


@pytest.fixture
def page(open_page: Open) -> Page:
    return open_program(open_page, VIEWS)


def open_lens(page: Page, lens: str, name: str) -> None:
    page.locator(f".lens-buttons [data-lens={lens}]").click()
    expect(page.locator(f'.lens[data-lens="{lens}"]')).to_be_visible()
    assert choose(page, name)


def test_what_if_names_the_call_and_ends_where_the_storage_does(page: Page) -> None:
    open_lens(page, "whatif", "x")
    call = page.locator(".whatif-call")
    expect(page.locator(".lens")).to_contain_text("computed, nothing ran")
    expect(call).to_have_text("x")
    page.get_by_role("button", name="Reverse dims").click()
    expect(call).to_have_text("x.t()")
    x = torch.arange(12.0).reshape(3, 4)
    with pytest.raises(RuntimeError):
        x.t().view(12)
    expect(page.locator(".viewing-said")).to_contain_text("fails: dims 0 and 1 do not merge")
    page.get_by_label("Shape for view").fill("2, 2, 3")
    assert x.t().view(2, 2, 3).stride() == (2, 1, 4)
    expect(page.locator(".viewing-said")).to_contain_text("strides (2, 1, 4)")

    page.get_by_role("button", name="As it is").click()
    size = page.get_by_role("slider", name="size, dim 0")
    expect(size).to_have_attribute("max", "3")
    size.press("ArrowLeft")
    expect(call).to_have_text("x[:2]")
    offset = page.get_by_role("slider", name="offset")
    expect(offset).to_have_attribute("max", "4")
    for _ in range(4):
        offset.press("ArrowRight")
    expect(call).to_have_text("x[1:]")
    offset.press("ArrowRight")
    expect(call).to_have_text("x[1:]")  # no further: the view would leave the storage
    verdicts = page.locator(".whatif-verdicts li")
    expect(verdicts.filter(has_text="not contiguous")).to_have_count(0)

    page.get_by_role("button", name="As it is").click()
    page.get_by_role("button", name="Windows of 2").click()
    expect(call).to_have_text("x.unfold(1, 2, 1)")
    expect(page.locator("[data-verdict=separate].no")).to_contain_text("18 elements share 12 cells")
    counts = page.locator(".address-line [data-cell]").evaluate_all(
        "all => all.map(cell => +cell.dataset.count)"
    )
    places = x.view(-1).long().as_strided((3, 3, 2), (4, 1, 1)).flatten()
    assert counts == torch.bincount(places, minlength=12).tolist()


def test_strides_are_drawn_as_jumps_and_an_expanded_one_leads_back(page: Page) -> None:
    open_lens(page, "tensor", "x")
    jumps = "all => all.map(jump => ['from', 'to', 'dim'].map(key => +jump.dataset[key]))"
    arrows = page.locator(".address-jump")
    found = arrows.evaluate_all(jumps)
    assert [each for each in found if each[2] == 1] == [[8, 9, 1], [9, 10, 1], [10, 11, 1]]
    assert [each for each in found if each[2] == 0] == [[3, 7, 0], [7, 11, 0]]
    assert choose(page, "e")
    assert [1, 1, 0] in arrows.evaluate_all(jumps)
    expect(page.locator(".address-line [data-cell] .address-count")).to_have_text(["×3", "×3"])


SEVEN = """\
import torch
a = torch.arange(12.)
b = a.view(3, 4)
c = b.t()
d = b[1:, ::2]
e = b.diagonal()
f = a[5:]
g = a.unfold(0, 2, 5)
"""


def test_each_view_has_a_row_of_its_own_below_the_cells(open_page: Open) -> None:
    page = open_program(open_page, SEVEN)
    open_lens(page, "tensor", "a")
    tracks = page.locator(".address-track")
    assert tracks.evaluate_all("all => all.map(track => track.dataset.name)") == list("bcdefg")
    names: dict[str, torch.Tensor] = {}
    exec(SEVEN, names)
    cells = "all => all.map(track => [...track.querySelectorAll('[data-at]')].map(bar => +bar.dataset.at))"
    for name, drawn in zip("bcdefg", tracks.evaluate_all(cells), strict=True):
        assert drawn == sorted(set(map(int, names[name].flatten().tolist()))), name
    # From the fifth view on its number is written, for colours and hatches alone are hard to tell.
    expect(tracks.nth(3).locator("text")).to_have_text(["e", "5", "5"])


def test_dimensions_change_places_and_the_others_have_sliders(open_page: Open) -> None:
    page = open_program(open_page, "import torch\nx = torch.arange(24).reshape(2, 3, 4)\n")
    open_lens(page, "tensor", "x")
    field = page.get_by_role("grid", name="x, shape")
    expect(field).to_have_attribute("aria-rowcount", "3")
    page.get_by_label("rows").select_option("0")
    expect(field).to_have_attribute("aria-rowcount", "2")
    page.get_by_label("columns").select_option("0")
    expect(field).to_have_attribute("aria-rowcount", "4")
    expect(field).to_have_attribute("aria-colcount", "2")
    page.get_by_role("slider", name="Index in dim 1").press("Home")
    expect(field.get_by_role("gridcell")).to_have_text("x[1, 0, 3], cell 15: 15")


def test_what_was_not_recorded_is_hatched_and_not_made_up(page: Page) -> None:
    open_lens(page, "tensor", "big")
    expect(page.locator(".lens-figures")).to_contain_text("Values of 64 of 1,000,000 elements were recorded")
    field = page.get_by_role("grid", name="big, shape")
    field.press("Home")
    for _ in range(3):
        field.press("ArrowLeft")
    expect(field.get_by_role("gridcell")).to_contain_text(
        "big[999, 0], cell 999,000: This value was not recorded. Its tile"
    )
    page.get_by_role("button", name="Fit").click()
    scale = float(page.locator(".lens-field canvas").first.get_attribute("data-scale") or 1)
    assert scale < 0.05
    field.press("+")
    assert float(page.locator(".lens-field canvas").first.get_attribute("data-scale") or 0) > scale
    assert choose(page, "none")
    expect(page.locator(".lens-note")).to_contain_text("shape (0, 3): no element, so it reads no cell")


def test_one_value_lies_otherwise_in_each_dtype(page: Page) -> None:
    open_lens(page, "bytes", "h")
    stored = bytes(torch.tensor([1.5], dtype=torch.bfloat16).untyped_storage())
    expect(page.locator(".byte-box b")).to_have_text([f"{byte:02x}" for byte in stored])
    expect(page.locator(".bit-field .bit-digits")).to_have_text(["0", "01111111", "1000000"])
    expect(page.locator(".bytes-other h3")).to_contain_text("computed, nothing ran")
    for dtype in ("float32", "bfloat16", "int8", "float8_e4m3fn"):
        value = torch.tensor(1.5, dtype=torch.float64).to(getattr(torch, dtype))
        row = page.locator(f'.bytes-table [data-dtype="{dtype}"]')
        expect(row.locator("small").last).to_have_text(bytes(value.untyped_storage()).hex(" "))
        expect(row.locator("td").nth(1)).to_have_text(f"{value.double().item():g}")
    assert choose(page, "e")
    expect(page.locator(".bytes-exact")).to_contain_text("Printed 0.1; exactly 0.100000001490116119384765625")
    page.get_by_label("Value", exact=True).fill("300")
    expect(page.locator('.bytes-table [data-dtype="int8"]')).to_contain_text("out of range")


def test_storages_are_listed_by_who_keeps_them(open_page: Open) -> None:
    make = "import torch\nw = torch.ones(3, requires_grad=True)\n"
    source = f"{make}y = (w * torch.arange(3.)).sum()\ny.backward()\ndel y\n"
    page = open_program(open_page, source)
    page.locator(".lens-buttons [data-lens=holders]").click()
    groups = page.locator(".held-group h4")
    expect(groups.first).to_contain_text("Named by the program")
    expect(page.locator(".held-gradient .holder")).to_have_text(["w.grad"])
    expect(page.locator(".held-freed")).to_contain_text("freed by line 5")
    page.get_by_role("button", name="Previous step").click()
    page.get_by_role("button", name="Previous step").click()
    expect(page.locator(".held-saved .holder")).to_have_text([re.compile(r"MulBackward0#\d+\.other")])


def test_a_freed_storage_goes_after_a_few_steps_and_moves_nothing(open_page: Open) -> None:
    lines = [
        "import torch",
        "x = torch.ones(3)",
        "keep = torch.ones(2)",
        "del x",
        *(f"n = {i}" for i in range(5)),
    ]
    page = open_program(open_page, "\n".join(lines) + "\n")
    freed = page.locator(".place.freed")
    kept = page.locator(".place", has_text="keep")
    box = kept.bounding_box()
    expect(freed).to_be_hidden()
    for _ in range(5):
        page.get_by_role("button", name="Previous step").click()
    expect(freed).to_be_visible()
    expect(freed).to_contain_text("freed by line 4")
    assert kept.bounding_box() == box


def test_pointing_at_an_element_lights_the_code_that_made_its_tensors(open_page: Open) -> None:
    page = open_program(open_page, "import torch\nx = torch.arange(6.).reshape(2, 3)\ny = x.t()\nz = y[0]\n")
    page.locator(".place .cell").first.hover()
    pointed = page.locator(".line-source .pointed")
    expect(pointed.first).to_be_visible()
    lines = {
        line: "".join(page.locator(f'[data-line="{line}"] .pointed').all_inner_texts()) for line in (2, 3, 4)
    }
    assert lines == {2: "torch.arange(6.).reshape(2, 3)", 3: "x.t()", 4: "y[0]"}
    page.locator(".place .cell").nth(4).hover()
    expect(page.locator('[data-line="4"] .pointed')).to_have_count(0)


def test_axe_finds_nothing_in_a_lens(open_page: Open) -> None:
    page = open_page("/playground?lang=en#step=7", bypass_csp=True)
    for lens in ("tensor", "bytes", "whatif", "holders"):
        page.locator(f".lens-buttons [data-lens={lens}]").click()
        expect(page.locator(f'.lens[data-lens="{lens}"]')).to_be_visible()
        assert violations(page, ".player-memory") == [], lens


def test_a_lens_opens_by_key_stays_while_stepping_and_closes_by_escape(open_page: Open) -> None:
    page = open_page("/playground?lang=en#step=7")
    page.locator(".changes-body").press("w")
    lens = page.locator(".lens")
    expect(lens).to_be_visible()
    page.get_by_role("button", name="Previous step").click()
    expect(lens).to_be_visible()
    page.get_by_label("Tensor to look at").press("Escape")
    expect(lens).to_be_hidden()
    expect(page.locator(".lens-buttons [data-lens=whatif]")).to_be_focused()
