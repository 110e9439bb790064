"""The player alone, in other people's pages, and oEmbed."""

import gzip
import json
import re
from html import unescape
from urllib.parse import parse_qs, urlsplit

import pytest
from tensor_anatomy.web.words import words_of_recording

EMBED = "/embed/v1/one-storage.slice"


def player(page: str) -> dict[str, str]:
    tag = re.search(r"<trace-player ([^>]*)>", page)
    assert tag
    return dict(re.findall(r'([\w-]+)="([^"]*)"', tag[1]))


async def test_only_the_embed_may_be_framed_by_others(client):
    embed = (await client.get(EMBED)).headers
    page = (await client.get("/lessons")).headers
    assert embed["content-security-policy"].endswith("frame-ancestors https://course.example")
    assert page["content-security-policy"].endswith("frame-ancestors 'self'")
    assert "x-frame-options" not in embed
    assert embed["cross-origin-resource-policy"] == "cross-origin"
    assert embed["cross-origin-embedder-policy"] == "require-corp"
    assert embed["referrer-policy"] == "no-referrer"
    assert page["cross-origin-opener-policy"] == "same-origin"


async def test_an_embed_runs_in_a_sandboxed_frame_where_modules_do_not(client):
    page = (await client.get(EMBED)).text
    scripts = re.findall(r"<script([^>]*)>", page)
    assert all('type="module"' not in script for script in scripts)
    assert any("dist/embed.js" in script for script in scripts)


@pytest.mark.parametrize(
    ("query", "step"),
    [
        ("", "4"),
        ("?step=2", "2"),
        ("?step=0", "0"),
        ("?step=99", "4"),
        ("?step=x", "4"),
        ("?step=99999999999999999999", "4"),
        ("?curInstr=1", "2"),
        ("?step=3&curInstr=0", "3"),
    ],
)
async def test_the_step_counts_from_the_state_before_the_first(client, query, step):
    assert player((await client.get(EMBED + query)).text)["step"] == step


async def test_without_a_script_the_step_can_be_read(client):
    page = (await client.get(f"{EMBED}?step=4")).text
    assert re.findall(r"<small>(\d)</small>(\d+)</li>", page) == [
        ("0", "1"),
        ("1", "12"),
        ("2", "13"),
        ("3", "4"),
    ]
    assert "overwritten in place" in unescape(page)


async def test_options_reach_the_player(client):
    page = (await client.get(f"{EMBED}?view=graph&code=0&controls=0&chrome=min&autoheight=1&theme=dark")).text
    seen = player(page)
    assert {name: seen[name] for name in ("focus", "code", "controls", "autoheight")} == {
        "focus": "graph",
        "code": "0",
        "controls": "0",
        "autoheight": "1",
    }
    assert 'class="embed chrome-min"' in page
    assert 'data-theme="dark"' in page
    assert player((await client.get(f"{EMBED}?view=x")).text)["focus"] == "memory"


async def test_a_program_in_the_address_needs_no_recording_and_shows_our_name(client):
    page = (await client.get("/embed/v1/?lang=en")).text
    assert "src" not in player(page)
    assert '<span class="embed-host">testserver</span>' in page


async def test_the_title_bar_leads_to_the_lesson(client):
    page = (await client.get(EMBED)).text
    assert 'href="/lessons/one-storage" target="_blank" rel="noopener"' in page


# ---- oEmbed


async def oembed(client, url: str, **parameters):
    return await client.get("/oembed", params={"url": url, **parameters})


@pytest.mark.parametrize("path", [EMBED, "/lessons/one-storage", "/embed/v1/examples.views"])
async def test_an_address_of_ours_becomes_an_iframe(client, path):
    body = (await oembed(client, f"http://testserver{path}")).json()
    assert (body["type"], body["version"], body["provider_name"]) == ("rich", "1.0", "Tensor Anatomy")
    frame = re.fullmatch(r"<iframe ([^>]*)></iframe>", body["html"])
    assert frame
    attributes = {name: unescape(value) for name, value in re.findall(r'(\w+)="([^"]*)"', frame[1])}
    assert (attributes["width"], attributes["height"]) == (str(body["width"]), str(body["height"]))
    assert attributes["title"] == body["title"]
    assert "style" not in attributes
    address = urlsplit(attributes["src"])
    assert address.netloc == "testserver"
    assert (await client.get(address.path)).status_code == 200


async def test_the_page_names_its_oembed_address_and_that_answers(client):
    for path in (EMBED, "/lessons/one-storage"):
        page = (await client.get(path)).text
        link = re.search(r'type="application/json\+oembed" href="([^"]+)"', page)
        assert link
        assert (await client.get(unescape(link[1]))).json()["type"] == "rich"


