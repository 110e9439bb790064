"""The rules of our pages, D1 to D21, each held in a browser: one test per rule, named by what it asks.

Here each rule is held once, on programs that would show it broken. What goes further stands in files of its
own: every step of every example (test_layout), every page for axe (test_accessibility) and for words that
are cut off (test_reading), the keyboard (test_focus), cells against the trace (test_cells).
"""

import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from .conftest import Open, run
from .reading import unreadable
from .scenes import DEVICES, EVERYWHERE, STALE, Scene, program, ran
from .test_everywhere import SMALL
from .test_layout import BOXES, DETAIL, FRAME, GRAPH, MEMORY, STEPS, moved

DESK = "/playground?lang=en#step=7"
LAYERS = ("data", "metadata", "autograd", "device")
TOKENS = dict(zip(LAYERS, ("--data", "--meta", "--auto", "--dev"), strict=True))


QUESTIONS = Path(__file__).with_name("rules.js").read_text("utf-8").partition("\n")[2].strip().rstrip(";")


def ask(page: Page, question: str, given: Any = None) -> Any:
    """One of the questions of rules.js."""
    return page.evaluate(f"given => ({QUESTIONS}).{question}(given)", given)


def shown(open_page: Open, name: str, **options: Any) -> Page:
    """A scene, in English."""
    scene: Scene = EVERYWHERE[name]
    page = open_page(scene.address("en"), **options) if "code=" not in scene.path else open_page("/about")
    if "code=" in scene.path:
        page.goto(scene.address("en"))
    scene.play(page)
    return page


def box(page: Page, selector: str) -> dict[str, float]:
    found = page.locator(selector).first.bounding_box()
    assert found is not None, selector
    return dict(found)


def d1(open_page: Open) -> None:
    page = open_page(DESK)
    whole = "() => [document.documentElement.scrollWidth, document.documentElement.scrollHeight]"
    assert page.evaluate(whole) == [1440, 900]
    code, memory, graph, timeline = (
        box(page, f".player-{each}") for each in ("code", "memory", "graph", "timeline")
    )
    assert 440 <= code["width"] <= 480 and code["x"] < memory["x"]
    assert memory["x"] == graph["x"] and memory["y"] + memory["height"] < graph["y"]
    assert 200 <= timeline["height"] <= 230 and timeline["width"] > 1400
    assert timeline["y"] + timeline["height"] <= 900
    page.set_viewport_size({"width": 320, "height": 700})
    assert page.evaluate(whole)[0] == 320


def d2(open_page: Open) -> None:
    page = open_page(DESK)
    found = ask(page, "tracks")
    column = found["width"] / 9
    assert found["bands"] == 1 and found["inside"]
    assert found["band"] == pytest.approx([6 * column, column], abs=0.6)
    assert len(found["tracks"]) == 4 and sum(map(len, found["tracks"])) > 10
    # A mark begins a little after its step does, in every track; the curve turns only between steps.
    within = {round(x % column, 1) for track in found["tracks"] for x in track}
    assert len(within) == 1 and max(within) < 12, within
    off = [min(x % column, column - x % column) for x in found["memory"]]
    assert len(off) > 10 and max(off) < 0.6, found["memory"]


def d3(open_page: Open) -> None:
    still = [*FRAME, *MEMORY, *DETAIL, *STEPS, *GRAPH, ".tabs button", ".ledger"]
    page = open_page("/about")
    page.goto(program(DEVICES) + "&lang=en")
    ran(page)
    steps = 6
    page.locator(".changes-body").press("m")
    before = page.evaluate(BOXES, still)
    for step in range(steps - 1, 0, -1):
        page.keyboard.press("ArrowLeft")
        expect(page.locator(".position")).to_have_text(f"Step {step} of {steps}")
        now = page.evaluate(BOXES, still)
        assert moved(before, now) == [], f"at step {step}"
        before |= now


def d4(open_page: Open) -> None:
    page = open_page(DESK)
    found = ask(page, "cards")
    assert len(found["gaps"]) >= 4 and {round(gap, 1) for gap in found["gaps"]} == {12}
    assert set(found["corners"]) == {"10px"}
    assert len(found["heads"]) >= 4 and set(found["heads"]) == {40}
    # Links in text and the rows of the timeline are 24 px high, which WCAG asks for.
    assert page.evaluate(SMALL, 24) == []
    low = SMALL.replace(".place-head", ".place-head, .code, .link, .timeline-peak, .timeline-life-name")
    assert page.evaluate(low, 28) == []


