"""Every route answers with the headers that keep a page to itself, and odd requests get plain answers."""

import asyncio
import re
from typing import Any
from urllib.parse import unquote_to_bytes

import pytest
from fastapi.routing import APIRoute, iter_route_contexts
from tensor_anatomy.web.bounds import ADDRESS_BYTES, HEADER_BYTES

HTML = {"accept": "text/html"}
SAMPLES = {
    "language": "en",
    "slug": "one-storage",
    "question": "transpose",
    "key": "one-storage.slice",
    "file_name": "one-storage.slice.json",
}
METHODS = ("GET", "POST", "OPTIONS", "BREW")
SHARED = ("/static/", "/traces/", "/oembed", "/embed/v1/words/")


def addresses(app: Any) -> list[str]:
    """An address of every route, and some that no route has."""
    paths = [
        re.sub(r"\{(\w+)\}", lambda found: SAMPLES[found[1]], context.path)
        for context in iter_route_contexts(app.routes)
        if context.path and isinstance(context.original_route, APIRoute)
    ]
    return [*paths, "/static/img/mark.svg", "/static/none.js", "/nothing", "/lessons/nothing", "/lessons/"]


def directives(policy: str) -> dict[str, list[str]]:
    return {name: values for name, *values in (each.split() for each in policy.split(";"))}


async def test_there_are_routes_to_walk(app):
    found = addresses(app)
    assert {"/", "/security", "/api/trace", "/healthz", "/embed/v1/one-storage.slice"} <= set(found)
    assert len(found) > 20


async def test_every_route_and_method_has_the_headers(app, client):
    for path in addresses(app):
        for method in METHODS:
            answer = await client.request(method, path, headers=HTML)
            where = f"{method} {path} {answer.status_code}"
            assert answer.status_code < 500, where
            policy = directives(answer.headers["content-security-policy"])
            assert policy["default-src"] == ["'none'"], where
            assert policy["script-src"] == policy["style-src"] == ["'self'"], where
            assert policy["base-uri"] == ["'none'"] and policy["form-action"] == ["'self'"], where
            framed = ["https://course.example"] if path.startswith("/embed/") else ["'self'"]
            assert policy["frame-ancestors"] == framed, where
            assert answer.headers["x-content-type-options"] == "nosniff", where
            assert answer.headers["referrer-policy"] == "no-referrer", where
            assert "camera=()" in answer.headers["permissions-policy"], where
            assert "set-cookie" not in answer.headers, where
            assert "server" not in answer.headers, where
            allowed = answer.headers.get("access-control-allow-origin")
            assert allowed == ("*" if path.startswith(SHARED) else None), where
            assert "access-control-allow-credentials" not in answer.headers, where
            if answer.status_code >= 400 and path.startswith(("/api/", "/healthz", "/readyz", "/oembed")):
                assert answer.headers["content-type"] in (
                    "application/problem+json",
                    "text/html; charset=utf-8",
                )


async def test_a_page_allows_no_script_that_stands_in_it(app, client):
    for path in addresses(app):
        page = await client.get(path, headers=HTML)
        if "text/html" not in page.headers.get("content-type", ""):
            continue
        for attributes, content in re.findall(r"<script([^>]*)>(.*?)</script>", page.text, re.DOTALL):
            assert 'src="/static/' in attributes or 'type="application/json"' in attributes, path
            assert not content.strip() or "application/json" in attributes, path
        assert not re.search(r"<[^>]+\son\w+\s*=", page.text), path
        assert "javascript:" not in page.text, path


