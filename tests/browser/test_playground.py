"""The playground as a reader uses it: open, step, edit, run, fail, stop, share, go back."""

import re
from urllib.parse import urlsplit

from playwright.sync_api import Page, expect

from .conftest import Open, Watch, run, visit

LOOP = "total = 0\nwhile True:\n    total += 1\n"
IN_PLACE = """\
import torch
w = torch.ones(3, requires_grad=True)
y = w.exp()
s = y.sum()
y.add_(1)
s.backward()
"""
SMALL = "import torch\nx = torch.arange(6.).reshape(2, 3)\ny = x.t()\ny.add_(1)\nprint(x.sum().item())\n"


def position(page: Page):
    return page.locator(".position")


def current_line(page: Page):
    return page.locator(".line.now .line-source")


def test_it_opens_with_a_program_that_has_run(open_page: Open) -> None:
    page = open_page("/playground?lang=en")

    expect(position(page)).to_have_text("Step 9 of 9")
    expect(current_line(page)).to_have_text("loss.backward()")
    expect(page.locator(".run-status")).to_contain_text("torch 2.13")


def test_the_keys_step_the_address_follows_and_who_cannot_see_it_is_told(open_page: Open) -> None:
    page = open_page("/playground?lang=en#step=5")
    expect(position(page)).to_have_text("Step 5 of 9")

    for key, step, line in [
        ("ArrowRight", 6, "h = x @ w"),
        ("ArrowLeft", 5, "w = torch.ones(4, 2, requires_grad=True)"),
        ("Home", 1, "import torch"),
        ("1", 2, "x = torch.arange(12.).view(3, 4)"),
        ("3", 5, "w = torch.ones(4, 2, requires_grad=True)"),
        ("2", 6, "h = x @ w"),
        ("End", 9, "loss.backward()"),
        ("ArrowRight", 9, "loss.backward()"),
    ]:
        page.keyboard.press(key)
        expect(position(page)).to_have_text(f"Step {step} of 9")
        expect(current_line(page)).to_have_text(line)
        expect(page).to_have_url(re.compile(rf"#step={step}$"))
    # A jump is worth an entry in the history: End came from step 6.
    page.go_back()
    expect(position(page)).to_have_text("Step 6 of 9")
    page.keyboard.press("ArrowRight")
    said = page.locator("[aria-live=polite]")
    expect(said).to_contain_text("Step 7 of 9: z.mul_(10). Data: 4 of 12 values")
    expect(said).to_contain_text("Metadata: No change")


def test_the_buttons_step_and_say_where_they_end(open_page: Open) -> None:
    page = open_page("/playground?lang=en#step=2")

    first, previous = (page.get_by_role("button", name=name) for name in ("First step", "Previous step"))
    following, last = (page.get_by_role("button", name=name) for name in ("Next step", "Last step"))
    following.click()
    expect(position(page)).to_have_text("Step 3 of 9")
    previous.click()
    previous.click()
    expect(position(page)).to_have_text("Step 1 of 9")
    expect(previous).to_have_attribute("aria-disabled", "true")
    last.click()
    expect(position(page)).to_have_text("Step 9 of 9")
    expect(following).to_have_attribute("aria-disabled", "true")
    first.click()
    expect(position(page)).to_have_text("Step 1 of 9")
    page.locator('.line[data-line="6"] .line-source').click()
    expect(position(page)).to_have_text("Step 6 of 9")


def test_it_plays_and_lists_its_keys_on_request(open_page: Open) -> None:
    page = open_page("/playground?lang=en#step=7")
    page.keyboard.press("Space")
    expect(position(page)).to_have_text("Step 8 of 9")
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()
    page.keyboard.press("?")
    sheet = page.get_by_role("dialog")
    expect(sheet).to_contain_text("Next change in autograd")
    page.keyboard.press("Escape")
    expect(sheet).to_be_hidden()


def test_an_edited_program_runs_with_ctrl_and_enter(open_page: Open) -> None:
    page = open_page("/playground?lang=en")

    run(page, SMALL)

    expect(position(page)).to_have_text("Step 5 of 5")
    expect(page).to_have_url(re.compile(r"#z=[\w-]+&step=5$"))
    page.get_by_role("tab", name="Output").click()
    expect(page.get_by_role("tabpanel")).to_have_text("21.0")
    page.get_by_role("tab", name="Ops").click()
    expect(page.get_by_role("tabpanel")).to_contain_text("aten::sum")


