"""Pages: what they say in each language, what they hold back, and what they load."""

import dataclasses
import re
from html.parser import HTMLParser

import pytest
from jinja2 import nodes
from tensor_anatomy.web import templating
from tensor_anatomy.web.templating import Page, Templates, data_block

PAGES = [
    "/",
    "/lessons",
    "/lessons/one-storage",
    "/playground",
    "/playground?example=in-place",
    "/playground?program=one-storage.slice",
    "/about",
    "/security",
    "/api/docs",
    "/embed/v1/one-storage.slice",
    "/embed/v1/",
]
HTML = {"accept": "text/html"}


class Seen(HTMLParser):
    """Elements with their attributes, in order; unclosed and stray elements."""

    VOID = frozenset({"meta", "link", "input", "br", "img", "hr"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.faults: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.faults.append(tag)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("path", PAGES)
async def test_a_page_is_whole_in_each_language(client, path, language):
    response = await client.get(path, params={"lang": language}, headers=HTML)
    assert response.status_code == 200
    assert response.headers["content-language"] == language
    seen = Seen(response.text)
    assert seen.faults == []
    assert seen.open == []
    assert seen.all("html")[0]["lang"] == {"en": "en", "zh": "zh-Hans"}[language]
    assert len(seen.all("h1")) == 1
    assert len(seen.all("title")) >= 1
    ids = [attributes["id"] for _, attributes in seen.elements if "id" in attributes]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("path", PAGES)
async def test_a_page_obeys_its_own_policy_and_loads_nothing_from_elsewhere(client, path):
    response = await client.get(path, headers=HTML)
    assert "default-src 'none'" in response.headers["content-security-policy"]
    for tag, attributes in Seen(response.text).elements:
        assert tag != "style"
        assert not [name for name in attributes if name == "style" or name.startswith("on")]
        if tag == "script":
            assert attributes.get("type") == "application/json" or str(attributes["src"]).startswith(
                "/static/"
            )
        if tag in {"script", "link", "img", "iframe"}:
            for name in ("src", "href"):
                assert str(attributes.get(name) or "/").startswith("/"), attributes


@pytest.mark.parametrize("path", PAGES)
async def test_a_page_answers_head(client, path):
    response = await client.head(path, headers=HTML)
    assert response.status_code == (405 if path == "/api/docs" else 200)


@pytest.mark.parametrize(
    ("query", "accept", "language"),
    [
        ("", "", "en"),
        ("", "zh-CN,zh;q=0.9,en;q=0.8", "zh"),
        ("", "en;q=0.5, zh-TW", "zh"),
        ("", "de, fr", "en"),
        ("", "de, zh;q=0.1", "zh"),
        ("", "zh;q=0, en", "en"),
        ("", ";;;q=x, *", "en"),
        ("?lang=zh", "en", "zh"),
        ("?lang=en", "zh", "en"),
        ("?lang=xx", "zh", "zh"),
    ],
)
async def test_the_address_wins_over_the_header_and_english_is_the_rest(client, query, accept, language):
    response = await client.get(f"/about{query}", headers={"accept-language": accept})
    assert response.headers["content-language"] == language
    assert "Accept-Language" in response.headers["vary"]
    assert "set-cookie" not in response.headers


async def test_the_language_switch_keeps_the_page_and_its_question(client):
    response = await client.get("/playground?example=views&lang=en", headers=HTML)
    assert 'href="/playground?example=views&amp;lang=zh"' in response.text


async def test_a_chosen_language_stays_in_the_links_and_an_accepted_one_does_not(client):
    chosen = Seen((await client.get("/?lang=zh")).text)
    accepted = Seen((await client.get("/", headers={"accept-language": "zh"})).text)
    own = [a["href"] for a in chosen.all("a") if str(a["href"]).startswith("/") and "hreflang" not in a]
    assert own
    assert all("lang=zh" in href for href in own)
    assert "/lessons" in [a["href"] for a in accepted.all("a")]


async def test_the_theme_of_the_address_is_on_the_page(client):
    assert '<html lang="en" data-theme="dark">' in (await client.get("/?theme=dark")).text
    assert "data-theme" not in (await client.get('/?theme="><b>')).text.partition(">")[2].partition(">")[0]


async def test_where_nothing_is_confined_every_page_says_that_run_is_off(client, runner):
    runner.unavailable = "seccomp is missing & <b>."
    for path in ("/", "/lessons", "/lessons/one-storage", "/playground", "/about"):
        page = (await client.get(path, headers=HTML)).text
        assert "Run is switched off on this server." in page
        assert "seccomp is missing &amp; &lt;b&gt;." in page
    limits = re.search(r'id="limits">(.*?)</script>', (await client.get("/playground")).text)
    assert limits
    assert '"run":false' in limits[1]


async def test_an_unknown_address_is_a_page_for_readers_and_a_problem_for_programs(client):
    for path in (
        "/nothing",
        "/lessons/nothing",
        "/embed/v1/nothing.at-all",
        "/lessons/one-storage/answers/x",
    ):
        page = await client.get(path, headers=HTML)
        assert (page.status_code, page.headers["content-type"]) == (404, "text/html; charset=utf-8")
        assert "There is nothing at this address" in page.text
        problem = await client.get(path, headers={"accept": "application/json"})
        assert (problem.status_code, problem.json()["code"]) == (404, "not-found")


async def test_a_fault_of_ours_is_a_page_with_an_id(client, runner, monkeypatch, capsys):
    monkeypatch.setattr(runner, "status", lambda: 1 / 0)
    page = await client.get("/about", headers=HTML)
    assert page.status_code == 500
    fault = re.search(r"<code>([0-9a-f]{12})</code>", page.text)
    assert fault
    assert fault[1] in capsys.readouterr().out
    assert "ZeroDivision" not in page.text
    assert "default-src 'none'" in page.headers["content-security-policy"]


# ---- the home page


async def test_the_picture_of_the_home_page_is_what_the_recorded_run_did(client):
    page = (await client.get("/")).text
    assert "The write through y[0, 1] lands in cell 3, and x[1, 0] reads the same cell: 30." in page
    lit = re.findall(r'class="hero-cell hero-cell-(\w+) lit" data-cell="(\d+)"', page)
    assert lit == [("x", "3"), ("y", "3"), ("strip", "3")]
    assert re.findall(r"stride (\(\d, \d\))", page) == ["(3, 1)", "(1, 3)"]


# ---- lessons


async def test_the_answer_is_not_in_the_page_until_the_reader_locks_in(client):
    page = (await client.get("/lessons/one-storage", headers=HTML)).text
    for secret in (
        "Only the metadata",
        "Only the data",
        "Only <code>a</code>",
        "[1, 12, 13, 4]",
        "basic slicing",
    ):
        assert secret not in page
    assert 'class="choice right"' not in page
    # Nor in the traces that its open questions show.
    sources = [str(p["src"]) for p in Seen(page).all("trace-player")]
    assert len(sources) == 4
    for source, steps in zip(sources, [2, 3, 4, 2], strict=True):
        trace = (await client.get(source)).json()
        assert len(trace["steps"]) == len(trace["said"]) == steps
        assert trace["outcome"]["kind"] == "finished"


async def test_locking_in_without_a_script_shows_the_answer_of_that_question_only(client):
    page = (
        await client.get("/lessons/one-storage?question=transpose&choice=metadata&choice=data", headers=HTML)
    ).text
    assert "Only the metadata" in page
    assert "Only the data" not in page
    assert "3 of 4 right." in page
    assert re.findall(r'class="choice (right|wrong)" data-choice="(\w+)"', page) == [
        ("wrong", "data"),
        ("right", "metadata"),
    ]
    player = next(p for p in Seen(page).all("trace-player") if p["id"] == "player-transpose")
    assert "until" not in str(player["src"])
    assert player["step"] == "3"


async def test_skipping_shows_the_answer_and_scores_nothing(client):
    page = (await client.get("/lessons/one-storage?question=transpose&skip=1", headers=HTML)).text
    assert "Skipped. This is the answer." in page
    assert not re.search(r"\d of \d right", page)
    assert 'class="choice wrong"' not in page
    assert " missed" not in re.sub(r'data-missed="[^"]*"', "", page)


async def test_a_right_choice_that_was_not_ticked_says_that_it_was_missed(client):
    page = (await client.get("/lessons/one-storage?question=transpose&choice=data", headers=HTML)).text
    assert re.findall(r'class="choice ([\w ]+)" data-choice="(\w+)"', page) == [
        ("wrong", "data"),
        ("right missed", "metadata"),
    ]
    assert re.search(r'data-missed="[^"]*">○ yes, and you missed it<', page)


@pytest.mark.parametrize(
    ("question", "right", "step"),
    [("transpose", ["metadata"], 3), ("write-through", ["data"], 4), ("who-sees-zeros", ["a"], 7)],
)
async def test_the_answer_is_sent_with_the_figure_it_belongs_to(client, question, right, step):
    answer = (await client.get(f"/lessons/one-storage/answers/{question}?lang=zh")).json()
    assert answer["answer"] == right
    assert [choice for choice, said in answer["choices"].items() if said["right"]] == right
    assert all(said["feedback"] for said in answer["choices"].values())
    assert "只有" in answer["explanation"]
    assert answer["step"] == step
    trace = (await client.get(answer["src"])).json()
    assert len(trace["steps"]) >= step


async def test_a_recorded_trace_may_be_read_from_any_site(client, catalog):
    program = catalog.program("one-storage.slice")
    response = await client.get(f"/traces/{program.file_name}")
    assert response.headers["access-control-allow-origin"] == "*"
    assert response.headers["cross-origin-resource-policy"] == "cross-origin"
    assert response.json()["source"] == program.source
    for wrong in ("?until=5", "?until=-1", "?until=x", "?until=99999999999999999999"):
        assert (await client.get(f"/traces/{program.file_name}{wrong}")).status_code == 404
    assert (await client.get("/traces/one-storage.slice.000000000000.json")).status_code == 404


# ---- files


async def test_a_file_asked_for_by_its_hash_is_kept_for_good_and_others_are_asked_for_again(client):
    page = (await client.get("/")).text
    icon = next(str(link["href"]) for link in Seen(page).all("link") if link["rel"] == "icon")
    assert re.fullmatch(r"/static/img/mark\.svg\?v=[0-9a-f]{10}", icon)
    kept = await client.get(icon)
    assert kept.status_code == 200
    assert "immutable" in kept.headers["cache-control"]
    assert kept.headers["access-control-allow-origin"] == "*"
    asked = await client.get("/static/img/mark.svg")
    assert asked.headers["cache-control"] == "no-cache"
    again = await client.get("/static/img/mark.svg", headers={"if-none-match": asked.headers["etag"]})
    assert again.status_code == 304
    for wrong in ("?v=0000000000", "?v=", f"?v={icon[-10:]}0"):
        answer = await client.get(f"/static/img/mark.svg{wrong}")
        assert answer.headers["cache-control"] == "no-cache"


@pytest.mark.parametrize("path", ["/static/../pyproject.toml", "/static/%2e%2e/pyproject.toml", "/static/"])
async def test_nothing_outside_the_folder_is_served(client, path):
    assert (await client.get(path)).status_code == 404


# ---- templates


def page_classes() -> list[type[Page]]:
    return [each for each in vars(templating).values() if isinstance(each, type) and issubclass(each, Page)]


def names_used(templates: Templates, name: str) -> set[str]:
    """Names a template and those it extends or includes look up in their context."""
    environment = templates._environments["en"]
    source = environment.loader.get_source(environment, name)[0]
    tree = environment.parse(source)
    found = {node.name for node in tree.find_all(nodes.Name) if node.ctx == "load"}
    found -= {node.name for node in tree.find_all(nodes.Name) if node.ctx in {"store", "param"}}
    found -= {alias for node in tree.find_all(nodes.FromImport) for alias in map(str, node.names)}
    for parent in tree.find_all(nodes.Extends):
        found |= names_used(templates, parent.template.value)
    return found - {"_", "gettext", "ngettext", "loop", "none", "super", "self"}


@pytest.mark.parametrize(
    "kind", [each for each in page_classes() if each is not Page], ids=lambda each: each.__name__
)
def test_a_template_uses_the_fields_of_its_page_and_nothing_else(kind):
    templates = Templates(templating.Assets(templating.resource("static")))
    fields = {field.name for field in dataclasses.fields(kind)}
    assert names_used(templates, kind.template) - {"frame", *templating.MARKS["en"]} == fields


def test_nothing_in_a_data_block_ends_it():
    assert "<" not in data_block({"source": "</script><script>alert(1)</script>", "b": "<!--"})
    assert "\u2028" not in data_block("\u2028")
