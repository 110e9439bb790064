"""What torch.compile did, and the way of an op, read as a reader would."""

from playwright.sync_api import expect

from .conftest import Open, run

COMPILED = """\
import torch
@torch.compile(backend="eager")
def f(x, n):
    y = x * n
    return y.relu()
x = torch.ones(3)
a = f(x, 2)
a = f(x, 2)
b = f(x.double(), 2)
"""
PLAIN = "import torch\nx = torch.ones(2, 3, requires_grad=True)\ny = x.reshape(6)\n"


def test_graphs_guards_and_recompilations_are_told(open_page: Open) -> None:
    page = open_page("/playground?lang=en")
    run(page, COMPILED)
    expect(page.locator(".position")).to_have_text("Step 6 of 6")
    panel = page.get_by_role("region", name="Compiled")
    facts = panel.locator(".compiled-facts")
    expect(facts).to_contain_text("Compiled again: 0/0 did not fit")
    expect(facts.locator(".compiled-change")).to_have_text("x dtype float32 → float64")
    expect(panel.get_by_role("tab")).to_have_count(2)

    panel.get_by_role("tab").first.click()
    expect(facts).to_contain_text("2 times, 1 of them from the cache")
    expect(facts.locator(".compiled-guards")).to_contain_text("nequals2")
    expect(panel.locator(".fx-title")).to_have_text(["x", "mul", "relu", "output"])
    panel.locator(".fx-node", has_text="mul").hover()
    expect(page.locator(".code .pointed")).to_have_text("y = x * n")

    panel.get_by_role("button", name="List").click()
    expect(panel.locator(".fx-list li").nth(1)).to_have_text("y = operator.mul(l_x_, 2)(3) float32 · line 4")
    panel.get_by_role("button", name="Autograd").click()
    expect(panel).to_be_hidden()
    expect(page.get_by_role("heading", name="Autograd graph")).to_be_visible()


def test_a_program_that_compiles_nothing_has_no_such_panel(open_page: Open) -> None:
    page = open_page("/playground?lang=en")
    run(page, PLAIN)
    expect(page.locator(".position")).to_have_text("Step 3 of 3")
    expect(page.locator(".player-compiled")).to_have_count(0)


def test_the_way_of_an_op_goes_from_python_to_the_kernel(open_page: Open) -> None:
    page = open_page("/playground?lang=en")
    run(page, PLAIN)
    expect(page.locator(".position")).to_have_text("Step 3 of 3")
    page.get_by_role("tab", name="Ops").click()
    way = page.get_by_role("button", name="The way of aten::view through the dispatcher")
    way.click()
    sheet = page.get_by_role("dialog")
    expect(sheet.locator(".way-head").first).to_contain_text("Python calls reshape")
    expect(sheet).to_contain_text("aten::reshape is composite")
    expect(sheet.locator(".way-dispatch .way-key > code")).to_have_text(
        ["AutogradCPU", "ADInplaceOrView", "BackendSelect", "CPU"]
    )
    expect(sheet.locator(".way-key.passes")).to_have_text(["BackendSelectpasses on"])
    expect(sheet).to_contain_text("No bytes moved")
    page.keyboard.press("Escape")
    expect(way).to_be_focused()