def test_an_error_names_the_line_that_made_it_come(open_page: Open) -> None:
    page = open_page("/playground?lang=en")

    run(page, IN_PLACE)

    banner = page.locator(".outcome")
    expect(banner).to_contain_text("RuntimeError on line 6")
    expect(banner).to_contain_text("Line 5 wrote to it in place")
    expect(page.locator(".line-fault")).to_have_text("✕ error")
    expect(page.locator('.line[data-line="6"] .fault').first).to_be_visible()
    banner.get_by_role("button", name="Go to line 5, the cause").click()
    expect(position(page)).to_have_text("Step 5 of 6")
    expect(current_line(page)).to_have_text("y.add_(1)")
    expect(page.locator(".graph .chip-stale")).to_contain_text("v0 → v1")
    page.get_by_role("button", name="Details").click()
    expect(page.locator(".quoted").first).to_contain_text("is at version 1; expected version 0")


def test_an_endless_loop_is_stopped_and_its_steps_are_kept(open_page: Open) -> None:
    page = open_page("/playground?lang=en")

    run(page, LOOP)

    expect(page.locator(".outcome-line")).to_contain_text("Time limit")
    expect(page.locator(".outcome-line")).to_contain_text("3 s")
    steps = position(page).inner_text()
    assert int(steps.split(" of ")[1]) > 3, steps
    page.keyboard.press("Home")
    expect(current_line(page)).to_have_text("total = 0")


def test_a_syntax_error_is_marked_where_it_is(open_page: Open) -> None:
    page = open_page("/playground?lang=en")

    run(page, "import torch\nx = torch.ones(2\ny = x\n")

    expect(page.locator(".outcome")).to_contain_text("SyntaxError on line 2")
    fault = page.locator('.line[data-line="2"] .fault')
    expect(fault.first).to_be_visible()
    assert "(" in "".join(fault.all_inner_texts())


def test_a_run_that_takes_long_says_so_and_can_be_cancelled(open_page: Open) -> None:
    page = open_page("/playground?lang=en", own=True)
    page.clock.install()
    status, cancel = page.locator(".run-status"), page.get_by_role("button", name="Cancel")

    run(page, "import time\nwhile True:\n    time.sleep(0.01)\n")
    expect(status).to_contain_text("Running")
    expect(cancel).to_be_hidden()
    page.clock.fast_forward(3000)
    expect(status).to_contain_text(re.compile(r"Running, \d s"))
    cancel.click()

    expect(status).to_contain_text("Cancelled")
    expect(cancel).to_be_hidden()
    expect(position(page)).to_have_text("Step 9 of 9")


def test_a_program_too_long_for_the_server_is_told_its_limit(open_page: Open, watch: Watch) -> None:
    watch.expected.append("413")
    page = open_page("/playground?lang=en")

    run(page, "# " + "x" * 70_000)

    expect(page.get_by_role("alert")).to_contain_text("64 KiB")
    expect(page.get_by_label("Program to run")).to_be_visible()


def test_an_example_is_chosen_from_the_menu_and_back_returns(open_page: Open) -> None:
    page = open_page("/playground?lang=en#step=4")
    menu = page.get_by_label("Examples")

    menu.select_option(label="Seven views of one storage")
    expect(position(page)).to_have_text("Step 10 of 10")
    expect(page).to_have_url(re.compile(r"example=views"))
    page.go_back()
    expect(position(page)).to_have_text("Step 4 of 9")
    expect(menu).to_have_value("write-through")
    page.go_forward()
    expect(position(page)).to_have_text("Step 10 of 10")
    for option in menu.locator("option").all()[1:]:
        menu.select_option(value=option.get_attribute("value"))
        expect(page.locator(".run-status")).to_contain_text("torch")
        expect(page.locator(".line-source").first).to_have_text("import torch")
        expect(page.locator(".memory .place:not(.waiting)").first).to_be_visible()


def test_back_returns_to_the_program_before(open_page: Open) -> None:
    page = open_page("/playground?lang=en")
    run(page, SMALL)
    expect(position(page)).to_have_text("Step 5 of 5")
    expect(page).to_have_url(re.compile("#z="))
    page.go_back()
    expect(position(page)).to_have_text("Step 9 of 9")


def test_a_shared_link_restores_program_and_step(open_page: Open) -> None:
    page = open_page("/playground?lang=en")
    run(page, SMALL)
    expect(position(page)).to_have_text("Step 5 of 5")
    page.keyboard.press("ArrowLeft")
    page.get_by_role("button", name="Share").click()
    fields = page.get_by_role("dialog").get_by_role("textbox")
    link = fields.first.input_value()
    assert urlsplit(link).fragment.startswith("z=") and link.endswith("&step=4")
    assert "<iframe" in fields.last.input_value()

    other = open_page(link.removeprefix(page.evaluate("() => location.origin")) + "&x=1")

    expect(position(other)).to_have_text("Step 4 of 5")
    expect(current_line(other)).to_have_text("y.add_(1)")
    assert [line.strip() for line in other.locator(".line-source").all_inner_texts()] == SMALL.splitlines()