SCALE = {12, 13, 14, 16, 17, 20, 26, 34}
# Beside the scale: signs and captions in figures, code and numbers in them, the header, what leads a page.
BESIDE = {11, 11.5, 12.5, 15, 18, 46}
INDICES = re.compile(r"^span\.(number|strip-number|value|swatch mark-more)$")


def d5(open_page: Open) -> None:
    for name in ("write-through", "views", "lesson", "home", "about"):
        page = shown(open_page, name)
        for size, where in ask(page, "sizes").items():
            if float(size) < 11:
                assert float(size) >= 9.5 and all(map(INDICES.match, where)), (name, size, where)
            elif not all("code" in each or "pass" in each for each in where):
                assert float(size) in SCALE | BESIDE, (name, size, where[:5])
        if name == "write-through":
            code = page.locator(".line-source").first
            lines = code.evaluate(
                "each => ['fontSize', 'lineHeight'].map(one => getComputedStyle(each)[one])"
            )
            assert lines == ["13px", "28px"]
            numbers = page.locator(".memory .cell .value, .position, .usage").evaluate_all(
                "all => all.map(each => getComputedStyle(each).fontVariantNumeric)"
            )
            assert set(numbers) == {"tabular-nums"}
        if name == "lesson":
            text = page.locator(".prose p").first
            size, line = text.evaluate(
                "each => [getComputedStyle(each).fontSize, parseFloat(getComputedStyle(each).lineHeight)]"
            )
            width = text.evaluate("""each => {
              const probe = Object.assign(document.createElement('span'), { textContent: '0'.repeat(64) });
              each.append(probe);
              return each.getBoundingClientRect().width / probe.getBoundingClientRect().width;
            }""")
            assert size == "17px" and line / 17 == pytest.approx(1.65, abs=0.01) and width <= 1.01


def d6(open_page: Open) -> None:
    for name in ("write-through", "mlp", "devices"):
        page = shown(open_page, name)
        assert page.locator(".player .formula, .player .node-title, .player .timeline-name").count() > 4
        assert page.locator(".player svg text").count() == 0
        formula = page.locator(".formula").first
        assert formula.evaluate("each => each.namespaceURI.endsWith('xhtml') && each.textContent.length > 8")


LAYERED = {
    "data": ".lamp-data, .track-data, .hot, .changed, .verdict-in-place, .verdict-fresh",
    "metadata": ".lamp-metadata, .track-metadata, .term-stride, .verdict-view, .address-jump, .address-head",
    "autograd": ".lamp-autograd, .track-autograd, .edge, .edge-head, .node, .holder-saved, .chip",
    "device": ".lamp-device, .track-device, .simulated, .device-badge, .device-bar, .copy, .copy-arrow"
    ", .copy-mark",
}


def d7(open_page: Open) -> None:
    meant: set[str] = set()
    for name in (
        "write-through",
        "mlp",
        "memory over time",
        "ops",
        "what if",
        "lesson answered",
        "side by side",
    ):
        page = shown(open_page, name)
        wrong, right = ask(page, "coloured", [TOKENS, LAYERED])
        assert wrong == [], name
        meant |= right.keys()
    assert meant == set(LAYERS)
    page = open_page(DESK)
    shapes = [page.locator(f".lamp-{layer} path").first.get_attribute("d") for layer in LAYERS]
    assert len(set(shapes)) == 4
    # In grey they still differ by shape, and what has not run is hollow.
    assert page.locator(".lamp.coming").first.evaluate("each => getComputedStyle(each).fill") == "none"


def d8(open_page: Open) -> None:
    page = open_page("/playground?lang=en&example=views#step=10")
    cells = page.locator(".place-shared .grid .cell")
    bars = cells.evaluate_all(
        "all => all.map(each => [...each.classList].filter(one => one.startsWith('bar-'))"
        ".map(one => one.slice(4)))"
    )
    assert len(bars) >= 12 and any(len(each) >= 3 for each in bars)
    order = {bar: place for place, bar in enumerate(["1", "2", "3", "4", "more"])}
    assert all(order.get(a, 9) < order.get(b, 9) for each in bars for a, b in pairwise(each)), bars
    swatches = page.locator(".detail tbody .swatch")
    said = swatches.all_inner_texts()
    assert said[:4] == [""] * 4 and said[4:7] == ["5", "6", "7"], said
    hatch = swatches.nth(4).evaluate("each => getComputedStyle(each).backgroundImage")
    assert "gradient" in hatch
    assert all(page.locator(".detail .tensor-name").all_inner_texts())
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        inks = page.evaluate("""() => ['--v1', '--v2', '--v3', '--v4', '--vink'].map(token =>
          getComputedStyle(document.documentElement).getPropertyValue(token).trim())""")
        assert all(contrast(fill, inks[4]) > 6 for fill in inks[:4])
        filled = page.locator(".place .cell.on .value").first.evaluate("each => getComputedStyle(each).color")
        assert filled == rgb(inks[4])


