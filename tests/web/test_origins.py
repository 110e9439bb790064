"""Other sites may run programs only where the operator allows it, and never with credentials."""

import httpx
import pytest
from tensor_anatomy.settings import SettingInvalid, Settings
from tensor_anatomy.web.app import WebSettings, build

ASKING = {
    "Origin": "https://course.example",
    "Access-Control-Request-Method": "POST",
    "Access-Control-Request-Headers": "content-type",
    "Sec-Fetch-Site": "cross-site",
}


def application(runner, catalog, *origins: str):
    settings = Settings()
    web = WebSettings(
        limits=settings.limits,
        source_bytes=settings.source_bytes,
        frame_ancestors="*",
        public_url=None,
        api_origins=origins,
    )
    transport = httpx.ASGITransport(app=build(runner, catalog, web, version="0.0.0"))
    return httpx.AsyncClient(transport=transport, base_url="http://testserver")


def granted(answer: httpx.Response) -> str | None:
    assert "access-control-allow-credentials" not in answer.headers
    return answer.headers.get("access-control-allow-origin")


async def test_by_default_no_other_site_may_run_a_program(runner, catalog):
    async with application(runner, catalog) as client:
        assert granted(await client.options("/api/trace", headers=ASKING)) is None
        answer = await client.post("/api/trace", json={"source": "x = 1"}, headers=ASKING)
        assert granted(answer) is None
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"


async def test_a_page_that_is_not_named_runs_nothing_with_a_plain_form_either(runner, catalog):
    page = {"Origin": "https://else.example", "Sec-Fetch-Site": "cross-site", "Content-Type": "text/plain"}
    for origins in ((), ("https://course.example",)):
        async with application(runner, catalog, *origins) as client:
            answer = await client.post("/api/trace", content=b'{"source": "x = 1"}', headers=page)
            assert (answer.status_code, answer.json()["code"]) == (403, "other-site")
            assert "API_ORIGINS" in answer.json()["message"]
    assert not runner.asked


@pytest.mark.parametrize("said", [{}, {"Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "none"}])
async def test_our_own_pages_and_programs_that_are_no_browser_run_programs(runner, catalog, said):
    async with application(runner, catalog) as client:
        answer = await client.post("/api/trace", json={"source": "x = 1"}, headers=said)
        assert answer.status_code == 200


async def test_a_site_that_the_operator_names_may(runner, catalog):
    async with application(runner, catalog, "https://course.example") as client:
        before = await client.options("/api/trace", headers=ASKING)
        assert before.status_code == 200 and granted(before) == "https://course.example"
        answer = await client.post("/api/trace", json={"source": "x = 1"}, headers=ASKING)
        assert answer.status_code == 200 and granted(answer) == "https://course.example"
        assert answer.headers["cross-origin-resource-policy"] == "cross-origin"
        other = await client.options("/api/trace", headers={**ASKING, "Origin": "https://else.example"})
        assert other.status_code == 400 and granted(other) is None


async def test_only_the_api_is_opened_not_the_pages(runner, catalog):
    async with application(runner, catalog, "*") as client:
        assert granted(await client.get("/playground", headers=ASKING)) is None
        assert granted(await client.get("/healthz", headers=ASKING)) is None
        assert granted(await client.post("/api/trace", json={"source": "x"}, headers=ASKING)) == "*"


def test_an_origin_is_a_scheme_and_a_host():
    assert Settings.from_env({"API_ORIGINS": "https://a.example http://b.example:8080"}).api_origins == (
        "https://a.example",
        "http://b.example:8080",
    )
    for wrong in ("course.example", "https://a.example/path", "https://*.example", "javascript:"):
        with pytest.raises(SettingInvalid):
            Settings.from_env({"API_ORIGINS": wrong})
