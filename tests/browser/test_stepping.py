"""What a step costs, counted and never timed: what the browser lays out, styles and is given anew."""

from typing import Any

from playwright.sync_api import CDPSession, Page

from .conftest import Open, run, visit

LOOP = """\
import torch
w = torch.ones(3, 4, requires_grad=True)
x = torch.arange(12.).reshape(4, 3)
for i in range(12):
    y = (x @ w).tanh()
    loss = y.sum()
    loss.backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
    w.grad = None
"""
# A step for each key, with no frame between them: what is counted is the steps' own doing.
STEPS = """(keys) => {
  for (const key of keys) {
    document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
    document.body.getBoundingClientRect();
  }
}"""
ADDED = """([selector, keys]) => {
  const root = document.querySelector(selector);
  const count = (records) => records.reduce((sum, each) => sum + each.addedNodes.length, 0);
  const watcher = new MutationObserver(() => undefined);
  watcher.observe(root, { subtree: true, childList: true, attributes: true, characterData: true });
  const all = [];
  for (const key of keys) {
    document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
    const records = watcher.takeRecords();
    all.push([records.length, count(records)]);
  }
  return all;
}"""


def test_a_step_makes_the_browser_lay_the_page_out_once(open_page: Open) -> None:
    page = _loop(open_page)
    metrics = page.context.new_cdp_session(page)
    metrics.send("Performance.enable")
    before = _count(metrics, "LayoutCount")

    page.evaluate(STEPS, ["ArrowLeft"] * 20)

    assert 20 <= _count(metrics, "LayoutCount") - before <= 22


