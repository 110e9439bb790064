"""What a program calls its things, prints and raises is text on a page and never becomes a part of it."""

from playwright.sync_api import Page, expect

from .conftest import Open, run

BAD = '<img src=x onerror="window.pwned=1"><svg onload=pwned=1></svg></script><script>window.pwned=1</script>'

SOURCE = f"""
import threading, warnings
import torch
from torch import nn
B = {BAD!r}
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.add_module(B.replace(".", ""), nn.Linear(2, 2))
    def forward(self, x):
        return next(self.children())(x)
Net.__name__ = Net.__qualname__ = B
class Mul(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2
    @staticmethod
    def backward(ctx, g):
        return g
net = Net()
d = {{B: torch.ones(2), "javascript:pwned=1": torch.zeros(2), "{{{{7*7}}}}": torch.ones(1)}}
setattr(net, B, torch.ones(3))
out = net(torch.ones(1, 2))
y = Mul.apply(out)
print(B)
warnings.warn(B)
Own = type(B, (RuntimeError,), {{}})
try:
    raise Own(B)
except RuntimeError:
    pass
def f(x):
    return x + 1
f.__name__ = f.__qualname__ = B
f.__code__ = f.__code__.replace(co_name=B, co_qualname=B)
z = f(y)
t = threading.Thread(target=f, args=(y,), name=B)
t.start()
t.join()
z.sum().backward()
raise Own(B + "javascript:pwned=1")
"""

OURS = """() => {
  const faults = [];
  if (window.pwned !== undefined) faults.push("a script ran");
  const wrong = "img[src=x], [onerror], [onload], script:not([src]):not([type*=json]), iframe, object, base";
  for (const each of document.querySelectorAll(wrong)) faults.push(each.outerHTML.slice(0, 200));
  for (const each of document.querySelectorAll("[href], [src], [action]")) {
    for (const name of ["href", "src", "action"]) {
      const value = each.getAttribute(name) ?? "";
      if (/^\\s*(javascript|vbscript|data:text)/i.test(value)) faults.push(each.outerHTML.slice(0, 200));
    }
  }
  return faults;
}"""


def only_ours(page: Page) -> None:
    assert page.evaluate(OURS) == []


def test_no_name_text_or_error_of_a_program_becomes_part_of_the_page(open_page: Open) -> None:
    page = open_page("/playground?lang=en", own=True)
    run(page, SOURCE)
    expect(page.locator("body")).to_contain_text("window.pwned=1", timeout=30_000)
    page.wait_for_function("() => document.querySelector('.player.loaded') !== null")
    only_ours(page)
    steps = page.locator(".changes-body")
    steps.press("Home")
    for _ in range(40):
        steps.press("ArrowRight")
        only_ours(page)
    steps.press("a")
    page.locator(".analyse-sheet .chart-picture .main-svg").first.wait_for(timeout=30_000)
    only_ours(page)
    page.get_by_text("As a table").first.click()
    only_ours(page)