def d9(open_page: Open) -> None:
    for name in ("nothing yet", "write-through", "devices", "training"):
        assert ask(shown(open_page, name), "faded") == [], name
    page = open_page(DESK)
    page.locator(".line.coming .line-source").first.evaluate("each => { each.style.opacity = '.62'; }")
    assert len(ask(page, "faded")) > 0


def luminance(colour: str) -> float:
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(one: str, other: str) -> float:
    dark, light = sorted(map(luminance, (one, other)))
    return (light + 0.05) / (dark + 0.05)


def rgb(colour: str) -> str:
    return f"rgb({', '.join(str(int(colour[i : i + 2], 16)) for i in (1, 3, 5))})"


ON_GROUND = ("--ink", "--mute", "--link", "--data-ink", "--warn", "--ok")
CODE = ("--ink", "--code-keyword", "--code-string", "--code-builtin", "--link")


def d10(open_page: Open) -> None:
    page = open_page(DESK)
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        of = ask(page, "palette")
        for ground in ("--bg", "--card"):
            assert all(contrast(of[text], of[ground]) >= 4.5 for text in ON_GROUND), (theme, ground)
            marks = (*TOKENS.values(), "--line3", "--focus")
            assert all(contrast(of[mark], of[ground]) >= 3 for mark in marks), (theme, ground)
        assert all(contrast(of[text], of["--now"]) >= 4.5 for text in CODE), theme
        tints = [of[each] for each in ("--data-t", "--meta-t", "--auto-t", "--dev-t", "--ok-t")]
        assert all(contrast(of["--ink"], tint) >= 4.5 for tint in tints), theme
        assert contrast(of["--warn"], of["--warn-t"]) >= 4.5
        assert all(contrast(of["--vink"], of[f"--s{n}"]) >= 4.5 for n in range(1, 9))
        pairs = [(a, b) for a in TOKENS.values() for b in (*TOKENS.values(), "--ok", "--link") if a != b]
        assert all(of[a] != of[b] for a, b in pairs), theme


def d11(open_page: Open) -> None:
    page = open_page("/playground?lang=en#step=2")
    position = page.locator(".position")
    for key, step in [
        ("ArrowRight", 3),
        ("ArrowLeft", 2),
        ("End", 9),
        ("Home", 1),
        ("3", 5),
        ("1", 6),
        ("2", 8),
    ]:
        page.keyboard.press(key)
        expect(position).to_have_text(f"Step {step} of 9")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("Space")
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    page.get_by_role("button", name="Pause").click()
    cell = page.get_by_role("grid").first.get_by_role("gridcell").first
    cell.focus()
    outline = "each => [getComputedStyle(each).outlineStyle, parseFloat(getComputedStyle(each).outlineWidth)]"
    style, width = page.locator(".control-next").evaluate(
        f"each => {{ each.focus({{ focusVisible: true }}); return ({outline})(each); }}"
    )
    assert style == "solid" and width >= 2
    cell.focus()
    read = page.locator(".formula")
    before = read.get_attribute("aria-label")
    page.keyboard.press("ArrowRight")
    by_key = read.get_attribute("aria-label")
    assert by_key != before
    cell.hover()
    expect(read).not_to_have_attribute("aria-label", by_key or "")
    page.get_by_role("grid").first.get_by_role("gridcell").nth(1).hover()
    expect(read).to_have_attribute("aria-label", by_key or "")


