"""A server that runs programs without a sandbox answers its own machine's reader and nobody else."""

import httpx
import pytest
from tensor_anatomy.settings import Settings
from tensor_anatomy.web.app import WebSettings, build

OURS = "http://127.0.0.1:8000"


def client_of(runner, catalog, *, unsafe: bool = True, address: str = "127.0.0.1") -> httpx.AsyncClient:
    settings = Settings()
    web = WebSettings(
        limits=settings.limits,
        source_bytes=settings.source_bytes,
        frame_ancestors="*",
        public_url=None,
        unsafe=unsafe,
    )
    app = build(runner, catalog, web, version="0.0.0")
    return httpx.AsyncClient(transport=httpx.ASGITransport(app=app, client=(address, 4711)), base_url=OURS)


PROGRAM = {"source": "x = 1"}


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"host": "localhost:8000"},
        {"host": "[::1]:8000"},
        {"origin": OURS, "sec-fetch-site": "same-origin"},
        {"sec-fetch-site": "none"},
    ],
)
async def test_its_own_reader_is_served(runner, catalog, headers):
    async with client_of(runner, catalog) as client:
        assert (await client.post("/api/trace", json=PROGRAM, headers=headers)).status_code == 200
    assert len(runner.asked) == 1


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "evil.example"},
        {"host": "127.0.0.1.evil.example"},
        {"host": "evil.example:8000"},
        {"host": "["},
        {"host": ""},
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:9999"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
async def test_another_site_is_refused(runner, catalog, headers):
    async with client_of(runner, catalog) as client:
        answer = await client.post("/api/trace", json=PROGRAM, headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (403, "loopback-only")
        if "host" in headers:
            assert (await client.get("/playground", headers=headers)).status_code == 403
    assert runner.asked == []


@pytest.mark.parametrize("address", ["192.168.1.7", "10.0.0.1", "2001:db8::1", ""])
async def test_another_machine_is_refused(runner, catalog, address):
    async with client_of(runner, catalog, address=address) as client:
        for path in ("/", "/playground", "/healthz"):
            assert (await client.get(path)).status_code == 403
        assert (await client.post("/api/trace", json=PROGRAM)).status_code == 403
    assert runner.asked == []


@pytest.mark.parametrize(
    "path", ["/", "/lessons", "/playground", "/about", "/api/docs", "/no-such-page", "/embed/v1/"]
)
async def test_every_page_says_that_there_is_no_sandbox(runner, catalog, path):
    html = {"accept": "text/html"}
    async with client_of(runner, catalog) as client:
        assert "Programs run without a sandbox" in (await client.get(path, headers=html)).text
        assert "运行程序时没有沙箱" in (await client.get(path + "?lang=zh", headers=html)).text
    async with client_of(runner, catalog, unsafe=False) as client:
        assert "without a sandbox on" not in (await client.get(path, headers=html)).text


async def test_a_program_that_came_with_the_address_waits_for_its_reader(runner, catalog):
    async with client_of(runner, catalog) as client:
        assert '"ask":true' in (await client.get("/playground")).text
    async with client_of(runner, catalog, unsafe=False) as client:
        assert '"ask":false' in (await client.get("/playground")).text


async def test_with_a_sandbox_other_machines_are_served(runner, catalog):
    async with client_of(runner, catalog, unsafe=False, address="192.168.1.7") as client:
        assert (await client.get("/playground", headers={"host": "anatomy.example"})).status_code == 200