def test_a_step_styles_the_little_that_changed_and_not_the_page(open_page: Open) -> None:
    page = _loop(open_page)
    # Without containers all styling is done, and told, before the layout.
    page.evaluate("""() => {
      const sheet = new CSSStyleSheet();
      sheet.replaceSync("* { container: none !important }");
      document.adoptedStyleSheets = [sheet];
    }""")
    page.evaluate(STEPS, ["ArrowLeft"])

    styled = _styled(page, ["ArrowLeft"] * 20)

    everything = page.evaluate("() => document.querySelectorAll('.player *').length")
    assert len(styled) >= 20
    assert sorted(styled)[len(styled) // 2] < everything / 3


def test_closed_parts_of_the_player_are_left_alone_by_a_step(open_page: Open) -> None:
    page = _loop(open_page)
    closed = page.evaluate("""() => {
      const hidden = [...document.querySelectorAll(".player [hidden]")];
      window.shut = hidden.filter((each) => each.matches(".ledger, .ladder, .lens, .node-details"));
      window.seen = new MutationObserver(() => undefined);
      const what = { subtree: true, childList: true, characterData: true, attributes: true };
      for (const each of window.shut) window.seen.observe(each, what);
      return window.shut.length;
    }""")

    page.evaluate(STEPS, ["ArrowLeft"] * 12)

    assert closed >= 3
    assert page.evaluate("() => window.seen.takeRecords().map(({ target }) => target.className)") == []


def test_rows_of_what_changed_that_say_the_same_stay(open_page: Open) -> None:
    page = _loop(open_page)
    page.evaluate(STEPS, ["ArrowLeft"] * 3)

    made = page.evaluate(ADDED, [".changes-panel", ["ArrowLeft"] * 20])

    rows = page.locator(".changes-body li").count()
    assert rows >= 4
    # A row has a mark, a name and sentences: all rows anew would be far more.
    assert sum(added for _, added in made) / len(made) < 3 * rows


def test_words_of_the_storage_looked_at_change_in_place(open_page: Open) -> None:
    page = _loop(open_page)
    page.evaluate("() => { window.was = [...document.querySelectorAll('.detail tr, .facts > *')]; }")

    page.evaluate(STEPS, ["ArrowLeft"] * 9)

    parts = "() => [...document.querySelectorAll('.detail tr, .facts > *')]"
    kept = page.evaluate(f"() => ({parts})().filter((each) => window.was.includes(each)).length")
    assert kept >= 4
    # What they say is of the step: a jump there says the same.
    said = page.locator(".detail").inner_text()
    page.evaluate(STEPS, ["Home", "End"])
    page.evaluate(STEPS, ["ArrowLeft"] * 13)
    assert page.locator(".detail").inner_text() == said


def test_all_cells_that_a_step_changed_come_out_from_under_one_veil(open_page: Open) -> None:
    page = _shown(open_page, "import torch\nx = torch.zeros(4, 5)\nx[1:3, ::2] = 7\ny = x + 1\n")
    page.emulate_media(reduced_motion="no-preference")

    told = page.evaluate("""() => {
      const event = (key) => new KeyboardEvent("keydown", { key, bubbles: true });
      const press = (key) => document.body.dispatchEvent(event(key));
      const all = (selector) => [...document.querySelectorAll(selector)];
      press("ArrowLeft");
      const boxes = all(".veil path").flatMap((path) => path.getAttribute("d").match(/M/g));
      const moving = document.querySelector(".stage").getAnimations({ subtree: true });
      const [veils, hot] = [all(".veil").length, all(".cell.hot").length];
      press("ArrowRight");
      return { veils, moving: moving.length, boxes: boxes.length, hot, left: all(".veil").length };
    }""")

    assert told == {"veils": 1, "moving": 1, "boxes": 6, "hot": 6, "left": 0}


def test_a_held_key_shows_a_step_a_frame_and_never_lags(open_page: Open) -> None:
    page = _loop(open_page)

    shown = page.evaluate("""async () => {
      const at = () => Number(document.querySelector("[aria-valuenow]").ariaValueNow);
      const [began, steps] = [at(), []];
      const seen = ({ detail }) => steps.push([detail.step - began, detail.jump]);
      document.addEventListener("step-changed", seen);
      const held = { key: "ArrowLeft", repeat: true, bubbles: true };
      for (let i = 0; i < 5; i += 1) document.body.dispatchEvent(new KeyboardEvent("keydown", held));
      await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));
      return [steps, at() - began];
    }""")

    assert shown == [[[-5, False]], -5]


def test_lamps_stay_at_the_edge_when_a_long_line_is_read_to_its_end(open_page: Open) -> None:
    page = _shown(open_page, f"import torch\nx = torch.ones(3)\ny = x + {' + '.join(['x'] * 40)}\n")
    edge = """() => [...document.querySelectorAll('.line .lamps')].map(
      (each) => Math.round(each.getBoundingClientRect().right))"""
    before = page.evaluate(edge)

    page.locator(".code-body").evaluate("(each) => (each.scrollLeft = 120)")

    page.locator(".code.aside").wait_for()
    assert page.locator(".code-body").evaluate("(each) => each.scrollLeft") == 120
    assert page.evaluate(edge) == before
    assert len(set(before)) == 1


def _loop(open_page: Open) -> Page:
    page = _shown(open_page, LOOP)
    assert int(page.locator("[aria-valuemax]").get_attribute("aria-valuemax") or 0) > 60
    page.evaluate(STEPS, ["ArrowLeft"] * 4)
    return page


def _shown(open_page: Open, source: str) -> Page:
    page = open_page("/playground")
    visit(page, "/playground")
    run(page, source)
    last = source.strip().splitlines()[-1].strip()
    page.locator(".line-source", has_text=last).first.wait_for()
    return page


def _count(metrics: CDPSession, name: str) -> int:
    values = metrics.send("Performance.getMetrics")["metrics"]
    return int(next(each["value"] for each in values if each["name"] == name))


def _styled(page: Page, keys: list[str]) -> list[int]:
    """How many elements were styled, each time the browser did."""
    browser = page.context.browser
    assert browser is not None
    session = browser.new_browser_cdp_session()
    events: list[dict[str, Any]] = []
    ended: list[bool] = []
    session.on("Tracing.dataCollected", lambda data: events.extend(data["value"]))
    session.on("Tracing.tracingComplete", lambda _: ended.append(True))
    session.send("Tracing.start", {"categories": "devtools.timeline", "transferMode": "ReportEvents"})
    page.evaluate(STEPS, keys)
    session.send("Tracing.end")
    while not ended:
        page.wait_for_timeout(20)
    counts = [each["args"].get("elementCount") for each in events if each["name"] == "UpdateLayoutTree"]
    return [count for count in counts if count]
