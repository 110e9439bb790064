"""An application with a runner that runs nothing: the web is tested without a sandbox."""

import asyncio
from collections.abc import AsyncIterator
from typing import Literal

import httpx
import pytest
from tensor_anatomy.errors import AppError
from tensor_anatomy.lessons.catalog import Catalog, load
from tensor_anatomy.schema import Chunk, Closing, Opening, Outcome, Steps, Trace, TraceRequest
from tensor_anatomy.settings import Settings
from tensor_anatomy.web.app import WebSettings, build
from tensor_anatomy.web.runner import QueueStatus, RunnerStatus


class FakeRunner:
    """Answers every program with one recorded trace, or with what `fails` says."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.fails: Exception | None = None
        self.breaks_midway: Exception | None = None
        self.unavailable: str | None = None
        self.state: Literal["ready", "starting"] = "ready"
        self.asked: list[TraceRequest] = []
        self.may_end = asyncio.Event()
        self.may_end.set()
        self.closed = False

    async def run(self, request: TraceRequest, *, client: str = "") -> Trace:
        self.asked.append(request)
        if self.fails:
            raise self.fails
        return self.trace.model_copy(update={"source": request.source})

    async def stream(self, request: TraceRequest, *, client: str = "") -> AsyncIterator[Chunk | Trace]:
        self.asked.append(request)
        if self.fails:
            raise self.fails
        trace = self.trace
        try:
            yield Opening(kind="opening", environment=trace.environment, statements=trace.statements)
            await self.may_end.wait()
            if self.breaks_midway:
                raise self.breaks_midway
            yield Steps(
                kind="steps",
                names=trace.names,
                views=trace.views,
                ranges=trace.ranges,
                sites=trace.sites,
                steps=trace.steps,
                running=None,
            )
            yield Closing(kind="closing", events=(), outcome=trace.outcome, fingerprint=None)
            yield trace
        finally:
            self.closed = True

    def status(self) -> RunnerStatus:
        return RunnerStatus(
            state="unavailable" if self.unavailable and self.state == "ready" else self.state,
            reason=self.unavailable,
            torch=None if self.unavailable else "2.13.0+cpu",
            profile=None if self.unavailable else "strict",
            layers=() if self.unavailable else ("rlimits", "landlock", "seccomp"),
            devices=("cpu",),
            queue=QueueStatus(running=1, waiting=0, sandboxes=2, places=32),
        )


class Refusal(AppError):
    """Used to see that an error without a status of its own is a fault of ours."""

    code = "refusal"


@pytest.fixture(scope="session")
def catalog() -> Catalog:
    return load()


@pytest.fixture(scope="session")
def trace(catalog: Catalog) -> Trace:
    program = catalog.program("one-storage.transpose")
    assert program is not None
    return catalog.recordings.read(program)


@pytest.fixture
async def runner(trace: Trace) -> FakeRunner:
    return FakeRunner(trace)


@pytest.fixture
async def app(runner: FakeRunner, catalog: Catalog):
    settings = Settings()
    web = WebSettings(
        limits=settings.limits,
        source_bytes=settings.source_bytes,
        frame_ancestors="https://course.example",
        public_url=None,
        unsafe=False,
    )
    return build(runner, catalog, web, version="0.0.0")


@pytest.fixture
async def client(app) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(app=app, raise_app_exceptions=True)
    async with httpx.AsyncClient(transport=transport, base_url="http://testserver") as client:
        yield client


@pytest.fixture
def finished() -> Outcome:
    return Outcome(
        kind="finished",
        line=None,
        type=None,
        message=None,
        reason=None,
        limit=None,
        range=None,
        traceback=(),
        failure=None,
    )
