"""What an operator may count: requests, runs by outcome, how busy the sandboxes are. Prometheus text.

Labels have few values and never hold a reader's text: routes are templates, outcomes and reasons come
from the schema. `Measured` wraps a runner; the middleware sees every request.
"""

import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from fastapi import APIRouter
from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..errors import AppError
from ..schema import Chunk, Outcome, Trace, TraceRequest
from .runner import Runner, RunnerStatus

_SECONDS = (0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24)
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"})


class Metrics:
    """The figures of one server."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        PlatformCollector(registry=self.registry)
        self._requests = Counter(
            "tensor_anatomy_requests",
            "Requests answered.",
            ("route", "method", "status"),
            registry=self.registry,
        )
        self._seconds = Histogram(
            "tensor_anatomy_request_seconds",
            "Time from a request to the last byte of its answer.",
            ("route",),
            buckets=_SECONDS,
            registry=self.registry,
        )
        self._runs = Counter(
            "tensor_anatomy_runs",
            "Programs that ran, by how they ended.",
            ("outcome", "reason"),
            registry=self.registry,
        )
        self._run_seconds = Histogram(
            "tensor_anatomy_run_seconds",
            "Time of a run, with its wait for a sandbox.",
            buckets=_SECONDS,
            registry=self.registry,
        )
        self._refused = Counter(
            "tensor_anatomy_refused_runs",
            "Programs that were not run, by the code of the problem.",
            ("code",),
            registry=self.registry,
        )
        self._answered = Counter(
            "tensor_anatomy_traces",
            "Requests for a trace: by a run of their own, by one that was under way, from what was kept.",
            ("how",),
            registry=self.registry,
        )

    def watch(self, status: Callable[[], RunnerStatus]) -> None:
        """Ask for the state of the sandboxes whenever the figures are read."""
        for name, words, read in (
            ("running", "Programs running now.", lambda: status().queue.running),
            ("waiting", "Requests that wait for a sandbox.", lambda: status().queue.waiting),
            ("sandboxes", "Programs that can run at the same time.", lambda: status().queue.sandboxes),
            (
                "evicted",
                "Requests that lost their place in the queue to another client's.",
                lambda: status().queue.evicted,
            ),
            ("prepared", "Confined processes that wait for a program.", lambda: status().queue.prepared),
            ("unforked", "Runs that found such a process.", lambda: status().queue.unforked),
            ("ready", "1 while programs can be run.", lambda: status().state == "ready"),
        ):
            Gauge(f"tensor_anatomy_{name}", words, registry=self.registry).set_function(read)

    def request(self, route: str, method: str, status: int, seconds: float) -> None:
        """A request was answered."""
        self._requests.labels(route, method, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def answered(self, how: str) -> None:
        """A request for a trace was answered: `run`, `joined` or `kept`."""
        self._answered.labels(how).inc()

    def ended(self, outcome: Outcome, seconds: float) -> None:
        """A run ended."""
        self._runs.labels(outcome.kind, outcome.reason or "").inc()
        self._run_seconds.observe(seconds)

    def refused(self, code: str) -> None:
        """A program was not run."""
        self._refused.labels(code).inc()

    def router(self) -> APIRouter:
        """`/metrics`."""
        router = APIRouter(include_in_schema=False)

        @router.get("/metrics")
        async def metrics() -> Response:
            return Response(
                generate_latest(self.registry),
                media_type=CONTENT_TYPE_LATEST,
                headers={"Cache-Control": "no-store"},
            )

        return router


class Measured:
    """A runner whose runs are counted."""

    def __init__(self, runner: Runner, metrics: Metrics) -> None:
        self._runner = runner
        self._metrics = metrics

    async def run(self, request: TraceRequest, *, client: str = "") -> Trace:
        """Run a program; see `Runner`."""
        async with aclosing(self.stream(request, client=client)) as pieces:
            async for piece in pieces:
                if isinstance(piece, Trace) and piece.is_final:
                    return piece
        raise AssertionError("a stream ends with a trace or raises")

    async def stream(self, request: TraceRequest, *, client: str = "") -> AsyncGenerator[Chunk | Trace, None]:
        """Run a program and yield what arrives; see `Runner`."""
        began = time.perf_counter()
        pieces = self._runner.stream(request, client=client)
        over = False
        try:
            async for piece in pieces:
                if isinstance(piece, Trace) and not over:
                    over = True
                    self._metrics.ended(piece.outcome, time.perf_counter() - began)
                yield piece
        except AppError as e:
            self._metrics.refused(e.code)
            raise
        finally:
            close = getattr(pieces, "aclose", None)
            if close is not None:
                await close()

    def status(self) -> RunnerStatus:
        """How the runner is."""
        return self._runner.status()


class CountRequests:
    """Counts every request under the template of its route."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), 499  # a client that left before an answer began

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, noting)
        except Exception:
            status = 500
            raise
        finally:
            self._metrics.request(_route(scope), _method(scope), status, time.perf_counter() - began)


def _route(scope: Scope) -> str:
    """The template of the route, so that no address that somebody made up becomes a label."""
    path = getattr(scope.get("route"), "path", None)
    if isinstance(path, str):
        return path
    return "/static" if scope["path"].startswith("/static/") else "none"


def _method(scope: Scope) -> str:
    return scope["method"] if scope["method"] in _METHODS else "other"
