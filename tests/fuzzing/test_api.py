"""Requests made at random from the API's own description, against a real server with a real pool."""

import re
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import Case

from .serving import SOURCE_BYTES

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240), pytest.mark.filterwarnings("default")]

CODES = {
    404: {"not-found"},
    405: {"method-not-allowed"},
    413: {"source-too-large"},
    414: {"address-too-long"},
    422: {"invalid-request", "device-unavailable"},
    429: {"busy"},
    400: {"request-ambiguous"},
    431: {"headers-too-large"},
    501: {"not-implemented"},
    503: {"sandbox-restarting"},
}
"""Status → the codes that a problem of it may have."""

PROBLEM = "application/problem+json"
MOST_S = 1.0 + 1.0 + 10.0
"""The limit on time, a second, and what a crowded machine takes."""

PLAIN = settings(
    derandomize=True,
    database=None,
    deadline=None,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen([sys.executable, "-m", "tests.fuzzing.serving", str(port)])
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(600):
            try:
                if httpx.get(f"{address}/healthz").json()["status"] == "ok":
                    break
            except httpx.HTTPError:
                assert process.poll() is None
            time.sleep(0.1)
        yield address
    finally:
        process.terminate()
        process.wait(20)


def faults(status: int, kind: str, answer: httpx.Response, took_s: float) -> list[str]:
    """What is wrong with an answer."""
    found = []
    if status >= 500 and status not in CODES:
        found.append(f"status {status}")
    if status >= 400:
        if kind != PROBLEM:
            found.append(f"a problem as {kind}")
        elif answer.json()["code"] not in CODES.get(status, set()) or not answer.json()["message"]:
            found.append(f"{status} with {answer.json()}")
    if "Traceback" in answer.text and "traceback" not in answer.text:
        found.append("a traceback")
    if took_s > MOST_S:
        found.append(f"it took {took_s:.1f} s")
    return found


def judge(answer: httpx.Response, ends: Counter[int]) -> None:
    ends[answer.status_code] += 1
    kind = answer.headers.get("content-type", "").partition(";")[0]
    found = faults(answer.status_code, kind, answer, answer.elapsed.total_seconds())
    assert not found, (found, str(answer.request.url)[:200], answer.request.content[:300])


def test_requests_made_from_the_description_get_answers_by_the_contract(server: str) -> None:
    document = httpx.get(f"{server}/api/openapi.json").json()
    schema = schemathesis.openapi.from_dict(document)
    ends: Counter[int] = Counter()
    with httpx.Client(base_url=server, timeout=30) as client:

        def send(case: Case) -> None:
            body = case.as_transport_kwargs(base_url=server)
            told = {name: body[name] for name in ("method", "url", "params") if body.get(name)}
            headers = dict(body.get("headers") or {}).items()
            told["headers"] = {name: value for name, value in headers if _can_travel(value)}
            content = {name: body[name] for name in ("json", "data") if body.get(name) is not None}
            if isinstance(content.get("data"), bytes | str):
                content = {"content": content["data"]}
            judge(client.request(**told, **content), ends)

        for operation in schema.get_all_operations():
            whole = operation.ok()
            for mode in schemathesis.GenerationMode:
                strategy = whole.as_strategy(generation_mode=mode)
                run = settings(PLAIN, max_examples=60 if whole.path == "/api/trace" else 15)(
                    given(strategy)(send)
                )
                with suppress(Unsatisfiable):  # nothing can be wrong where nothing can be given
                    run()
        assert client.get("/healthz").json()["status"] == "ok"
    assert sum(ends.values()) > 100
    assert {200, 422} <= set(ends)


def _can_travel(value: object) -> bool:
    return isinstance(value, str) and re.fullmatch(r"[\x20-\x7e]*", value) is not None


BODIES = st.one_of(
    st.binary(max_size=300),
    st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass")),
    st.sampled_from(
        [b"{}", b"[]", b"null", b'{"source":', b"[" * 5_000, b'{"source":"\\ud800"}', b"\xff\xfe"]
    ),
    st.integers(SOURCE_BYTES - 3, SOURCE_BYTES * 9).map(lambda n: b'{"source": "' + b"#" * n + b'"}'),
    st.fixed_dictionaries(
        {
            "source": st.sampled_from(
                ["x = 1", "1 / 0", "while True: pass", "import torch\nprint(torch.ones(2))"]
            )
        },
        optional={
            "device": st.sampled_from(["auto", "cpu", "cuda", "simulated-cuda", "tpu", "", "CPU"]),
            "seed": st.one_of(st.integers(), st.floats(), st.none(), st.text(max_size=3)),
            "limits": st.just({}),
        },
    ).map(lambda body: repr(body).replace("'", '"').replace("None", "null").encode("utf-8", "surrogatepass")),
)
QUERIES = st.sampled_from(
    (
        *("", "?format=state", "?format=state&step=0", "?format=state&step=-1", "?step=1", "?format=x"),
        *("?packed=0", "?packed=maybe", "?format=state&step=" + "9" * 500, "?format=state&step=1.5"),
        *("?" + "x" * 9_000, "?%00=%ff"),
    )
)


def test_bodies_of_any_kind_get_answers_by_the_contract(server: str) -> None:
    ends: Counter[int] = Counter()
    with httpx.Client(base_url=server, timeout=30) as client:

        @settings(PLAIN, max_examples=120)
        @given(
            BODIES,
            QUERIES,
            st.sampled_from(["application/json", "text/plain", "", "application/x-ndjson"]),
            st.sampled_from(["POST", "POST", "POST", "PUT", "DELETE", "GET"]),
        )
        def send(body: bytes, query: str, kind: str, method: str) -> None:
            headers = {"content-type": kind, "accept": kind or "*/*"}
            judge(client.request(method, f"/api/trace{query}", content=body, headers=headers), ends)

        send()
        assert client.get("/healthz").json()["queue"]["running"] == 0
    assert {200, 405, 413, 414, 422} <= set(ends)