def d12(open_page: Open) -> None:
    page = open_page("/playground?lang=en&example=views#step=10")
    page.locator(".place-shared .grid .cell").first.click()
    # The quickest of some: others use this machine too.
    assert min(ask(page, "hover", index) for index in (5, 6, 5, 9, 6, 1)) < 50
    label = page.locator(".detail .formula").get_attribute("aria-label") or ""
    assert re.search(r"\[\d+( \+ \d+·\d+)+\] = S\d\[1\]$", label), label
    assert re.search(r"\[\d+, \d+\]", page.locator(".where .readout-title").inner_text())
    facts = page.locator(".where .facts dd")
    assert facts.first.inner_text() == "+4 … 7"
    assert re.match(r"0x[0-9a-f]+", facts.nth(1).inner_text()), facts.all_inner_texts()
    assert page.locator(".detail .others code").count() >= 3
    expect(page.locator(".place-shared .cell.ring")).to_have_count(1)
    assert page.locator(".code .pointed").count() >= 1


def d13(open_page: Open) -> None:
    page = open_page("/playground?lang=en&example=in-place#step=1")
    steps = int(page.locator(".position").inner_text().split(" of ")[1])
    for step in range(1, steps + 1):
        expect(page.locator(".position")).to_have_text(f"Step {step} of {steps}")
        rows = page.locator(".changes .change")
        names = rows.locator(".change-layer").all_inner_texts()
        assert [each for each in names if each in ("Data", "Metadata", "Autograd", "Device")] == [
            *("Data", "Metadata", "Autograd", "Device")
        ], step
        texts = [" ".join(each.split()) for each in rows.locator("p:not(.outcome-links)").all_inner_texts()]
        assert all(texts)
        said = page.locator("[aria-live=polite]").first
        if step > 1:
            expect(said).to_contain_text(f"Step {step} of {steps}")
            spoken = " ".join((said.text_content() or "").split())
            assert all(text in spoken for text in texts), (step, texts, spoken)
        page.keyboard.press("ArrowRight")
    assert page.locator(".change.unchanged").count() > 0


def d14(open_page: Open) -> None:
    page = open_page("/playground?lang=en#step=4")
    page.keyboard.press("ArrowRight")
    expect(page).to_have_url(re.compile("#step=5$"))
    page.keyboard.press("End")
    expect(page).to_have_url(re.compile("#step=9$"))
    page.go_back()
    expect(page.locator(".position")).to_have_text("Step 5 of 9")
    page.reload()
    expect(page.locator(".position")).to_have_text("Step 5 of 9")


def d15(open_page: Open) -> None:
    page = open_page("/playground?lang=en#step=6", still=False)
    page.wait_for_function("() => document.getAnimations().length === 0")  # the graph has found its place
    page.wait_for_timeout(300)
    assert ask(page, "motions") == []  # nothing plays by itself
    seen = []
    for _ in range(3):
        page.keyboard.press("ArrowRight")
        seen += ask(page, "motions")
    assert seen
    assert all(150 <= duration <= 300 and iterations <= 2 for _, duration, iterations in seen), seen
    quiet = open_page("/playground?lang=en#step=6", still=True)
    for _ in range(3):
        quiet.keyboard.press("ArrowRight")
        assert ask(quiet, "motions") == []


def d16(open_page: Open) -> None:
    page = open_page("/playground?lang=en#step=0")
    expect(page.locator(".memory .lane-empty").first).to_contain_text(re.compile(r"Line 2"))
    page.keyboard.press("Home")
    expect(page.locator(".memory .lane-empty").first).to_contain_text(re.compile(r"Line 2"))
    plain = open_page("/playground?lang=en")
    run(plain, "x = 1\ny = 2\n")
    expect(plain.locator(".position")).to_have_text("Step 2 of 2")
    assert len(plain.locator(".player-memory, .player-figures").first.inner_text().strip()) > 20
    plain.get_by_role("tab", name="Output").click()
    assert len(plain.get_by_role("tabpanel").inner_text()) > 10


def d17(open_page: Open) -> None:
    page = open_page("/playground?lang=en")
    run(page, STALE)
    expect(page.locator(".position")).to_have_text("Step 6 of 6")
    expect(page.locator(".line.now .line-fault, .line.failed .line-fault").first).to_be_visible()
    expect(page.locator(".timeline-ending")).to_have_text("RuntimeError")
    page.locator(".outcome [aria-expanded]").click()
    expect(page.locator(".quoted").first).to_contain_text("modified by an inplace operation")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Go to line 5, the cause").first.click()
    expect(page.locator(".position")).to_have_text("Step 5 of 6")
    page.keyboard.press("Home")
    expect(page.locator(".line.now .line-source")).to_have_text("import torch")


