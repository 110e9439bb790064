"""An operator's figures hold counts, and nothing that a reader wrote."""

import httpx
import pytest
from tensor_anatomy.errors import PoolBusy
from tensor_anatomy.settings import Settings
from tensor_anatomy.web.app import WebSettings, build
from tensor_anatomy.web.metrics import Measured, Metrics


def application(runner, catalog, metrics):
    settings = Settings()
    web = WebSettings(
        limits=settings.limits,
        source_bytes=settings.source_bytes,
        frame_ancestors="*",
        public_url=None,
    )
    measured = runner if metrics is None else Measured(runner, metrics)
    return build(measured, catalog, web, version="0.0.0", metrics=metrics)


@pytest.fixture
async def measured(runner, catalog):
    transport = httpx.ASGITransport(app=application(runner, catalog, Metrics()))
    async with httpx.AsyncClient(transport=transport, base_url="http://testserver") as client:
        yield client


async def figures(client: httpx.AsyncClient) -> dict[str, float]:
    answer = await client.get("/metrics")
    assert answer.status_code == 200 and answer.headers["content-type"].startswith("text/plain")
    lines = [line.rpartition(" ") for line in answer.text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in lines}


async def test_runs_are_counted_by_how_they_ended(measured, runner):
    for _ in range(2):
        await measured.post("/api/trace", json={"source": "secret_name = 1"})
    runner.fails = PoolBusy(3, 5)
    assert (await measured.post("/api/trace", json={"source": "x"})).status_code == 429
    said = await figures(measured)
    assert said['tensor_anatomy_runs_total{outcome="finished",reason=""}'] == 2
    assert said['tensor_anatomy_refused_runs_total{code="busy"}'] == 1
    assert said['tensor_anatomy_requests_total{method="POST",route="/api/trace",status="200"}'] == 2
    assert said['tensor_anatomy_requests_total{method="POST",route="/api/trace",status="429"}'] == 1
    assert said["tensor_anatomy_run_seconds_count"] == 2
    assert (said["tensor_anatomy_running"], said["tensor_anatomy_sandboxes"]) == (1, 2)
    assert not any("secret_name" in name for name in said)


async def test_an_address_that_somebody_made_up_is_no_label(measured):
    for i in range(20):
        await measured.get(f"/made-up-{i}")
        await measured.request(f"VERB{i}", "/about")
    said = await figures(measured)
    assert not any("made-up" in name or "VERB" in name for name in said)
    assert said['tensor_anatomy_requests_total{method="GET",route="none",status="404"}'] == 20


async def test_without_metrics_the_address_does_not_exist(runner, catalog):
    transport = httpx.ASGITransport(app=application(runner, catalog, None))
    async with httpx.AsyncClient(transport=transport, base_url="http://testserver") as client:
        assert (await client.get("/metrics")).status_code == 404


async def test_a_server_whose_sandbox_starts_is_not_ready_one_without_a_sandbox_is(measured, runner):
    assert (await measured.get("/readyz")).status_code == 200
    runner.unavailable = "confining them needs Linux."
    assert (await measured.get("/readyz")).status_code == 200  # lessons are served all the same
    runner.state = "starting"
    assert (await measured.get("/readyz")).status_code == 503


async def test_the_same_trace_has_the_same_etag(client):
    tags = [
        (await client.post("/api/trace", json={"source": source})).headers["etag"]
        for source in ("x = 1", "x = 1", "x = 2")
    ]
    assert tags[0] == tags[1] != tags[2]
