"""Chinese sentences in Chinese punctuation: full-width marks, and no space after them."""

import pytest
from playwright.sync_api import Page, expect

from .conftest import Open

# Words of a block, a hidden text or a label, with a half-width mark beside a Chinese character, or a space
# after a full-width one. Code keeps its own marks; children of a flexible box stand apart by its gap.
FAULTS = r"""() => {
  const bad = /[。，；：！？、] \S|[一-鿿](?:[,;!]|:(?!\d))|[一-鿿]\(|\)[一-鿿]|[,;:] ?[一-鿿]/;
  const found = new Set();
  const look = text => {
    const at = bad.exec(text);
    if (at !== null) found.add(text.slice(Math.max(0, at.index - 20), at.index + 20));
  };
  for (const each of document.querySelectorAll('body *')) {
    if (each.closest('pre, .line, .timeline-label, script, style, [lang=en]') !== null) continue;
    for (const name of ['title', 'aria-label', 'placeholder']) look(each.getAttribute(name) ?? '');
    const own = [...each.childNodes].some(node => node.nodeType === 3 && node.textContent.trim() !== '');
    if (!own || getComputedStyle(each).display.includes('flex')) continue;
    look(each.textContent.replace(/\s+/g, ' '));
  }
  return [...found];
}"""
IN_PLACE = "w=torch.ones(3,requires_grad=True)%0Ay=w.exp()%0As=y.sum()%0Ay.add_(1)%0As.backward()%0A"


@pytest.mark.parametrize(
    "path",
    ["/", "/lessons", "/lessons/one-storage", "/about", "/security", "/embed/v1/one-storage.transpose"],
)
def test_a_page_has_no_half_width_mark_and_no_space_between_chinese_words(open_page: Open, path: str) -> None:
    assert open_page(f"{path}?lang=zh").evaluate(FAULTS) == []


def test_what_a_run_says_is_joined_as_chinese_is(open_page: Open) -> None:
    page: Page = open_page(f"/playground?lang=zh#code=import%20torch%0A{IN_PLACE}")
    expect(page.locator(".run-status")).to_contain_text("不跟踪也一样")
    faults = set(page.evaluate(FAULTS))
    page.locator(".outcome [aria-expanded]").click()
    for key in ("m", "t"):
        page.keyboard.press(key)
        page.wait_for_timeout(200)
        faults |= set(page.evaluate(FAULTS))
    page.keyboard.press("Escape")
    for _ in range(5):
        page.keyboard.press("ArrowLeft")
        faults |= set(page.evaluate(FAULTS))
    assert faults == set()