def test_a_link_that_lost_a_part_says_so(open_page: Open) -> None:
    page = open_page("/about?lang=en")
    page.goto("/playground?lang=en#z=AAAA&step=2")
    expect(page.get_by_role("alert")).to_contain_text("cannot be read")


def test_a_link_with_an_empty_program_is_a_program(open_page: Open) -> None:
    page = open_page("/playground?lang=en#code=")
    expect(position(page)).to_have_text("Step 0 of 0")


def test_where_run_is_off_a_shared_program_is_still_shown(open_page: Open, server: str) -> None:
    shared = open_page("/playground?lang=en")
    run(shared, SMALL)
    expect(shared).to_have_url(re.compile("#z="))
    page = open_page("/about?lang=en")
    page.route(
        re.compile(r"/playground\?"),
        lambda route: route.fulfill(response=(answer := route.fetch()), body=switched_off(answer.text())),
    )

    page.goto(shared.url)

    expect(page.get_by_role("alert")).to_contain_text("Run is switched off")
    expect(page.get_by_label("Program to run")).to_have_text(SMALL, use_inner_text=True)
    expect(page.get_by_role("button", name=re.compile("^Run"))).to_have_attribute("aria-disabled", "true")


def switched_off(html: str) -> str:
    changed = html.replace('"run":true', '"run":false')
    assert changed != html
    return changed


def test_the_theme_button_switches_and_is_remembered(open_page: Open) -> None:
    page = open_page("/about?lang=en", own=True)
    ground = "() => getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    page.get_by_role("button", name="Light or dark").click()
    assert page.evaluate(ground) != light
    visit(page, "/lessons?lang=en")
    assert page.evaluate(ground) != light


def test_another_language_keeps_the_program_and_the_step(open_page: Open) -> None:
    page = open_page("/playground?lang=en")
    run(page, SMALL)
    expect(position(page)).to_have_text("Step 5 of 5")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Previous step").click()
    expect(page).to_have_url(re.compile("#z=.*&step=4"))

    page.get_by_role("link", name="中文").click()

    expect(page).to_have_url(re.compile("lang=zh#z="))
    expect(position(page)).to_have_text("第 4 步，共 5 步")
    expect(current_line(page)).to_have_text("y.add_(1)")


def test_an_edit_that_has_not_run_survives_a_visit_to_another_page(open_page: Open) -> None:
    page = open_page("/playground?lang=en")
    page.get_by_role("button", name="Edit").click()
    page.get_by_label("Program to run").fill(SMALL)
    page.get_by_role("link", name="About", exact=True).first.click()
    expect(page).to_have_url(re.compile("/about"))

    page.get_by_role("link", name="Playground", exact=True).click()

    expect(page.get_by_label("Program to run")).to_have_text(SMALL, use_inner_text=True)
    expect(page.locator(".run-status")).to_contain_text("Edited")


def test_a_program_stopped_for_its_time_says_which_line_ran_and_what_to_do(open_page: Open) -> None:
    page = open_page("/playground?lang=en")
    run(page, LOOP)

    expect(page.locator(".outcome-line")).to_contain_text(re.compile(r"Line [23] ran [\d,]+ times"))
    expect(page.locator(".outcome-line")).to_contain_text("Run fewer iterations")


def test_new_numbers_run_the_program_again_and_the_address_keeps_them(open_page: Open) -> None:
    page = open_page("/playground?lang=en")
    again = page.get_by_role("button", name="New numbers")

    def printed() -> str:
        expect(page.locator(".run-status")).to_contain_text("ran in")
        page.get_by_role("tab", name="Output").click()
        return page.locator("pre.output").inner_text()

    run(page, "import torch\nx = torch.rand(1)\nprint(x.item())\n")
    expect(again).to_be_visible()
    first = printed()
    again.click()
    expect(page).to_have_url(re.compile(r"&seed=\d+"))
    second = printed()
    assert second != first
    page.reload()
    assert printed() == second
    # a program that draws none, or seeds itself, has no other numbers
    for source in ("x = 1\n", "import torch\ntorch.manual_seed(1)\nx = torch.rand(1)\n"):
        run(page, source)
        expect(again).to_be_hidden()
