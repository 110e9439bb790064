"""The code of a page: calls, lamps in loops, lines opened into operations, where an error came from."""

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from .conftest import Open, Watch
from .conftest import run as start
from .test_accessibility import violations

NESTED = """\
import torch

def inner(a):
    b = a * 2
    return b + 1

def outer(x):
    y = inner(x)
    return y.relu()

x = torch.ones(2, 3)
z = outer(x)
w = z.sum()
"""
LOOP = """\
import torch
x = torch.ones(3)
for i in range(3):
    y = x + i
    if i == 1:
        x.mul_(2)
"""
LAYER = """\
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(4, 2)

    def forward(self, h):
        return self.fc(h)

x = torch.ones(3, 2)
W = torch.ones(2, 4, requires_grad=True)
b = torch.zeros(4, requires_grad=True)
net = Net()
for i in range(2):
    h = x @ W + b
    out = net(h)
h.data.mul_(10)
loss = out.pow(2).mean()
loss.backward()
"""
FAILING = """\
import torch

def inner(a, b):
    c = a * 2
    return c @ b

def outer(a):
    return inner(a, a).relu()

x = torch.ones(2, 3)
z = outer(x)
"""


def position(page: Page) -> Locator:
    return page.locator(".position")


def line(page: Page, number: int) -> Locator:
    return page.locator(f'.line[data-line="{number}"]')


def run(page: Page, source: str) -> None:
    """Run a program and wait for its steps."""
    start(page, source)
    expect(page.get_by_label("Program to run")).to_be_hidden()
    expect(page.locator(".line")).to_have_count(source.count("\n"))


def press(page: Page, keys: str) -> None:
    for key in keys.split():
        page.keyboard.press(key)


@pytest.fixture
def nested(open_page: Open) -> Page:
    page = open_page("/playground?lang=en")
    run(page, NESTED)
    return page


def test_keys_go_into_over_and_out_of_calls(nested: Page) -> None:
    page = nested
    trail = page.locator(".calls-trail li")
    press(page, "Home o o o")
    expect(position(page)).to_have_text("Step 4 of 10")  # x = torch.ones(2, 3)

    page.keyboard.press("o")
    expect(page.locator(".line.now .line-source")).to_have_text("z = outer(x)")
    expect(trail).to_have_text(["main:12"])
    page.keyboard.press("i")
    expect(page.locator(".line.now .line-source")).to_have_text("    y = inner(x)")
    expect(trail).to_have_text(["main:12", "outer:8"])
    page.get_by_role("button", name="Step into").click()
    expect(page.locator(".line.now .line-source")).to_have_text("    b = a * 2")
    expect(trail).to_have_text(["main:12", "outer:8", "inner:4"])
    expect(page.locator(".calls-locals li")).to_have_text(["a (2, 3)", "b (2, 3)"])
    page.keyboard.press("u")
    expect(page.locator(".line.now .line-source")).to_have_text("    y = inner(x)")
    press(page, "i o u")
    expect(trail).to_have_text(["main:12", "outer:8"])
    press(page, "i")
    page.get_by_role("button", name="main: Go to line 12, which called outer").click()
    expect(trail).to_have_text(["main:12"])
    expect(page.get_by_role("button", name="Step out")).to_have_attribute("aria-disabled", "true")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("Step into the call of this line")


def test_a_program_without_calls_has_no_trail(open_page: Open) -> None:
    page = open_page("/playground?lang=en")
    expect(page.locator(".calls")).to_have_count(0)
    run(page, NESTED)
    expect(page.locator(".calls")).to_have_count(1)


