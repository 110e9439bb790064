"""What watching changed, as a reader meets it: after the trace, without a reload, by name and cause."""

import re

import pytest
from playwright.sync_api import expect

from .conftest import Open, run
from .test_playground import position

SINGULAR = "import torch\na = torch.randn(3, 3)\ns = torch.linalg.svdvals(a)\n"
GRADIENT = "import torch\nw = torch.ones(3, requires_grad=True)\n(w * w).sum().backward()\n"
MATMUL = "import torch\nx = torch.randn(2, 2, 3, requires_grad=True)\ny = x @ x.mT\n"


@pytest.mark.parametrize(
    ("language", "same"), [("en", "same untraced"), ("zh", "不跟踪也一样")], ids=["en", "zh"]
)
def test_the_status_says_that_nothing_differs(open_page: Open, language: str, same: str) -> None:
    page = open_page("/playground?lang=en" if language == "en" else "/playground?lang=zh#step=1")
    page.get_by_role("button", name=re.compile("Edit|编辑")).click()
    editor = page.locator(".code-editor textarea, .code-editor [contenteditable=true]").first
    editor.fill("x = 1\n")
    editor.press("Control+Enter")

    expect(page.locator(".run-status")).to_contain_text(same)
    expect(page.locator(".outcome")).to_be_hidden()


def test_an_effect_is_named_with_its_cause_on_request(open_page: Open) -> None:
    page = open_page("/playground?lang=en")
    run(page, GRADIENT)

    expect(page.locator(".outcome-line")).to_have_text("Watching changed one fact of this program.")
    expect(page.locator(".run-status")).to_contain_text("differs untraced")
    page.locator(".outcome").get_by_role("button", name="Details").click()
    expect(page.locator(".outcome-story")).to_contain_text(
        "the version of w.grad is 0 as traced, 1 without the tracer"
    )


def test_values_of_the_unobserved_run_are_marked(open_page: Open) -> None:
    page = open_page("/playground?lang=en")
    run(page, SINGULAR)

    expect(position(page)).to_have_text("Step 3 of 3")
    expect(page.locator(".detail .unobserved")).to_have_text("from the unobserved run")
    page.keyboard.press("Escape")
    page.locator("body").press("ArrowLeft")
    expect(position(page)).to_have_text("Step 2 of 3")
    expect(page.locator(".detail .unobserved")).to_have_count(0)


def test_a_graph_node_says_both_of_its_names(open_page: Open) -> None:
    page = open_page("/playground?lang=en")
    run(page, MATMUL)

    node = page.locator(".node", has_text="≠ ReshapeAliasBackward0").first
    expect(node).to_contain_text("ViewBackward0")
    expect(node).to_have_attribute("title", "ViewBackward0, without the tracer ReshapeAliasBackward0")
