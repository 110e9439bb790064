"""Puts routes, headers and refusals together into one application. It starts nothing.

`main` gives it what it needs: a runner, the lessons, and values from the settings.
"""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException
from starlette_compress import CompressMiddleware, add_compress_type

from ..errors import AppError, RequestInvalid
from ..lessons.catalog import Catalog
from ..resources import resource
from ..schema import Limits
from .api import NDJSON, api_router
from .assets import Assets
from .bounds import BoundedRequests
from .clients import BehindProxies, Network
from .docs import docs_router, openapi_of
from .embed import Embeds
from .headers import ApiForOthers, SecurityHeaders
from .loopback import LoopbackOnly
from .metrics import CountRequests, Metrics
from .pages import Pages
from .plotting import Plotting
from .problems import (
    ProblemResponse,
    app_error_response,
    http_problem,
    internal_problem,
    wants_page,
)
from .runner import Runner
from .templating import ErrorPage, Templates

_ABOUT = (
    "Runs PyTorch programs and answers, for every line, which of the four layers of a tensor it touched: "
    "data, metadata, autograd, device."
)


@dataclass(frozen=True, kw_only=True)
class WebSettings:
    """What the web is told of the settings."""

    limits: Limits
    source_bytes: int
    frame_ancestors: str
    public_url: str | None
    api_origins: tuple[str, ...] = ()

    keeps_results: bool = False
    """Traces are kept for whoever runs the same program again."""

    unsafe: bool = False
    """Programs run without a sandbox: every page says so, and other machines are refused."""

    body_s: float = 10.0
    """A request must have arrived by then."""

    proxies: tuple[Network, ...] = ()
    """Who may say in `proxy_header` which client a request comes from; nobody by default."""

    proxy_header: str = "X-Forwarded-For"


def build(
    runner: Runner,
    catalog: Catalog,
    settings: WebSettings,
    *,
    version: str,
    metrics: Metrics | None = None,
    lifespan: Callable[[FastAPI], AbstractAsyncContextManager[Any]] | None = None,
) -> FastAPI:
    """Make the application.

    Args:
        runner: Runs programs.
        catalog: Lessons and examples.
        settings: Values.
        version: Of this project, for the API's document.
        metrics: Counts requests, and is answered at `/metrics`; None leaves both out.
        lifespan: Starts and stops what the runner needs.
    """
    app = FastAPI(
        title="Tensor Anatomy",
        version=version,
        description=_ABOUT,
        lifespan=lifespan,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
    )
    assets = Assets(resource("static"))
    templates = Templates(assets, unsafe=settings.unsafe)
    plotting = Plotting()
    pages = Pages(
        catalog,
        templates,
        runner,
        charts=plotting.charts,
        limits=settings.limits,
        source_bytes=settings.source_bytes,
        public_url=settings.public_url,
        unsafe=settings.unsafe,
        keeps_results=settings.keeps_results,
    )
    app.include_router(api_router(runner, settings.source_bytes, settings.body_s))
    app.include_router(pages.router())
    app.include_router(plotting.router())
    embeds = Embeds(catalog, templates, runner, settings.public_url)
    app.include_router(embeds.router())
    app.include_router(embeds.api())
    app.include_router(docs_router(app, templates, settings.public_url))
    if metrics is not None:
        metrics.watch(runner.status)
        app.include_router(metrics.router())
    app.mount("/static", assets, name="static")
    app.openapi = lambda: openapi_of(app)  # type: ignore[method-assign]  # FastAPI's documented way

    refusals = Refusals(templates)
    app.add_exception_handler(AppError, refusals.app_error)
    app.add_exception_handler(RequestValidationError, refusals.parameters)
    app.add_exception_handler(HTTPException, refusals.http)
    # The last one added is the outermost: headers stand on compressed answers and on faults too.
    add_compress_type(NDJSON, streaming=True)  # each line is sent when it is there
    app.add_middleware(CompressMiddleware, gzip_level=6)
    app.add_middleware(ApiForOthers, origins=settings.api_origins)
    if settings.unsafe:
        app.add_middleware(LoopbackOnly)
    app.add_middleware(BoundedRequests)
    app.add_middleware(SecurityHeaders, frame_ancestors=settings.frame_ancestors, on_fault=refusals.fault)
    if metrics is not None:
        app.add_middleware(CountRequests, metrics=metrics)
    if settings.proxies:
        app.add_middleware(BehindProxies, trusted=settings.proxies, header=settings.proxy_header)
    return app


class Refusals:
    """Turns exceptions into answers: a page for readers, a problem for programs."""

    def __init__(self, templates: Templates) -> None:
        self._templates = templates

    async def app_error(self, request: Request, error: Exception) -> Response:
        """An error of ours that has a code."""
        assert isinstance(error, AppError)
        return app_error_response(error)

    async def parameters(self, request: Request, error: Exception) -> Response:
        """A parameter of the address that is missing or wrong."""
        assert isinstance(error, RequestValidationError)
        first = error.errors()[0]
        name = first["loc"][-1] if first["loc"] else "?"
        return app_error_response(RequestInvalid(f"The parameter {name!r} is not right: {first['msg']}."))

    async def http(self, request: Request, error: Exception) -> Response:
        """No such address, or no such method there."""
        assert isinstance(error, HTTPException)
        if wants_page(request):
            return self._page(request, error.status_code, None)
        return ProblemResponse(http_problem(error.status_code), error.status_code, error.headers)

    async def fault(self, request: Request, error: Exception) -> Response:
        """What nobody expected."""
        problem = internal_problem(error)
        if wants_page(request):
            return self._page(request, 500, problem["id"])
        return ProblemResponse(problem, 500)

    def _page(self, request: Request, status: int, fault: str | None) -> Response:
        return self._templates.respond(request, ErrorPage(status=status, fault=fault), status=status)