def test_lamps_of_a_line_in_a_loop_tell_the_execution_shown_from_others(open_page: Open) -> None:
    page = open_page("/playground?lang=en")
    run(page, LOOP)
    added = line(page, 4).locator(".lamps")
    doubled = line(page, 6).locator(".lamps")
    page.keyboard.press("Home")
    expect(line(page, 4).locator(".line-count")).to_have_text("0/3")
    expect(added).to_have_attribute("aria-label", "execution 0 of 3, Data, later")

    press(page, "ArrowRight " * 3)
    expect(line(page, 4).locator(".line-count")).to_have_text("1/3")
    assert added.get_attribute("aria-label") == "execution 1 of 3, Data"
    expect(added.locator(".lamp.coming")).to_have_count(0)
    expect(doubled.locator(".lamp.coming")).to_have_count(1)
    expect(line(page, 6).locator(".line-count")).to_have_count(0)
    page.keyboard.press("End")
    expect(line(page, 4).locator(".line-count")).to_have_text("3/3")
    assert doubled.get_attribute("aria-label") == "Data"


def test_a_line_opens_into_its_sub_expressions(open_page: Open) -> None:
    page = open_page("/playground?lang=en")
    run(page, LAYER)
    page.get_by_role("button", name="Operations of line 16").click()
    ladder = line(page, 16).locator(".ladder")
    rungs = ladder.locator(".rung")

    expect(ladder).to_contain_text("execution 2 of 2")
    expect(rungs.locator(".rung-text")).to_have_text(["x @ W", "… + b"])
    expect(rungs.locator(".rung-output")).to_have_text(["→ unnamed (3, 4)", "→ h (3, 4)"])
    expect(rungs.locator(".rung-name")).to_have_text(["aten::mm", "aten::add.Tensor"])
    expect(rungs.locator(".verdict")).to_have_text(["new storage", "new storage"])
    expect(rungs.nth(0).locator(".rung-keeps")).to_contain_text("backward keeps x")
    expect(rungs.nth(1).locator(".rung-keeps")).to_have_text("backward keeps nothing")
    rungs.nth(0).hover()
    expect(line(page, 16).locator(".pointed")).to_have_text(["x @ W"])
    rungs.nth(1).focus()
    expect(line(page, 16).locator(".pointed")).to_have_text(["x @ W + b"])
    page.keyboard.press("ArrowUp")
    expect(rungs.nth(0)).to_be_focused()
    page.keyboard.press("Escape")
    expect(ladder).to_be_hidden()
    expect(page.get_by_role("button", name="Operations of line 16")).to_be_focused()


def test_a_module_call_and_a_write_open_too(open_page: Open) -> None:
    page = open_page("/playground?lang=en")
    run(page, LAYER)
    for number in (9, 17, 18, 20):
        page.get_by_role("button", name=f"Operations of line {number}").click()

    linear = line(page, 9).locator(".rung")
    expect(linear.locator(".rung-name")).to_have_text(["aten::t", "aten::addmm"])
    expect(linear.locator(".verdict")).to_have_text(["view", "new storage"])
    expect(linear.locator(".rung-keeps")).to_contain_text("a view of")
    call = line(page, 17).locator(".rung")
    expect(call.locator(".rung-text")).to_have_text(["Net.forward(…)"])
    expect(line(page, 18).locator(".verdict")).to_contain_text(["in place"])
    backward = line(page, 20).locator(".rung-node .rung-text")
    expect(backward.nth(0)).to_have_text("MeanBackward0")
    call.get_by_role("button", name="Step into 1 line").click()
    expect(page.locator(".line.now .line-source")).to_have_text("        return self.fc(h)")


def test_an_open_line_stays_open_and_moves_nothing(open_page: Open) -> None:
    page = open_page("/playground?lang=en")
    run(page, LAYER)
    press(page, "Home o o o o o o o")
    press(page, "ArrowRight e")
    opened = page.locator(".ladder:visible")
    expect(opened).to_have_count(1)
    page.get_by_role("button", name="Operations of line 17").click()
    tops = "() => [...document.querySelectorAll('.line')].map(each => [each.offsetTop, each.offsetHeight])"
    before = page.evaluate(tops)
    for _ in range(8):
        page.keyboard.press("ArrowRight")
        assert page.evaluate(tops) == before
    expect(opened).to_have_count(2)
    run(page, LAYER)
    expect(opened).to_have_count(2)