async def test_the_step_and_language_of_the_address_are_kept(client):
    body = (await oembed(client, f"http://testserver{EMBED}?step=2&lang=zh&x=<b>")).json()
    source = re.search(r'src="([^"]+)"', body["html"])
    assert source
    assert parse_qs(urlsplit(unescape(source[1])).query) == {"step": ["2"], "lang": ["zh"]}


async def test_the_frame_fits_what_the_asker_has_room_for(client):
    body = (await oembed(client, f"http://testserver{EMBED}", maxwidth=400, maxheight=300)).json()
    assert (body["width"], body["height"]) == (400, 300)
    body = (await oembed(client, f"http://testserver{EMBED}", maxwidth=4000, maxheight=3000)).json()
    assert (body["width"], body["height"]) == (720, 420)


@pytest.mark.parametrize(
    "url",
    [
        "http://elsewhere.example/lessons/one-storage",
        "http://testserver.elsewhere.example/lessons/one-storage",
        "http://testserver/about",
        "http://testserver/lessons/nothing",
        "http://testserver/embed/v1/",
        "javascript:alert(1)",
        "http://[",
        "",
    ],
)
async def test_any_other_address_is_unknown(client, url):
    response = await oembed(client, url)
    assert (response.status_code, response.json()["code"]) == (404, "not-found")


async def test_formats_and_parameters_that_are_not_offered(client):
    assert (await oembed(client, f"http://testserver{EMBED}", format="xml")).status_code == 501
    assert (await client.get("/oembed")).status_code == 422
    assert (await oembed(client, f"http://testserver{EMBED}", maxwidth=0)).status_code == 422
    assert (await oembed(client, f"http://testserver{EMBED}", maxwidth="wide")).json()[
        "code"
    ] == "invalid-request"


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_an_embed_and_all_it_loads_but_its_trace_stay_below_60_kb(client, catalog, language):
    for example in catalog.examples:
        page = (await client.get(f"/embed/v1/{example.program.key}?lang={language}")).text
        loaded = [page, *[(await client.get(file)).text for file in built_files(page)]]
        assert len(loaded) == 3
        assert sum(len(gzip.compress(text.encode(), 9)) for text in loaded) <= 60_000


def built_files(page: str) -> list[str]:
    return [unescape(file) for file in re.findall(r'(?:src|href)="(/static/dist/[^"]+)"', page)]


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_what_an_embed_brings_when_asked_is_shared_with_sandboxed_frames(client, language):
    page = (await client.get(f"{EMBED}?lang={language}")).text
    places = json.loads(re.search(r'id="more">(.*?)</script>', page).group(1))
    for address in places.values():
        response = await client.get(address)
        assert response.status_code == 200
        assert response.headers["access-control-allow-origin"] == "*"
        assert response.headers["cross-origin-resource-policy"] == "cross-origin"
    words = (await client.get(places["words"])).json()
    assert {"ui.lens.tensor", "ui.ladder.step", "ui.timeline.noLife"} <= words.keys()
    assert not [name for name in words if name.startswith(("error.", "ui.compare.", "ui.run."))]
    assert (await client.get("/embed/v1/words/fr.json")).status_code == 404


async def test_a_program_in_the_address_has_all_words_in_its_page(client):
    page = (await client.get("/embed/v1/?lang=en")).text
    assert json.loads(re.search(r'id="more">(.*?)</script>', page).group(1))["words"] is None


async def test_a_recorded_embed_carries_its_own_words_only(client):
    recorded = (await client.get(f"{EMBED}?lang=en")).text
    pasted = (await client.get("/embed/v1/?lang=en")).text
    own, all_of_them = (json.loads(words_of(page)) for page in (recorded, pasted))
    assert own.items() < all_of_them.items()
    assert "ui.memory.title" in own
    assert "ui.share.title" not in own
    assert not [name for name in own if name.startswith("error.")]


def words_of(page: str) -> str:
    found = re.search(r'id="messages">(.*?)</script>', page)
    assert found
    return found[1]


async def test_an_embed_carries_what_is_said_of_several_devices_only_where_there_are_several(catalog):
    ids = {
        key: words_of_recording(catalog.recordings.read(catalog.program(key)), "en").keys()
        for key in ("pairs.to-device-left", "examples.mlp")
    }
    assert "ui.memory.willCopy" in ids["pairs.to-device-left"]
    assert "ui.memory.willCopy" not in ids["examples.mlp"]
    assert "ui.graph.none" in ids["pairs.to-device-left"]
    assert "ui.graph.none" not in ids["examples.mlp"]
