"""Every page, and the playground with each thing opened: what the rules are held against.

A scene is an address and what a reader then does. It works in both languages, so it finds controls by what
they are, not by their words.
"""

from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import quote

from playwright.sync_api import Page, expect

STALE = """\
import torch
w = torch.ones(3, requires_grad=True)
y = w.exp()
s = y.sum()
y.add_(1)
s.backward()
"""
COMPILED = """\
import torch
@torch.compile(backend="eager")
def scaled(x, n):
    y = x * n
    return y.relu()
x = torch.ones(3)
a = scaled(x, 2)
b = scaled(x.double(), 2)
"""
DEVICES = """\
import torch
host = torch.arange(12.).reshape(3, 4)
moved = host.to("cuda")
twice = moved * 2
back = twice.cpu()
del moved
"""
CALLS = """\
import torch
def halve(t):
    return t / 2
def mean_of_squares(t):
    return halve(t).pow(2).mean()
x = torch.ones(4, requires_grad=True)
for i in range(3):
    loss = mean_of_squares(x)
    loss.backward()
print("the mean of the squares", loss.item())
"""
BROKEN = "import torch\nx = torch.ones(2\ny = x\n"


@dataclass(frozen=True)
class Scene:
    """A page as a reader sees it."""

    path: str
    act: Callable[[Page], object] | None = None
    own: bool = False
    """It needs storage of its own: what is remembered would show elsewhere."""
    first_visit: bool = False
    faults: tuple[str, ...] = ()
    """What the console is expected to say."""

    def address(self, language: str) -> str:
        """The path, in a language."""
        path, hash, rest = self.path.partition("#")
        return f"{path}{'&' if '?' in path else '?'}lang={language}{hash}{rest}"

    def play(self, page: Page) -> None:
        """Do what a reader does, on the page already opened."""
        if self.act is not None:
            self.act(page)


def program(source: str) -> str:
    """The playground with a program in its address."""
    return f"/playground#code={quote(source)}"


def ran(page: Page) -> None:
    """Wait for the program of the address."""
    expect(page.locator(".player.loaded .line.now")).to_be_visible()
    page.locator(".skeleton").wait_for(state="detached")


def press(key: str, ready: str) -> Callable[[Page], None]:
    """Press a key in the player, and wait for what it opens."""

    def act(page: Page) -> None:
        page.locator(".changes-body").press(key)
        page.locator(ready).first.wait_for(timeout=30_000)

    return act


def click(selector: str, ready: str) -> Callable[[Page], None]:
    """Press a control, and wait for what it opens."""

    def act(page: Page) -> None:
        page.locator(selector).first.click()
        page.locator(ready).first.wait_for(timeout=30_000)

    return act


def press_on(selector: str, ready: str) -> Callable[[Page], None]:
    """Press a control from the keyboard, and wait for what it opens."""

    def act(page: Page) -> None:
        page.locator(selector).first.press("Enter")
        page.locator(ready).first.wait_for(timeout=30_000)

    return act


def then(*acts: Callable[[Page], object]) -> Callable[[Page], None]:
    """One after another."""

    def act(page: Page) -> None:
        for each in acts:
            each(page)

    return act


def answered(page: Page) -> None:
    """One question of a lesson is answered, half wrong; the others are open."""
    question = page.locator(".question").first
    question.get_by_role("checkbox").first.check()
    question.locator("button.primary").click()
    question.locator(".question-answer").wait_for()


def compared(page: Page) -> None:
    """The program and the one with the change that its explanation offers."""
    page.locator(".compare-button").click()
    page.locator(".compare-option").first.click()
    page.locator(".compare-slider[data-marked=all]").wait_for(timeout=30_000)


PAGES = {
    "home": Scene("/"),
    "lessons": Scene("/lessons"),
    "lesson": Scene("/lessons/one-storage"),
    "lesson answered": Scene("/lessons/one-storage", answered, own=True),
    "about": Scene("/about"),
    "security": Scene("/security"),
    "api": Scene("/api/docs"),
    "not found": Scene("/nothing-here", faults=("/nothing-here",)),
}

EMBEDS = {
    "embed": Scene("/embed/v1/examples.write-through?step=7"),
    "embed of a graph": Scene("/embed/v1/examples.mlp?step=9&view=graph"),
    "embed of views": Scene("/embed/v1/examples.views?step=5&view=both"),
}

PROGRAMS = {
    "write-through": Scene("/playground#step=7"),
    "views": Scene("/playground?example=views#step=8"),
    "in-place": Scene("/playground?example=in-place#step=5"),
    "shapes": Scene("/playground?example=shapes"),
    "mlp": Scene("/playground?example=mlp#step=9"),
    "training": Scene("/playground?example=training#step=90"),
    "nothing yet": Scene("/playground#step=0"),
    "devices": Scene(program(DEVICES), ran),
    "calls": Scene(program(CALLS), ran),
    "compiled": Scene(program(COMPILED), then(ran, click(".player-compiled", ".compiled-facts"))),
    "a program that cannot be read": Scene(program(BROKEN), lambda page: page.locator(".outcome").wait_for()),
}

MLP = "/playground?example=mlp#step=9"
OPENED = {
    "error explained": Scene(
        "/playground", click(".outcome .outcome-bar button[aria-expanded]", ".outcome-story")
    ),
    "operations of a line": Scene("/playground#step=7", press("e", ".ladder:not([hidden])"), own=True),
    "ops": Scene(MLP, click('[role=tab][data-tab="ops"]', ".ops .op")),
    "output": Scene(program(CALLS), then(ran, click('[role=tab][data-tab="output"]', ".output"))),
    "editor": Scene("/playground", click(".edit-button", ".cm-content"), own=True),
    "strips": Scene(
        "/playground?example=views#step=8",
        click(".memory .segments:not(.lens-buttons) button:last-child", ".strip"),
    ),
    "lens of a tensor": Scene(MLP, press("v", ".lens[data-lens=tensor]"), own=True),
    "lens of bytes": Scene("/playground#step=7", press("b", ".lens[data-lens=bytes]"), own=True),
    "what if": Scene("/playground?example=views#step=8", press("w", ".lens[data-lens=whatif]"), own=True),
    "holders": Scene(MLP, press("k", ".lens[data-lens=holders]"), own=True),
    "list of nodes": Scene(MLP, click(".graph .segments [data-mode=list]", ".node-list li")),
    "details of a node": Scene(
        "/playground#step=7", press_on(".graph .node-title", ".node-details:not([hidden])")
    ),
    "memory over time": Scene(program(DEVICES), then(ran, press("m", ".ledger"))),
    "text": Scene(MLP, press("t", ".text-sheet tbody tr")),
    "charts": Scene(MLP, press("a", ".analyse-sheet .main-svg")),
    "keys": Scene("/playground", press("?", "dialog table")),
    "share": Scene("/playground", click(".share-button", "dialog input")),
    "what to compare with": Scene("/playground", click(".compare-button", "dialog .compare-option")),
    "side by side": Scene("/playground", compared, own=True),
    "guided minute": Scene(
        "/playground#step=7", click(".guide-offer .primary", ".guide-card"), own=True, first_visit=True
    ),
    "offer of a guided minute": Scene("/playground#step=7", own=True, first_visit=True),
}

PLAYGROUND = {**PROGRAMS, **OPENED}
EVERYWHERE = {**PAGES, **EMBEDS, **PLAYGROUND}