def test_the_current_line_is_seen_whole_at_every_step(open_page: Open) -> None:
    page = open_page("/playground?lang=en", height=780)
    run(page, LAYER)
    seen = """() => {
      const box = document.querySelector('.code-body').getBoundingClientRect();
      const line = document.querySelector('.line.now .line-source').getBoundingClientRect();
      return line.top >= box.top && line.bottom <= box.bottom;
    }"""
    steps = int(position(page).inner_text().split(" of ")[1])
    page.wait_for_function(seen)
    page.keyboard.press("Home")
    for _ in range(steps):
        assert page.evaluate(seen), position(page).inner_text()
        page.keyboard.press("ArrowRight")


def test_an_error_in_a_called_function_is_told_at_the_line_and_at_its_calls(open_page: Open) -> None:
    page = open_page("/playground?lang=en")
    run(page, FAILING)
    error = page.locator(".remark-error")

    expect(error).to_contain_text("inner sizes")
    expect(line(page, 5).locator(".line-fault")).to_have_text("✕ error")
    for number in (8, 11):
        expect(line(page, number).locator(".line-fault")).to_have_text("✕ error inside")
    error.get_by_role("button", name="Go to line 5").click()
    expect(page.locator(".line.now .line-source")).to_have_text("    return c @ b")
    expect(error).to_contain_text("inner sizes")
    expect(line(page, 5).locator(".fault")).to_have_text("c @ b")
    error.get_by_role("button", name="Go to line 8, the call").click()
    expect(page.locator(".line.now .line-source")).to_have_text("    return inner(a, a).relu()")
    expect(error).to_be_visible()


def test_axe_finds_nothing_in_opened_lines_calls_and_the_code_editor(open_page: Open) -> None:
    page = open_page("/playground?lang=en", bypass_csp=True, width=390, height=900)
    run(page, LAYER)
    for number in (9, 16, 17, 20):
        page.get_by_role("button", name=f"Operations of line {number}").click()
    press(page, "u i ArrowLeft")
    assert violations(page, ".player-code") == []
    page.get_by_role("button", name="Edit").click()
    expect(page.locator(".editor-code")).to_be_visible()
    assert violations(page, ".player-code") == []


# ---- Editing


def editor(page: Page) -> Locator:
    return page.get_by_role("textbox", name="Program to run")


@pytest.fixture
def editing(open_page: Open) -> Page:
    page = open_page("/playground?lang=en")
    page.get_by_role("button", name="Edit").click()
    expect(page.locator(".editor-code")).to_be_visible()
    expect(editor(page)).to_be_focused()
    return page


def test_the_code_editor_comes_with_the_press_of_edit_and_colours_python(open_page: Open) -> None:
    page = open_page("/playground?lang=en")
    loaded: list[str] = []
    page.on("request", lambda request: loaded.append(request.url))
    page.get_by_role("button", name="Edit").click()

    expect(page.locator(".editor-code")).to_be_visible()
    assert any("code-editor" in url for url in loaded)
    expect(editor(page)).to_contain_text("loss.backward()")
    colours = "() => [...document.querySelector('.editor-shadow').shadowRoot.querySelectorAll('.cm-line')]"
    keyword, name = page.evaluate(
        f"{colours}[0].querySelectorAll('span').length ? "
        f"[getComputedStyle({colours.removeprefix('() => ')}[0].querySelector('span')).color,"
        f" getComputedStyle({colours.removeprefix('() => ')}[0]).color] : []"
    )
    assert keyword != name


def test_the_editor_does_not_keep_the_keyboard_and_the_page_does_not_take_its_keys(editing: Page) -> None:
    page = editing
    editor(page).press("Control+Home")
    page.keyboard.type("1eio ")
    page.keyboard.press("ArrowLeft")
    expect(editor(page)).to_contain_text("1eio import torch")
    expect(position(page)).to_have_text("Step 9 of 9")
    page.keyboard.press("Control+Home")
    page.keyboard.press("Tab")
    expect(editor(page)).to_contain_text("    1eio import torch")
    expect(editor(page)).to_be_focused()
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    expect(editor(page)).not_to_be_focused()
    expect(page.locator(".editor-keys")).to_contain_text("Escape, then Tab leaves")
    editor(page).focus()
    for _ in range(2):
        page.keyboard.press("Control+z")
    expect(editor(page)).not_to_contain_text("1eio")


