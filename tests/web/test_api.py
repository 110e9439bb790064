"""`POST /api/trace`: what is refused, what is not, and what a stream looks like."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from tensor_anatomy.errors import DeviceUnavailable, PoolBusy, SandboxRestarting, SandboxUnavailable
from tensor_anatomy.schema.packing import unpack
from tensor_anatomy.web import stream as stream_module
from tensor_anatomy.web.runner import GpuStatus

LIMIT = 64 * 1024


def problem(response) -> dict:
    assert response.headers["content-type"] == "application/problem+json"
    body = response.json()
    assert set(body) <= {"code", "message", "limit", "id"}
    assert body["message"]
    assert "Traceback" not in response.text
    return body


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"{", id="cut short"),
        pytest.param(b"source=x", id="a form"),
        pytest.param(b"[]", id="a list"),
        pytest.param(b'"x = 1"', id="a string"),
        pytest.param(b"null", id="null"),
        pytest.param(b"\xff\xfe{\x00}\x00", id="UTF-16"),
        pytest.param(b'{"source": "\xe9"}', id="Latin-1"),
        pytest.param(b'{"source": "\\ud800"}', id="a lone surrogate"),
        pytest.param(b'{"source": "\xed\xa0\x80"}', id="a lone surrogate in bytes"),
        pytest.param(b'\xef\xbb\xbf{"source": ""}', id="a BOM before the JSON"),
        pytest.param(b"{}", id="no source"),
        pytest.param(b'{"source": null}', id="source is null"),
        pytest.param(b'{"source": 1}', id="source is a number"),
        pytest.param(b'{"source": ["x"]}', id="source is a list"),
        pytest.param(b'{"source": "", "seed": NaN}', id="seed is NaN"),
        pytest.param(b'{"source": "", "seed": 1e400}', id="seed is infinite"),
        pytest.param(b'{"source": "", "seed": 1.5}', id="seed is a fraction"),
        pytest.param(b'{"source": "", "seed": "0"}', id="seed is text"),
        pytest.param(b'{"source": "", "seed": true}', id="seed is a boolean"),
        pytest.param(b'{"source": "", "seed": -1}', id="seed is negative"),
        pytest.param(b'{"source": "", "seed": 9223372036854775808}', id="seed past 2^63"),
        pytest.param(b'{"source": "", "device": "gpu"}', id="unknown device"),
        pytest.param(b'{"source": "", "limits": {}}', id="limits from a request"),
        pytest.param(b"[" * 100_000, id="too deep"),
        pytest.param(b'{"source": ' + b"[" * 50_000 + b"]" * 50_000 + b"}", id="too deep and closed"),
    ],
)
async def test_a_faulty_body_is_refused_with_a_sentence(client, runner, body):
    response = await client.post("/api/trace", content=body)
    assert response.status_code == 422
    assert problem(response)["code"] == "invalid-request"
    assert runner.asked == []


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("", id="empty"),
        pytest.param("x = (", id="syntax error"),
        pytest.param("x = 1\0", id="NUL"),
        pytest.param("import torch\r\nx = 1\r\n", id="CRLF"),
        pytest.param("if True:\n\tx = 1\n", id="tabs"),
        pytest.param("\ufeffx = 1", id="BOM"),
        pytest.param("x = 1", id="no final newline"),
        pytest.param("x = 1\n", id="no import of torch"),
        pytest.param("x = '张量 🔥'\n", id="other alphabets"),
    ],
)
async def test_any_text_is_a_program_and_reaches_the_runner_unchanged(client, runner, source):
    response = await client.post("/api/trace", content=json.dumps({"source": source}))
    assert response.status_code == 200
    assert response.headers["content-type"] == "application/json"
    assert response.json()["source"] == source
    assert (runner.asked[0].source, runner.asked[0].device, runner.asked[0].seed) == (source, "auto", 0)


async def test_the_longest_program_is_accepted(client):
    response = await client.post("/api/trace", json={"source": "#" * LIMIT})
    assert response.status_code == 200


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("#" * (LIMIT + 1), id="one byte more"),
        pytest.param("#" * 70 * 1024, id="70 KiB"),
        pytest.param("é" * (LIMIT // 2 + 1), id="counted in bytes, not characters"),
    ],
)
async def test_a_longer_program_is_refused_with_the_limit(client, runner, source):
    response = await client.post("/api/trace", json={"source": source})
    assert response.status_code == 413
    body = problem(response)
    assert (body["code"], body["limit"]) == ("source-too-large", LIMIT)
    assert "65,536" in body["message"]
    assert runner.asked == []


async def test_a_huge_body_is_refused_by_its_announced_length(client):
    response = await client.post("/api/trace", content=b"{", headers={"content-length": "10000000000"})
    assert response.status_code == 413


async def test_a_huge_body_is_refused_while_it_arrives(client):
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        for _ in range(1000):
            sent += 65536
            yield b" " * 65536

    response = await client.post("/api/trace", content=endless())
    assert response.status_code == 413
    assert problem(response)["code"] == "source-too-large"
    assert sent < 1_000_000


async def test_a_full_queue_answers_429_each_time(client, runner):
    runner.fails = PoolBusy(waiting=32, retry_after_s=5)
    for _ in range(3):
        response = await client.post("/api/trace", json={"source": ""})
        assert response.status_code == 429
        assert response.headers["retry-after"] == "5"
        assert problem(response)["code"] == "busy"


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (SandboxRestarting(), 503, "sandbox-restarting"),
        (SandboxUnavailable("seccomp is missing."), 503, "sandbox-unavailable"),
        (DeviceUnavailable("cuda", ("cpu",)), 422, "device-unavailable"),
    ],
)
@pytest.mark.parametrize("accept", ["application/json", "application/x-ndjson"])
async def test_a_refusal_of_the_sandbox_has_its_status_also_when_streaming(
    client, runner, error, status, code, accept
):
    runner.fails = error
    response = await client.post("/api/trace", json={"source": ""}, headers={"accept": accept})
    assert response.status_code == status
    assert problem(response)["code"] == code


@pytest.mark.parametrize("accept", ["application/json", "application/x-ndjson", "text/html"])
async def test_a_fault_of_ours_has_an_id_and_no_inside(client, runner, accept):
    runner.fails = ZeroDivisionError("secret")
    response = await client.post("/api/trace", json={"source": ""}, headers={"accept": accept})
    assert response.status_code == 500
    body = problem(response)
    assert body["code"] == "internal"
    assert re.fullmatch(r"[0-9a-f]{12}", body["id"])
    assert body["id"] in body["message"]
    assert "secret" not in response.text
    assert "ZeroDivision" not in response.text


async def test_the_state_document_is_of_the_step_asked_for(client):
    for step in range(5):
        response = await client.post(f"/api/trace?format=state&step={step}", json={"source": ""})
        assert (response.json()["step"], response.json()["steps"]) == (step, 4)
    last = await client.post("/api/trace?format=state", json={"source": ""})
    assert last.json() == response.json()


@pytest.mark.parametrize(
    "query", ["format=state&step=5", "format=state&step=-1", "format=state&step=x", "step=1", "format=xml"]
)
async def test_a_step_or_format_that_is_not_there_is_refused(client, query):
    response = await client.post(f"/api/trace?{query}", json={"source": ""})
    assert response.status_code == 422
    assert problem(response)["code"] == "invalid-request"


async def test_other_methods_and_addresses_answer_with_problems(client):
    response = await client.get("/api/trace")
    assert response.status_code == 405
    assert problem(response)["code"] == "method-not-allowed"
    assert response.headers["allow"] == "POST"
    response = await client.get("/api/nothing")
    assert (response.status_code, problem(response)["code"]) == (404, "not-found")


# ---- streams


def lines(text: str) -> list[dict]:
    return [json.loads(line) for line in text.splitlines()]


async def streamed(client) -> list[dict]:
    response = await client.post(
        "/api/trace", json={"source": ""}, headers={"accept": "application/x-ndjson"}
    )
    assert response.status_code == 200
    assert response.headers["content-type"].startswith("application/x-ndjson")
    return lines(response.text)


async def test_a_stream_starts_reports_and_ends_with_the_whole_trace(client, trace):
    said = await streamed(client)
    assert [line["event"] for line in said] == ["start", "progress", "chunk", "chunk", "end"]
    assert said[0]["environment"]["torch"] == trace.environment.torch
    assert said[1]["steps"] == 4
    assert len(said[2]["chunk"]["steps"]) == 4
    assert unpack(said[-1]["trace"]) == json.loads(trace.model_dump_json(by_alias=True))


async def test_a_quiet_mistake_is_a_line_of_its_own(client, runner, trace):
    runner.trace = type(trace).model_validate_json(
        trace.model_copy(update={"notes": ()})
        .model_dump_json(by_alias=True)
        .replace(
            '"notes":[]',
            '"notes":[{"line":3,"class":"silent-broadcast","sentence":{"layer":null,"id":"x","args":{}}}]',
        )
    )
    said = await streamed(client)
    assert [line["event"] for line in said][-2:] == ["note", "end"]
    assert said[-2]["note"]["class"] == "silent-broadcast"


async def test_a_fault_in_mid_stream_is_the_last_line(client, runner):
    runner.breaks_midway = ZeroDivisionError("secret")
    said = await streamed(client)
    assert [line["event"] for line in said] == ["start", "end"]
    assert said[-1]["problem"]["code"] == "internal"
    assert "secret" not in json.dumps(said)


async def test_a_restart_in_mid_stream_is_the_last_line(client, runner):
    runner.breaks_midway = SandboxRestarting()
    said = await streamed(client)
    assert said[-1]["problem"]["code"] == "sandbox-restarting"


class RawRequest:
    """A request sent to the application directly: answers can be seen while they are made."""

    def __init__(self, encoding: bytes, accept: bytes = b"application/x-ndjson") -> None:
        self.body = bytearray()
        self.first_line = asyncio.Event()
        self.gone = asyncio.Event()
        self._sent = False
        self.scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.4"},
            "http_version": "1.1",
            "method": "POST",
            "scheme": "http",
            "path": "/api/trace",
            "raw_path": b"/api/trace",
            "query_string": b"",
            "root_path": "",
            "headers": [
                (b"host", b"testserver"),
                (b"accept", accept),
                (b"accept-encoding", encoding),
            ],
            "client": ("127.0.0.1", 1),
            "server": ("testserver", 80),
            "state": {},
        }

    async def receive(self):
        if not self._sent:
            self._sent = True
            return {"type": "http.request", "body": b'{"source": ""}', "more_body": False}
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message):
        if self.gone.is_set():
            raise OSError("the client is gone")
        if message["type"] == "http.response.body" and message.get("body"):
            self.body += message["body"]
            self.first_line.set()


@pytest.mark.parametrize("encoding", [b"identity", b"gzip", b"br", b"zstd"])
async def test_the_first_line_comes_before_the_run_ends_compressed_or_not(app, runner, encoding):
    runner.may_end.clear()
    request = RawRequest(encoding)
    answer = asyncio.create_task(app(request.scope, request.receive, request.send))
    await asyncio.wait_for(request.first_line.wait(), 5)
    assert not runner.closed
    runner.may_end.set()
    await asyncio.wait_for(answer, 5)
    if encoding == b"identity":
        assert lines(request.body.decode())[-1]["event"] == "end"


async def test_a_client_that_goes_away_stops_the_program(app, runner):
    runner.may_end.clear()
    request = RawRequest(b"identity")
    answer = asyncio.create_task(app(request.scope, request.receive, request.send))
    await asyncio.wait_for(request.first_line.wait(), 5)
    request.gone.set()
    runner.may_end.set()
    await asyncio.wait([answer], timeout=5)
    assert answer.done()
    answer.exception()
    assert runner.closed


async def test_a_client_that_goes_away_stops_a_program_whose_trace_it_asked_for(app, runner, monkeypatch):
    begun, stopped = asyncio.Event(), asyncio.Event()

    async def endless(_program, *, client):
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    monkeypatch.setattr(runner, "run", endless)
    request = RawRequest(b"identity", b"application/json")
    answer = asyncio.create_task(app(request.scope, request.receive, request.send))
    await asyncio.wait_for(begun.wait(), 5)
    request.gone.set()
    await asyncio.wait_for(answer, 5)
    assert stopped.is_set()
    assert not request.body


def test_the_documented_events_are_the_ones_that_are_sent():
    documented = set(re.findall(r'"event": "(\w+)"', stream_module.__doc__ or ""))
    assert documented == {"start", "progress", "chunk", "note", "end"}


# ---- health, OpenAPI


async def test_health_and_the_security_page_name_what_is_loosened_for_a_gpu(client, runner, monkeypatch):
    layers = ("rlimits for cuda", "landlock for cuda", "seccomp for cuda")
    gpu = GpuStatus(
        state="ready", reason=None, profile="cuda", layers=("lifetime", *layers), loosened=layers, prepared=2
    )
    plain = runner.status()
    monkeypatch.setattr(runner, "status", lambda: replace(plain, gpu=gpu))

    assert (await client.get("/healthz")).json()["gpu"]["loosened"] == list(layers)
    for language in ("en", "zh"):
        page = (await client.get(f"/security?lang={language}")).text
        assert all(f"<code>{layer}</code>" in page for layer in layers)
    monkeypatch.setattr(runner, "status", lambda: plain)
    assert "for cuda" not in (await client.get("/security")).text


async def test_health_says_what_runs_and_how_busy_it_is(client, runner):
    body = (await client.get("/healthz")).json()
    assert body["status"] == "ok"
    assert body["torch"] == "2.13.0+cpu"
    assert body["sandbox"] == {"profile": "strict", "layers": ["rlimits", "landlock", "seccomp"]}
    assert body["devices"] == ["cpu"]
    assert body["queue"] == {"running": 1, "waiting": 0, "sandboxes": 2, "places": 32, "prepared": 0}
    assert "gpu" not in body
    runner.unavailable = "seccomp is missing."
    response = await client.get("/healthz")
    assert response.status_code == 200
    assert (response.json()["status"], response.json()["reason"]) == ("no-sandbox", "seccomp is missing.")


async def test_every_reference_of_the_openapi_document_leads_somewhere(client):
    document = (await client.get("/api/openapi.json")).json()
    assert set(document["paths"]) == {"/api/trace", "/healthz", "/readyz", "/oembed"}
    references = set(re.findall(r'"#/components/schemas/([^"]+)"', json.dumps(document)))
    assert {"TraceRequest", "Trace", "StateDocument"} <= references
    assert references <= set(document["components"]["schemas"])
    responses = document["paths"]["/api/trace"]["post"]["responses"]
    assert {"200", "413", "422", "429", "500", "503"} <= set(responses)


async def test_the_page_of_the_api_shows_every_route_and_schema(client):
    page = (await client.get("/api/docs")).text
    assert "curl -s http://testserver/api/trace" in page or "curl -s http://test/api/trace" in page
    for word in ("/api/trace", "/healthz", "/oembed", "source-too-large", "TraceRequest", "StateDocument"):
        assert word in page


async def test_a_trace_is_sent_plain_to_who_asks_for_it(client, trace):
    packed = await client.post("/api/trace", json={"source": ""})
    plain = await client.post("/api/trace?packed=0", json={"source": ""})

    assert plain.json() == {**json.loads(trace.model_dump_json(by_alias=True)), "source": ""}
    assert unpack(packed.json()) == plain.json()
    headers = {"accept": "application/x-ndjson"}
    streamed = await client.post("/api/trace?packed=0", json={"source": ""}, headers=headers)
    assert json.loads(streamed.text.splitlines()[-1])["trace"]["steps"] == plain.json()["steps"]