def d18(open_page: Open) -> None:
    page = open_page("/about?lang=en", own=True)
    page.clock.install()
    held: list[Route] = []
    page.route("**/api/trace*", lambda route: held.append(route))
    page.goto(program("x = 1\n") + "&lang=en")
    place = page.locator(".skeleton")
    expect(page.locator(".run-button")).to_be_visible()
    page.clock.run_for(300)
    expect(place).to_be_visible()
    page.clock.run_for(1500)
    expect(page.locator(".run-status")).to_contain_text(re.compile(r"Running, [12] s"))
    cancel = page.get_by_role("button", name="Cancel")
    expect(cancel).to_be_hidden()
    page.clock.run_for(1500)
    cancel.click()
    expect(page.locator(".run-status")).to_contain_text("Cancelled")
    for each in held:
        each.abort()


def d19(open_page: Open) -> None:
    page = shown(open_page, "memory over time")
    drawn = ask(page, "said")
    assert len(drawn) >= 2 and all("simulated" in each for each in drawn), drawn
    expect(page.locator(".device-badge")).to_contain_text("simulated")


def d20(open_page: Open) -> None:
    page = open_page("/lessons/one-storage?lang=en", own=True)
    question = page.locator(".question").first
    answers = page.evaluate(
        "async where => (await fetch(where)).json()", question.get_attribute("data-answers")
    )
    first = re.sub(r"<[^>]*>", "", answers["explanation"]).split(". ")[0].strip()
    words = page.locator("html").inner_text() + page.content()
    assert first and first not in words
    assert not any(each["feedback"] and each["feedback"] in words for each in answers["choices"].values())
    expect(question.get_by_role("button", name="Skip")).to_be_visible()
    wrong = next(name for name, each in answers["choices"].items() if not each["right"])
    question.locator(f"[data-choice={wrong}] input").check()
    question.get_by_role("button", name="Lock in").click()
    expect(question.locator(".question-answer")).to_contain_text(first)
    assert question.locator(f"[data-choice={wrong}] .choice-feedback").inner_text().strip()
    assert page.locator(".progress i").count() >= 3
    expect(page.locator(".progress .now")).to_have_count(1)


def d21(open_page: Open) -> None:
    for language in ("en", "zh"):
        page = open_page(f"/playground?lang={language}#step=7")
        assert unreadable(page) == []
        page.set_viewport_size({"width": 320, "height": 700})
        assert unreadable(page) == []


RULES: dict[str, Callable[[Open], None]] = {
    "D1: a desk shows all without scrolling, a narrow window scrolls down alone": d1,
    "D2: tracks and memory share one scale of time, the step is one band through all": d2,
    "D3: nothing moves when stepping": d3,
    "D4: gaps, corners and headers are everywhere the same, controls are 28 px high": d4,
    "D5: type is on a scale, nothing is smaller than 11 px but the numbers of cells": d5,
    "D6: formulas and labels are text of the page": d6,
    "D7: a layer's colour means that layer, and each has a shape": d7,
    "D8: views have a fill, a name and a bar in a fixed order; from the fifth a hatch and a number": d8,
    "D9: nothing is dimmed by opacity": d9,
    "D10: text has a contrast of 4.5, marks of 3, in both themes": d10,
    "D11: every key does what the sheet says, the keyboard reaches what a mouse points at": d11,
    "D12: pointing at a cell answers in 50 ms: index, offset, byte, address, who else, which code": d12,
    "D13: every step says what changed in each layer, and says the same aloud": d13,
    "D14: the address holds the step, and back returns": d14,
    "D15: only what changed moves, briefly; for who asks for stillness nothing": d15,
    "D16: an empty panel says what will come": d16,
    "D17: an error is a step: marked, quoted, linked to its cause": d17,
    "D18: waiting shows a place at 200 ms, seconds at 1 s, a way out at 3 s": d18,
    "D19: a simulated device is called so wherever it is drawn": d19,
    "D20: a lesson keeps its answer until it is asked for": d20,
    "D21: both languages fit": d21,
}


@pytest.mark.parametrize("rule", RULES, ids=[each.partition(":")[0] for each in RULES])
def test_the_rule_holds(open_page: Open, rule: str) -> None:
    RULES[rule](open_page)


def test_every_rule_is_held() -> None:
    assert [each.partition(":")[0] for each in RULES] == [f"D{n}" for n in range(1, 22)]
