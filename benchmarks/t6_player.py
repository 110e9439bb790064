"""T6: stepping a long trace in a browser, and a storage of a million elements.

Two times of each: the work (script, style and layout, forced before the clock stops) and until the frame is
on its way (the work, the wait for the frame, painting). The wait is up to a frame of 16.7 ms, so the targets
of steps and of pointing are those of the work; `main thread` is all that a step costs, painting too, on
average. Headless Chromium paints without a GPU.
"""

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from playwright.sync_api import CDPSession, Page

from .browser import page
from .programs import source_of
from .report import Figure, figure
from .server import Server, serving

TITLE = "stepping a trace of 1,000 steps; a storage of 1,000,000 elements"

STEPS = 300
HOVERS = 100
LOADS = 7

PAINTED = """
const painted = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));
const settle = () => document.body.getBoundingClientRect().height;
"""

STEP = (
    "async (keys) => {"
    + PAINTED
    + """
    const [work, frame] = [[], []];
    for (const key of keys) {
        await painted();
        const began = performance.now();
        document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
        settle();
        work.push(performance.now() - began);
        await painted();
        frame.push(performance.now() - began);
    }
    return { work, frame };
}"""
)

LOAD = (
    "async ([text, times]) => {"
    + PAINTED
    + """
    const [work, frame] = [[], []];
    const trace = JSON.parse(text);
    const place = document.querySelector("trace-player");
    for (let i = 0; i < times; i++) {
        await painted();
        const began = performance.now();
        place.load(trace);
        settle();
        work.push(performance.now() - began);
        await painted();
        frame.push(performance.now() - began);
    }
    return { work, frame };
}"""
)

HOVER = (
    "async (times) => {"
    + PAINTED
    + """
    const pixels = [...document.querySelectorAll(".pixels")].find((each) => each.checkVisibility());
    const box = pixels.querySelector("canvas").getBoundingClientRect();
    const point = (type, i) => new PointerEvent(type, {
        bubbles: true, pointerType: "mouse",
        clientX: box.left + (box.width * ((i * 37) % 101)) / 102 + 1,
        clientY: box.top + (box.height * ((i * 61) % 97)) / 98 + 1,
    });
    const corner = { bubbles: true, clientX: box.left + 5, clientY: box.top + 5 };
    pixels.dispatchEvent(new MouseEvent("click", corner));
    const [work, frame] = [[], []];
    const label = pixels.querySelector("[role=gridcell]");
    for (let i = 0; i < times; i++) {
        await painted();
        const before = label.textContent;
        const began = performance.now();
        pixels.dispatchEvent(point("pointermove", i));
        settle();
        work.push(performance.now() - began);
        if (label.textContent === before) throw new Error("pointing changed nothing");
        await painted();
        frame.push(performance.now() - began);
    }
    return { work, frame };
}"""
)


def measure() -> Iterator[Figure]:
    """The playground for steps, an embed for the large storage."""
    with serving() as server, page() as tab:
        yield from _steps(server, tab)
        yield from _million(server, tab)


def _steps(server: Server, tab: Page) -> Iterator[Figure]:
    tab.goto(f"{server.address}/playground#code={quote(source_of('thousand'))}")
    tab.wait_for_selector(".player.loaded", timeout=60_000)
    total = tab.locator("[aria-valuemax]").first.get_attribute("aria-valuemax")
    yield figure("steps of the trace", "", float(total or 0))
    metrics = tab.context.new_cdp_session(tab)
    metrics.send("Performance.enable")
    for keys, said in ((["ArrowLeft"], "back"), (["ArrowRight"], "forward")):
        tab.evaluate(STEP, keys * 20)  # warms up
        before = _main_thread_ms(metrics)
        times = tab.evaluate(STEP, keys * STEPS)
        spent = (_main_thread_ms(metrics) - before) / STEPS
        yield from _both(f"a step {said}", times)
        yield figure("  main thread, mean", "ms", spent)
    jumps = ["Home", "End"]
    tab.evaluate(STEP, jumps)
    yield figure("a jump over the whole trace: work", "ms", tab.evaluate(STEP, jumps * 15)["work"])
    tab.keyboard.press("m")
    tab.evaluate(STEP, ["ArrowLeft"] * 20)
    yield from _both("a step back, all that is alive listed", tab.evaluate(STEP, ["ArrowLeft"] * STEPS))


def _both(what: str, times: Any) -> Iterator[Figure]:
    yield figure(f"{what}: work, median", "ms", times["work"], at_most=16)
    yield figure(f"{what}: work, 95th percentile", "ms", times["work"], percentile=95, at_most=50)
    yield figure(f"{what}: until painted, median", "ms", times["frame"])
    yield figure(f"{what}: until painted, 95th percentile", "ms", times["frame"], percentile=95)


def _million(server: Server, tab: Page) -> Iterator[Figure]:
    trace = server.trace(source_of("million"), packed=False).body.decode()
    tab.goto(f"{server.address}/embed/v1/?view=memory#code={quote('x = 1')}")
    tab.wait_for_selector(".player.loaded", timeout=60_000)
    # The first is the one readers see: nothing is compiled or cached then.
    first = tab.evaluate(LOAD, [trace, 1])
    times = tab.evaluate(LOAD, [trace, LOADS])
    yield figure("1e6 elements: from trace to painted, first time", "ms", first["frame"], at_most=100)
    yield figure("1e6 elements: from trace to painted, again", "ms", times["frame"])
    yield figure("  work of it", "ms", times["work"])
    tab.evaluate(HOVER, 10)
    hovers = tab.evaluate(HOVER, HOVERS)
    yield figure("1e6 elements: pointing at a cell, work", "ms", hovers["work"], at_most=16)
    yield figure("  95th percentile", "ms", hovers["work"], percentile=95)


def _main_thread_ms(metrics: CDPSession) -> float:
    """Time the page's main thread has worked so far."""
    values = metrics.send("Performance.getMetrics")["metrics"]
    return float(next(each["value"] for each in values if each["name"] == "TaskDuration")) * 1000