async def raw(app, method: str, path: bytes, *headers: tuple[bytes, bytes], query: bytes = b"") -> Any:
    """What a client that follows no rules gets: status, headers, body."""
    told: dict[str, Any] = {"body": b"", "headers": {}}

    messages = [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive() -> dict[str, Any]:
        if not messages:
            await asyncio.Event().wait()  # it stays
        return messages.pop()

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            told.update(status=message["status"], headers=dict(message["headers"]))
        else:
            told["body"] += message.get("body", b"")

    named = any(name == b"host" for name, _ in headers)
    await app(
        {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method,
            "scheme": "http", "path": unquote_to_bytes(path).decode("utf-8", "replace"), "raw_path": path,
            "root_path": "", "query_string": query,
            "headers": [*([] if named else [(b"host", b"testserver")]), *headers],
            "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 80),
        },
        receive,
        send,
    )  # fmt: skip
    return told


ODD_PATHS = [
    b"/static/%00", b"/static/%00/../x", b"/static/" + b"a" * 5_000, b"/static/" + b"a/" * 3_000,
    b"/static/%ff%fe", b"/static/..%2f..%2fpyproject.toml", b"/static/%2e%2e/%2e%2e/pyproject.toml",
    b"/static/..%5c..%5cpyproject.toml", b"/static//etc/passwd", b"/static/dist/", b"/static/img", b"/static",
    b"/traces/..%2f..%2fpyproject.toml", b"/traces/%00", b"/traces/../../etc/passwd",
    b"/lessons/" + b"x" * 8_000, b"/lessons/%00", b"/lessons/..", b"/lessons/one-storage/answers/%0a",
    b"/embed/v1/a.b.c.d", b"/embed/v1/%00.%00",
    b"//", b"//evil.example/", b"/%00", b"/%e2%80%ae", b"/%ff", b"/\xff", b"*", b"",
]  # fmt: skip
ODD_QUERIES = [
    b"lang=zh&x=" + b"a" * 3_000,
    b"lang=%00&theme=%00&step=%d9%a3&url=http://[&maxwidth=" + b"9" * 400,
    b"&&&=&%zz&step=-1&until=%00&question=%00&choice=%ff",
]
ODD_HEADERS = [
    *(
        (b"host", value)
        for value in (b"[", b"", b"a b", b"\xff", b"evil/..@x", b"a:99999999", b"x" * 3_000, b"%")
    ),
    *(
        (b"accept-language", value)
        for value in (
            b"\xff",
            b"zh;q=nan",
            b"zh;q=inf,en",
            b"," * 9_000,
            b"x y",
            b"\x00",
            b"zh;q=1e999",
            b"*",
        )
    ),
    *((b"accept", value) for value in (b"\xff", b"text/html;" * 500, b"*/*;q=nan")),
    *((b"accept-encoding", value) for value in (b"\xff", b"gzip;q=nan", b"x" * 9_000)),
    *(
        (b"range", value)
        for value in (b"bytes=9999999999999-", b"bytes=" + b"0-," * 2_000, b"x", b"bytes=-0")
    ),
    (b"if-none-match", b"\xff"),
    (b"if-modified-since", b"x"),
    (b"content-length", b"-1"),
    (b"content-length", b"9" * 30),
]


@pytest.mark.parametrize("path", ODD_PATHS, ids=lambda path: repr(path[:24]))
async def test_an_odd_path_is_nothing_but_not_found(app, path):
    for method in ("GET", "POST"):
        for query in (b"", *ODD_QUERIES):
            answer = await raw(app, method, path, (b"accept", b"text/html"), query=query)
            assert answer["status"] in (200, 307, 404, 405, 414), path
            assert b"[project]" not in answer["body"] and b"root:" not in answer["body"]
            assert answer["headers"].get(b"location", b"/").startswith(b"/")
            assert not answer["headers"].get(b"location", b"/").startswith(b"//")


@pytest.mark.parametrize("header", ODD_HEADERS, ids=lambda header: repr(header)[:40])
async def test_an_odd_header_breaks_nothing(app, header):
    for path in (
        b"/about",
        b"/embed/v1/",
        b"/static/img/mark.svg",
        b"/none",
    ):
        assert (await raw(app, "GET", path, header))["status"] < 500
    query = b"url=http://testserver/embed/v1/one-storage.slice"
    assert (await raw(app, "GET", b"/oembed", header, query=query))["status"] < 500
    assert (await raw(app, "POST", b"/api/trace", header))["status"] in (413, 422)


async def test_a_redirect_never_leads_to_the_name_that_the_client_wrote(app):
    for path, there in ((b"/lessons/", b"/lessons?x=1"), (b"/embed/v1", b"/embed/v1/?x=1")):
        answer = await raw(app, "GET", path, (b"host", b"evil.example"), query=b"x=1")
        assert (answer["status"], answer["headers"][b"location"]) == (307, there)


async def test_addresses_and_headers_are_bounded(app, runner):
    long = b"x" * ADDRESS_BYTES
    many = [(b"x-%d" % i, b"1") for i in range(200)]
    two_lengths = [(b"content-length", b"5"), (b"transfer-encoding", b"chunked")]
    for answer, status, code in (
        (await raw(app, "GET", b"/about", query=long), 414, b"address-too-long"),
        (await raw(app, "GET", b"/lessons/" + long), 414, b"address-too-long"),
        (await raw(app, "GET", b"/about", (b"x", b"y" * HEADER_BYTES)), 431, b"headers-too-large"),
        (await raw(app, "POST", b"/api/trace", *many), 431, b"headers-too-large"),
        (await raw(app, "POST", b"/api/trace", *two_lengths), 400, b"request-ambiguous"),
    ):
        assert answer["status"] == status
        assert code in answer["body"]
        assert answer["headers"][b"content-type"] == b"application/problem+json"
        assert b"content-security-policy" in answer["headers"]
    assert runner.asked == []


# ---- the page that says what holds


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_the_security_page_is_led_to_and_says_what_is_in_force(client, runner, language):
    for path in ("/", "/about", "/lessons"):
        assert f'href="/security?lang={language}"' in (await client.get(path, params={"lang": language})).text
    page = (await client.get("/security", params={"lang": language})).text
    for layer in runner.status().layers:
        assert f"<code>{layer}</code>" in page
    for profile in ("strict+bwrap", "strict", "sealed"):
        assert f"<dt><code>{profile}</code></dt>" in page


async def test_it_says_whether_traces_are_kept(app, client):
    assert "Programs and traces are not kept" in (await client.get("/security?lang=en")).text
    assert "Programs and traces are not kept" in (await client.get("/about?lang=en")).text


async def test_where_nothing_is_run_it_says_so(client, runner):
    runner.unavailable = "seccomp is missing."
    assert "No program is run on this server" in (await client.get("/security?lang=en")).text
