"""Finds a Chromium for the browser tests, and installs one where it may.

    python tools/browser.py

prints the path of an executable. It takes the first of: $CHROMIUM; chromium, chromium-browser or
google-chrome on PATH; the one Playwright has. Else it installs one: as root on Debian the
distribution's, with the libraries it needs; otherwise Playwright's.
Where none can be had it prints nothing and says on stderr what to run; with CI set that is an error,
since a test run that silently left out the browser would look green.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ON_PATH = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
BY_HAND = "apt-get install -y chromium fonts-noto-cjk   (or set CHROMIUM to the path of a Chromium)"

# The Chinese pages are looked at too, so a font that has their characters comes along.
APT = (
    ["apt-get", "update", "-q"],
    ["apt-get", "install", "-y", "-q", "--no-install-recommends", "chromium", "fonts-noto-cjk"],
)


def find() -> str | None:
    """Return a Chromium that is on this machine already and starts."""
    named = os.environ.get("CHROMIUM", "")
    if named:
        return named
    for name in ON_PATH:
        path = shutil.which(name)
        if path and _starts(path):
            return path
    return _playwrights()


def install() -> str | None:
    """Get a Chromium and return it: as root from the distribution, else from Playwright."""
    if os.geteuid() == 0 and shutil.which("apt-get"):
        for command in APT:
            _run(command, seconds=600)
        if path := find():
            return path
    _run([sys.executable, "-m", "playwright", "install", "chromium"], seconds=300)
    return find()


def _starts(path: str) -> bool:
    # Ubuntu's chromium-browser only says that there is a snap.
    return subprocess.run([path, "--version"], capture_output=True, check=False).returncode == 0


def _playwrights() -> str | None:
    from playwright.sync_api import sync_playwright  # only here: this file must run without it

    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    return path if Path(path).exists() else None


def _run(command: list[str], seconds: float) -> None:
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    print(f"$ {' '.join(command)}", file=sys.stderr, flush=True)
    try:
        # A failure is an answer: the next way is tried. What it says goes to stderr, stdout is ours.
        subprocess.run(
            command, check=False, stdin=subprocess.DEVNULL, stdout=sys.stderr, env=env, timeout=seconds
        )
    except subprocess.TimeoutExpired:
        print(f"gave up after {seconds:.0f} s", file=sys.stderr)


def main() -> int:
    """Print the path of a Chromium."""
    path = find() or install()
    if path:
        print(path)
        return 0
    print(f"The browser tests need a Chromium. As root: {BY_HAND}", file=sys.stderr)
    return 1 if os.environ.get("CI") else 0


if __name__ == "__main__":
    raise SystemExit(main())
