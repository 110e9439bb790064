"""T7: what a browser has to load for the embed and for the playground, and from where.

Each answer is counted as gzip -6 of its content, fonts and pictures that are packed already as they are;
the trace is counted apart. The page's own HTML, with its words, is part of it.
"""

import gzip
from collections.abc import Iterator
from urllib.parse import urlsplit

from playwright.sync_api import Page, Response

from .browser import page
from .report import Figure, figure
from .server import Server, serving

TITLE = "bytes of the embed and of the playground, gzip -6"

PACKED = (".woff2", ".png")
EMBED = "/embed/v1/examples.views"


def measure() -> Iterator[Figure]:
    """Load each in a browser with an empty cache."""
    with serving() as server, page() as tab:
        yield from _loaded(server, tab, "embed", EMBED, 60)
        yield from _loaded(server, tab, "playground", "/playground", 200)
        yield from _loaded(server, tab, "playground, Chinese", "/playground?lang=zh", 200)


def _loaded(server: Server, tab: Page, name: str, path: str, most_kb: float) -> Iterator[Figure]:
    responses: list[Response] = []

    def note(response: Response) -> None:
        responses.append(response)

    tab.on("response", note)
    session = tab.context.new_cdp_session(tab)
    session.send("Network.enable")
    session.send("Network.setCacheDisabled", {"cacheDisabled": True})
    tab.goto(server.address + path, wait_until="networkidle")
    tab.wait_for_selector(".player.loaded")
    tab.remove_listener("response", note)
    session.detach()

    sizes: dict[str, float] = {}
    elsewhere = 0
    for response in responses:
        address = urlsplit(response.url)
        if address.scheme in {"data", "blob"}:
            continue
        elsewhere += address.netloc != urlsplit(server.address).netloc
        body = response.body()
        sizes[address.path] = (
            len(body) if address.path.endswith(PACKED) else len(gzip.compress(body, 6))
        ) / 1000
    trace = sum(size for name, size in sizes.items() if name.startswith("/traces/"))
    yield figure(f"{name}, without its trace", "kB", sum(sizes.values()) - trace, at_most=most_kb)
    for each, size in sorted(sizes.items(), key=lambda item: -item[1]):
        yield figure(f"  {each}", "kB", size)
    yield figure("  requests to other hosts", "", elsewhere, at_most=0)
