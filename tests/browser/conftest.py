"""A real server, a real browser, and watchers that fail a test on what no reader should ever meet.

The server runs programs in its real sandbox; its limits are short so that an endless loop ends soon.
Tests run one after another: a second browser on the same cores only makes both slow.
"""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

ROOT = Path(__file__).resolve().parent.parent.parent
WALL_S = 3
START_S = 180
WAIT_MS = 30_000
QUIET = ("--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run")
ON_PATH = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

# A page with `limits` is the playground, whose player has no element of its own.
SHOWN = """() => !document.querySelector('trace-player[src]:not(:has(.player.loaded))')
  && (!document.getElementById('limits') || document.querySelector('.player.loaded') !== null)"""

expect.set_options(timeout=WAIT_MS)
Open = Callable[..., Page]

# Who has been here before is not offered the guided minute.
BEEN_HERE = "try { localStorage.setItem('guided-minute', 'seen') } catch {}"


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    """The browser `make browser-tests` found, else the first on PATH, else Playwright's own."""
    named = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, ON_PATH)), None)
    arguments = [*QUIET, *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    options = {**browser_type_launch_args, "args": arguments}
    return {**options, "executable_path": named} if named else options


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a server that runs programs."""
    port = _free_port()
    log = tmp_path_factory.mktemp("server") / "log"
    command = [Path(sys.executable).with_name("tensor-anatomy"), "serve", "--port", str(port)]
    env = {**os.environ, "HOST": "127.0.0.1", "WALL_SECONDS": str(WALL_S), "SANDBOXES": "1", "CACHE": "off"}
    with log.open("wb") as out:
        process = subprocess.Popen(command, env=env, stdout=out, stderr=subprocess.STDOUT, cwd=ROOT)
        try:
            address = f"http://127.0.0.1:{port}"
            _wait(address, process, log)
            yield address
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + START_S
    while time.monotonic() < end and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{address}/healthz", timeout=5) as answer:
                if b'"status":"ok"' in answer.read():
                    return
        except OSError:
            pass
        time.sleep(0.2)
    pytest.fail(f"the server did not come up:\n{log.read_text()[-2000:]}")


class Watch:
    """What a page must not do: write errors to the console, throw, or ask another host."""

    def __init__(self, server: str) -> None:
        self._hosts = {urlsplit(server).netloc}
        self.faults: list[str] = []
        self.expected: list[str] = []
        """Pieces of faults that a test provokes."""

    def allow_host(self, address: str) -> None:
        """A test's own page may ask a second server of the test."""
        self._hosts.add(urlsplit(address).netloc)

    def follow(self, page: Page) -> None:
        """Listen to a page and its frames."""
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.faults.append(f"thrown: {error}"))
        page.on("request", self._request)

    def _console(self, message: Any) -> None:
        if message.type in {"error", "warning"}:
            self.faults.append(f"{message.type}: {message.text} ({message.location.get('url', '')})")

    def _request(self, request: Any) -> None:
        parts = urlsplit(request.url)
        if parts.scheme not in {"data", "about", "blob"} and parts.netloc not in self._hosts:
            self.faults.append(f"asked another host: {request.url}")

    def check(self) -> None:
        """Fail on any fault that was not expected."""
        left = [each for each in self.faults if not any(piece in each for piece in self.expected)]
        assert not left, "\n".join(left)


@pytest.fixture
def watch(server: str) -> Iterator[Watch]:
    """The watcher of this test's pages; checked when the test has ended."""
    watcher = Watch(server)
    yield watcher
    watcher.check()


@pytest.fixture(scope="session")
def shared_context(browser: Browser, server: str) -> Iterator[BrowserContext]:
    """A context whose cache keeps scripts and fonts from page to page."""
    context = browser.new_context(base_url=server, locale="en-GB")
    context.set_default_timeout(WAIT_MS)
    context.add_init_script(BEEN_HERE)
    yield context
    context.close()


@pytest.fixture
def open_page(browser: Browser, server: str, shared_context: BrowserContext, watch: Watch) -> Iterator[Open]:
    """`open_page("/about", width=320)`: a page, watched.

    `own=True` gives it a context of its own, with its own storage and clock; so do options of contexts.
    """
    pages: list[Page] = []
    contexts: list[BrowserContext] = []

    def open_page(
        path: str,
        *,
        width: int = 1440,
        height: int = 900,
        theme: Literal["light", "dark"] = "light",
        still: bool = True,
        scripts: bool = True,
        own: bool = False,
        first_visit: bool = False,
        **options: Any,
    ) -> Page:
        context = shared_context
        if own or options or first_visit or not scripts:
            context = browser.new_context(
                base_url=server, locale="en-GB", java_script_enabled=scripts, **options
            )
            context.set_default_timeout(WAIT_MS)
            if not first_visit:
                context.add_init_script(BEEN_HERE)
            contexts.append(context)
        page = context.new_page()
        pages.append(page)
        watch.follow(page)
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme=theme, reduced_motion="reduce" if still else "no-preference")
        if scripts:
            visit(page, path)
        else:
            page.goto(path)
        return page

    yield open_page
    for page in pages:
        page.close()
    for context in contexts:
        context.close()


def visit(page: Page, path: str) -> None:
    """Go to an address and wait until every player on it shows its trace, in the fonts of the page."""
    page.goto(path)
    page.wait_for_function(SHOWN)
    page.evaluate("() => document.fonts.ready.then(() => true)")


def run(page: Page, source: str) -> None:
    """Type a program over the one in the editor and run it from the keyboard."""
    editor = page.get_by_label("Program to run")
    if not editor.is_visible():
        page.get_by_role("button", name="Edit").click()
    editor.fill(source)
    editor.press("Control+Enter")
