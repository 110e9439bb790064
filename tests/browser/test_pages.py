"""Every page: both languages, no script, no error in the console, nothing asked of another host.

The last two are watched by `open_page` in every test of this folder.
"""

import re

import pytest
from playwright.sync_api import Page, expect

from .conftest import Open, Watch, visit

PAGES = {
    "home": "/",
    "lessons": "/lessons",
    "lesson": "/lessons/one-storage",
    "playground": "/playground",
    "about": "/about",
    "api": "/api/docs",
    "embed": "/embed/v1/examples.write-through",
    "not-found": "/nothing-here",
}

# Words a Chinese page keeps: names, code, and terms its readers write in English too.
KEPT = frozenset(
    [
        *("Tensor", "Anatomy", "PyTorch", "torch", "API", "OpenAPI", "TraceRequest", "RuntimeError", "None"),
        *("Ctrl", "cpu", "cuda", "iframe", "cookie", "untyped", "storage", "shape", "stride", "grad", "self"),
        "storage_offset",
    ]
)

# What a reader of a page reads first: headings, controls, labels, but no code and nothing marked as English.
WORDS = """() => [...document.querySelectorAll(
    'h1, h2, h3, h4, button, a:not([href^="http"]), label, legend, th, option, summary, .eyebrow')]
  .filter(each => !each.closest('[lang=en]:not(html)') && each.checkVisibility())
  .map(each => {
    const copy = each.cloneNode(true);
    const code = copy.querySelector('.tensor-name, .place-names') !== null;
    const english = 'code, kbd, [lang=en], .tensor-name, .place-names';
    for (const part of copy.querySelectorAll(english)) part.remove();
    const pieces = [...copy.querySelectorAll('*'), copy].flatMap(one => [...one.childNodes])
      .filter(node => node.nodeType === Node.TEXT_NODE).map(node => node.data);
    const title = code ? '' : (copy.getAttribute('title') ?? '');
    return [...pieces, copy.getAttribute('aria-label') ?? '', title].join(' ');
  })"""


def english(page: Page) -> list[str]:
    """Texts of a page with a word of three letters or more that is not kept."""
    return [
        text
        for text in page.evaluate(WORDS)
        if any(word not in KEPT and "Backward" not in word for word in re.findall(r"[A-Za-z_]{3,}", text))
    ]


def test_every_page_speaks_the_language_that_is_asked_for(open_page: Open, watch: Watch) -> None:
    watch.expected.append("/nothing-here")
    page = open_page("/about?lang=zh")
    left = {}
    for name, path in PAGES.items():
        visit(page, f"{path}?lang=zh")
        expect(page.locator("html")).to_have_attribute("lang", "zh-Hans")
        expect(page.locator("h1")).to_have_text(re.compile(r"[\u4e00-\u9fff]|^API"))
        if found := english(page):
            left[name] = found
    assert not left, left


def test_the_finder_of_english_finds_it(open_page: Open) -> None:
    page = open_page("/about?lang=en")
    assert any("What happens to a program" in text for text in english(page))


def test_the_playground_is_chinese_to_the_last_word_of_its_story(open_page: Open) -> None:
    page = open_page("/playground?lang=zh#step=7")
    expect(page.locator(".changes")).to_contain_text("存储 S1 的 12 个值中有 4 个被原地改写")
    expect(page.locator(".outcome")).to_contain_text("第 9 行")
    page.get_by_role("button", name="详情").click()
    expect(page.locator(".quoted").first).to_contain_text(
        "modified by an inplace operation"
    )  # PyTorch's own words


def test_the_language_switch_stays_on_the_page(open_page: Open) -> None:
    page = open_page("/lessons/one-storage?lang=en")
    page.get_by_role("link", name="中文").click()
    expect(page.locator("h1")).to_have_text("一块存储，多个张量")
    page.get_by_role("link", name="课程", exact=True).click()
    expect(page.locator("html")).to_have_attribute("lang", "zh-Hans")


def test_pointing_at_a_cell_of_the_home_page_lights_its_bytes(open_page: Open) -> None:
    page = open_page("/?lang=en")
    page.locator('.hero-cell-y[data-cell="4"]').hover()
    pointed = page.locator(".hero-cell.pointed")
    expect(pointed).to_have_count(3)
    expect(page.locator("#hero")).to_have_class(re.compile("pointing"))


def test_the_home_page_leads_to_a_program_that_runs(open_page: Open) -> None:
    page = open_page("/?lang=en")
    page.get_by_role("link", name="Open the playground").click()
    expect(page.locator(".position")).to_have_text("Step 9 of 9")


def test_an_unknown_address_is_a_page_with_ways_out(open_page: Open, watch: Watch) -> None:
    watch.expected.append("/nothing-here")
    page = open_page("/nothing-here?lang=en")
    expect(page.locator("h1")).to_have_text("There is nothing at this address")
    page.get_by_role("main").get_by_role("link", name="Playground").click()
    expect(page).to_have_url(re.compile("/playground"))


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/", ["What does this line do to a tensor?", "y[0, 1] = 30", "One storage, two tensors"]),
        (
            "/lessons/one-storage",
            ["Does transpose move the data?", "x has a storage of its own", "Lock in and reveal"],
        ),
        ("/embed/v1/one-storage.transpose", ["y[0, 1] = 30", "overwritten in place", "stride (1, 3)"]),
        ("/playground", ["loss.backward()", "Running and stepping need JavaScript"]),
    ],
    ids=["home", "lesson", "embed", "playground"],
)
def test_without_scripts_a_page_can_be_read(open_page: Open, path: str, words: list[str]) -> None:
    page = open_page(f"{path}?lang=en", scripts=False, width=720)

    text = " ".join(page.locator("body").inner_text().split())
    for piece in words:
        assert piece in text
    # Nothing that only a script can move, and nothing wider than the window.
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    assert page.get_by_role("button", name="Next step").count() == 0


def test_without_scripts_a_question_can_be_answered(open_page: Open) -> None:
    page = open_page("/lessons/one-storage?lang=en", scripts=False)
    question = page.locator("#question-transpose")
    question.get_by_label("Metadata").check()
    question.get_by_role("button", name="Lock in and reveal").click()
    expect(page.locator("#question-transpose")).to_contain_text("4 of 4 right")
    expect(page.locator("#question-transpose")).to_contain_text("Only the metadata.")
