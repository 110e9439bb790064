"""What a reader's browser loads for the playground before Edit is pressed (T7).

Counted from the manifest of the build: a script, what it imports before it runs, and nothing that waits
for a press.
"""

import gzip
import json
import re
from html import unescape

import pytest
from tensor_anatomy.resources import resource

PLAYGROUND = 200_000
DIST = resource("static") / "dist"


def loaded_with(script: str, files: dict[str, dict], seen: set[str] | None = None) -> set[str]:
    """A script and all it imports before it runs."""
    seen = set() if seen is None else seen
    if script not in seen:
        seen.add(script)
        for name in files[script]["imports"]:
            loaded_with(name, files, seen)
    return seen


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_the_playground_stays_below_200_kb_until_edit_is_pressed(client, language):
    page = (await client.get(f"/playground?lang={language}")).text
    files = json.loads((DIST / "manifest.json").read_text(encoding="utf-8"))
    linked = {unescape(name) for name in re.findall(r'(?:src|href)="/static/dist/([^"?]+)', page)}
    loaded = set().union(*[loaded_with(name, files) for name in linked])
    fonts = {name: (DIST / "fonts" / name).stat().st_size for name in ("inter.woff2", "jetbrains-mono.woff2")}
    assert {"app.css", "playground.js"} <= loaded
    weight = {
        "page": len(gzip.compress(page.encode(), 9)),
        **fonts,
        **{name: files[name]["gzip_bytes"] for name in loaded},
    }
    assert sum(weight.values()) <= PLAYGROUND, weight


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_the_words_of_the_charts_come_with_the_charts(client, language):
    page = (await client.get(f"/playground?lang={language}")).text
    answer = await client.get(f"/playground/words/{language}.json")
    assert answer.status_code == 200
    words = answer.json()
    assert {"ui.analyse.title", "ui.analyse.memoryTitle"} <= words.keys()
    assert not any(f'"{id}"' in page for id in words)
    assert '"ui.analyse.button"' in page


async def test_there_are_words_of_the_languages_of_the_pages_only(client):
    assert (await client.get("/playground/words/fr.json")).status_code == 404