def test_return_indents_and_control_return_runs(editing: Page) -> None:
    page = editing
    editor(page).fill("")
    page.keyboard.type("import torch\nfor i in range(2):\nx = torch.ones(2) * i  # 变量")
    page.keyboard.press("Control+Enter")

    expect(page.locator(".line-source").nth(2)).to_have_text("    x = torch.ones(2) * i  # 变量")
    expect(position(page)).to_have_text("Step 6 of 6")


@pytest.mark.parametrize(
    ("source", "piece", "why"),
    [
        ("import torch\nx = torch.ones(2, 3)\ny = x + (x @ x)\n", "x @ x", "Line 3: "),
        ("import torch\nx = torch.ones(3\ny = 1\n", "(", "Line 2: "),
    ],
    ids=["raised", "syntax"],
)
def test_what_failed_is_underlined_in_the_editor(editing: Page, source: str, piece: str, why: str) -> None:
    page = editing
    run(page, source)
    page.get_by_role("button", name="Edit").click()

    expect(page.locator(".cm-fault")).to_have_text(piece)
    expect(page.locator(".editor-fault")).to_contain_text(why)
    page.keyboard.press("Control+End")
    page.keyboard.type("z = 1")
    expect(page.locator(".editor-fault")).to_be_empty()
    expect(page.locator(".cm-fault")).to_have_text(piece)


def test_without_the_code_editor_a_text_area_does(open_page: Open, watch: Watch) -> None:
    page = open_page("/playground?lang=en")

    def refuse(route: Route) -> None:
        route.abort()

    watch.expected.append("code-editor")
    watch.expected.append("ERR_FAILED")
    page.route("**/code-editor*", refuse)
    run(page, LOOP)
    expect(page.locator("textarea.editor-text")).to_have_count(1)
    expect(page.locator(".line-source").nth(2)).to_have_text("for i in range(3):")


def test_marks_of_lines_stay_beside_their_lamps_however_long_the_lines_are(open_page: Open) -> None:
    page = open_page("/playground?lang=en")
    start(
        page,
        "import torch\ncolumn = torch.arange(3.).view(3, 1)\nrow = torch.arange(3.)\n"
        f"loss = ((column - row) ** 2).mean()  # {'so ' * 40}\n"
        f"wrong = column.view(3, 1).t().view(2, 2)  # {'long ' * 40}\n",
    )
    expect(page.locator(".line-fault")).to_be_visible()
    box = page.locator(".code-body").bounding_box()
    assert box is not None
    for mark, line in ((".line-fault", 5), (".line-cause", 4)):
        badge = page.locator(f".line[data-line='{line}'] {mark}")
        expect(badge).to_be_visible()
        place = badge.bounding_box()
        lamps = page.locator(".line[data-line='4'] .lamp").first.bounding_box()
        assert place is not None and lamps is not None
        assert box["x"] < place["x"] and place["x"] + place["width"] <= lamps["x"] + 1


def test_what_a_program_that_finished_did_not_mean_is_said_above_it(open_page: Open) -> None:
    page = open_page("/playground?lang=en")
    start(
        page,
        "import torch\ncolumn = torch.arange(3.).view(3, 1)\nrow = torch.arange(3.)\n"
        "loss = ((column - row) ** 2).mean()\nprint(loss)\n",
    )
    banner = page.locator(".outcome")
    expect(banner).to_contain_text("Notice on line 4")
    expect(page.locator(".line[data-line='4'] .line-cause")).to_have_attribute("aria-label", "Notice")
    banner.get_by_role("button", name="Go to line 4").click()

    expect(page.locator(".line.now")).to_have_attribute("data-line", "4")
    assert violations(page, ".outcome") == []
