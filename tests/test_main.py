"""The whole server: settings to sandbox to answer. One sandbox for all tests of this file."""

import asyncio
import json
from collections.abc import AsyncIterator

import httpx
import pytest
import pytest_asyncio
from tensor_anatomy.main import create_app
from tensor_anatomy.settings import Settings

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(60)]

VIEWS = "import torch\na = torch.arange(12.0).reshape(3, 4)\nb = a.t()\ne = b.contiguous()\na.add_(100)\n"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client() -> AsyncIterator[httpx.AsyncClient]:
    app = create_app(Settings(sandboxes=1, queue=1, wall_s=1, require_sandbox=True))
    async with app.router.lifespan_context(app):
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://testserver", timeout=30) as client:
            yield client


async def post(client, source: str, query: str = "", **headers: str):
    return await client.post(f"/api/trace{query}", content=json.dumps({"source": source}), headers=headers)


async def test_a_transpose_shares_the_storage_and_a_contiguous_copy_does_not(client):
    state = (await post(client, VIEWS, "?format=state")).json()
    assert state["outcome"]["kind"] == "finished"
    storage = {name: state["tensors"][str(i)]["storage"] for name, i in state["bindings"].items()}
    assert storage["a"] == storage["b"] != storage["e"]
    assert state["storages"][str(storage["a"])]["nbytes"] == 48
    assert state["tensors"][str(state["bindings"]["b"])]["version"] == 1


async def test_a_trace_comes_explained_and_laid_out(client):
    source = (
        "import torch\nw = torch.ones(3, requires_grad=True)\ny = w.exp()\ny.add_(1)\ny.sum().backward()\n"
    )
    trace = (await post(client, source)).json()
    assert trace["outcome"]["kind"] == "raised"
    assert trace["explanation"]["class"] == "saved-tensor-modified"
    assert trace["explanation"]["caused_by"] == 4
    assert len(trace["said"]) == len(trace["steps"]) == 5
    assert trace["graph"]["nodes"]


async def test_a_stream_ends_with_the_trace_that_a_plain_request_gets(client):
    response = await post(client, VIEWS, accept="application/x-ndjson")
    said = [json.loads(line) for line in response.text.splitlines()]
    assert (said[0]["event"], said[-1]["event"]) == ("start", "end")
    assert said[-1]["trace"]["steps"]
    plain = (await post(client, VIEWS)).json()
    assert len(said[-1]["trace"]["steps"]) == len(plain["steps"])
    assert said[-1]["trace"]["sentences"] == plain["sentences"]


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        pytest.param("", "finished", id="empty"),
        pytest.param("x = (\n", "raised", id="syntax error"),
        pytest.param("x = 1\0", "raised", id="NUL"),
        pytest.param("import torch\r\nx = torch.ones(2)\r\n", "finished", id="CRLF"),
        pytest.param("if True:\n\tx = 1\n", "finished", id="tabs"),
        pytest.param("\ufeffx = 1\n", "finished", id="BOM"),
        pytest.param("x = 1", "finished", id="no final newline"),
        pytest.param("x = 1\n", "finished", id="no torch"),
        pytest.param("print('\\ud800')\n", "finished", id="prints a lone surrogate"),
        pytest.param("raise ValueError('\\ud800')\n", "raised", id="raises a lone surrogate"),
        pytest.param("import os\nos._exit(0)\n", "crashed", id="exits"),
        pytest.param("while True: pass\n", "stopped", id="endless"),
    ],
)
async def test_any_program_is_a_result(client, source, kind):
    for query in ("", "?format=state"):
        response = await post(client, source, query)
        assert response.status_code == 200, response.text
        assert response.json()["outcome"]["kind"] == kind


async def test_a_syntax_error_has_a_line_and_a_place(client):
    outcome = (await post(client, "import torch\nx = torch.ones(2\ny = 1\n")).json()["outcome"]
    assert (outcome["kind"], outcome["type"], outcome["line"]) == ("raised", "SyntaxError", 2)
    assert outcome["range"]["line"] == 2


async def test_one_runs_one_waits_and_the_third_is_refused(client):
    endless = "while True: pass  # number {}\n"  # the same program would be run once for all
    answers = await asyncio.gather(*(post(client, endless.format(i)) for i in range(4)))
    statuses = sorted(answer.status_code for answer in answers)
    assert statuses == [200, 200, 429, 429]
    assert (await post(client, "x = 1\n")).status_code == 200


async def test_health_names_what_runs_here(client):
    health = (await client.get("/healthz")).json()
    assert health["status"] == "ok"
    assert health["torch"].startswith("2.13.")
    assert {"landlock", "seccomp"} <= set(health["sandbox"]["layers"])
    assert health["queue"]["running"] == 0


async def test_the_same_program_runs_once_and_new_numbers_run_again(tmp_path):
    app = create_app(Settings(sandboxes=1, queue=8, cache=tmp_path, require_sandbox=True))
    async with app.router.lifespan_context(app):
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://testserver", timeout=30) as client:
            source = "import torch\nx = torch.rand(2)\n"
            together = await asyncio.gather(*(post(client, source) for _ in range(6)))
            later = await post(client, source)
            assert {answer.text for answer in together} == {later.text}
            body = {"source": source, "seed": 7}
            other = await client.post("/api/trace", json=body)
            assert other.headers["etag"] != later.headers["etag"]
            figures = (await client.get("/metrics")).text
            assert 'tensor_anatomy_runs_total{outcome="finished",reason=""} 2.0' in figures
            assert 'tensor_anatomy_traces_total{how="run"} 2.0' in figures
