"""A Chromium for the benchmarks, found as the browser tests find theirs."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Page, sync_playwright

from .child import ROOT

WIDTH, HEIGHT = 1280, 800


@contextmanager
def page() -> Iterator[Page]:
    """An empty page of a fresh browser.

    Raises:
        RuntimeError: There is no Chromium.
    """
    # Its folder is not a package, and it prints the path.
    find = "import sys; sys.path.insert(0, 'tools'); import browser; print(browser.find() or '')"
    answer = subprocess.run(
        [sys.executable, "-c", find], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True
    )
    path = answer.stdout.strip()
    if not path:
        raise RuntimeError("there is no Chromium: set CHROMIUM, or run `make browser`")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        try:
            yield browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        finally:
            browser.close()
