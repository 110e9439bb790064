"""The player alone, for other people's pages: `/embed/v1/…` and oEmbed.

The version is in the path, so that a change of layout never touches an old embed. A recorded embed needs
no login, no cookie and runs no code; it works inside `<iframe sandbox="allow-scripts">`.
"""

import html
from typing import Annotated, Any
from urllib.parse import parse_qs, urlencode, urlsplit

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException

from ..lessons.catalog import Catalog, Lesson
from ..lessons.programs import Program
from ..messages import LANGUAGES, Language
from .addresses import base_url
from .figures import step_figure
from .problems import ProblemResponse, http_problem
from .runner import Runner
from .templating import EmbedOptions, EmbedPage, PlayerView, Templates, data_block
from .words import words_of_figures, words_of_pages, words_of_recording

WIDTH, HEIGHT = 720, 420
"""What an embed is designed for first; `width` is a maximum, it fills what it gets."""

_LEAST_WIDTH, _LEAST_HEIGHT = 240, 200
_VIEWS = ("both", "memory", "graph")
_CACHE_S = 86_400


class Embeds:
    """The embed's routes and what they need."""

    def __init__(
        self, catalog: Catalog, templates: Templates, runner: Runner, public_url: str | None
    ) -> None:
        self._catalog = catalog
        self._templates = templates
        self._runner = runner
        self._public_url = public_url

    def router(self) -> APIRouter:
        """The routes."""
        router = APIRouter(include_in_schema=False)
        methods = ["GET", "HEAD"]
        router.add_api_route("/embed/v1/", self.pasted, methods=methods, response_class=Response)
        router.add_api_route("/embed/v1/words/{language}.json", self.words, methods=methods)
        router.add_api_route("/embed/v1/{key}", self.recorded, methods=methods, response_class=Response)
        return router

    def api(self) -> APIRouter:
        """The route that belongs to the API."""
        router = APIRouter(tags=["API"])
        router.get("/oembed", summary="oEmbed 1.0 for embeds and lessons", response_class=JSONResponse)(
            self.oembed
        )
        return router

    async def recorded(self, request: Request, key: str) -> Response:
        """A program of a lesson or an example."""
        program = self._catalog.program(key)
        if program is None:
            raise HTTPException(404)
        language = self._templates.language(request)
        base = base_url(request, self._public_url)
        trace = self._catalog.recordings.read(program)
        step = _step(request, len(trace.steps))
        player = PlayerView(
            id="player",
            src=f"/traces/{program.file_name}",
            step=step,
            focus=None,
            playground=f"/playground?program={program.key}",
            figure=step_figure(trace, step, language),
        )
        page = EmbedPage(
            title=self._title(program, language),
            options=_options(request, "memory" if trace.graph is None else "both"),
            player=player,
            open=self._home_of(program),
            host=urlsplit(base).netloc,
            messages=data_block(words_of_recording(trace, language)),
            words=f"/embed/v1/words/{language}.json",
            oembed=f"/oembed?{urlencode({'url': f'{base}/embed/v1/{key}'})}",
        )
        return self._templates.respond(request, page)

    async def words(self, language: str) -> Response:
        """What a recorded embed cannot say until it is asked for more."""
        if language not in LANGUAGES:
            raise HTTPException(404)
        kept = {"Cache-Control": f"public, max-age={_CACHE_S}"}
        return JSONResponse(words_of_figures(language), headers=kept)

    async def pasted(self, request: Request) -> Response:
        """A program that stands in the address, after the hash: the server never sees it."""
        status = self._runner.status()
        page = EmbedPage(
            title="",
            options=_options(request, "both"),
            player=None,
            open="/playground",
            host=urlsplit(base_url(request, self._public_url)).netloc,
            messages=data_block(words_of_pages(self._templates.language(request))),
            words=None,
            oembed=None,
        )
        no_sandbox = (status.reason or "") if status.state == "unavailable" else None
        return self._templates.respond(request, page, no_sandbox=no_sandbox)

    async def oembed(
        self,
        request: Request,
        url: str,
        maxwidth: Annotated[int | None, Query(ge=1)] = None,
        maxheight: Annotated[int | None, Query(ge=1)] = None,
        format: str = "json",
    ) -> Response:
        """What a publishing tool asks to turn an address of ours into an iframe."""
        if format != "json":
            return ProblemResponse(http_problem(501), 501)
        base = base_url(request, self._public_url)
        program, query = self._program_at(url, base)
        if program is None:
            raise HTTPException(404)
        language = self._templates.language(request)
        width = min(WIDTH, max(_LEAST_WIDTH, maxwidth or WIDTH))
        height = min(HEIGHT, max(_LEAST_HEIGHT, maxheight or HEIGHT))
        title = self._title(program, language)
        src = f"{base}/embed/v1/{program.key}" + (f"?{query}" if query else "")
        answer: dict[str, Any] = {
            "type": "rich",
            "version": "1.0",
            "title": title,
            "provider_name": "Tensor Anatomy",
            "provider_url": f"{base}/",
            "cache_age": _CACHE_S,
            "html": (
                f'<iframe src="{html.escape(src)}" width="{width}" height="{height}" '
                f'title="{html.escape(title)}" loading="lazy" allowfullscreen></iframe>'
            ),
            "width": width,
            "height": height,
        }
        return JSONResponse(answer, headers={"Cache-Control": f"public, max-age={_CACHE_S}"})

    def _program_at(self, url: str, base: str) -> tuple[Program | None, str]:
        """The program an address of ours shows, and the query to keep."""
        try:
            parts, ours = urlsplit(url), urlsplit(base)
        except ValueError:
            return None, ""
        if parts.scheme not in {"http", "https"} or parts.netloc != ours.netloc:
            return None, ""
        path = parts.path.removeprefix(ours.path)
        query = parse_qs(parts.query)
        kept = {
            name: values[0] for name, values in query.items() if name in {"step", "view", "theme", "lang"}
        }
        if path.startswith("/embed/v1/"):
            return self._catalog.program(path.removeprefix("/embed/v1/")), urlencode(kept)
        lesson = (
            self._catalog.lesson(path.removeprefix("/lessons/")) if path.startswith("/lessons/") else None
        )
        return (next(iter(lesson.programs.values())) if lesson else None), urlencode(kept)

    def _title(self, program: Program, language: Language) -> str:
        lesson = self._catalog.lesson(program.lesson)
        if lesson is not None:
            return lesson.texts[language].title
        for example in self._catalog.examples:
            if example.program == program:
                return example.titles[language]
        for pair in self._catalog.pairs:
            if program in (pair.left, pair.right):
                return pair.titles[language].replace("`", "")
        return program.name

    def _home_of(self, program: Program) -> str:
        lesson: Lesson | None = self._catalog.lesson(program.lesson)
        return f"/lessons/{lesson.slug}" if lesson else f"/playground?program={program.key}"


def _step(request: Request, steps: int) -> int:
    """`?step=` counts as the state document does; `curInstr` counts from 0, as Python Tutor does."""
    query = request.query_params
    for name, shift in (("step", 0), ("curInstr", 1)):
        text = query.get(name, "")
        if text.isdecimal() and len(text) < 9:
            return min(int(text) + shift, steps)
    return steps


def _options(request: Request, usual_view: str) -> EmbedOptions:
    query = request.query_params
    view = query.get("view", usual_view)
    return EmbedOptions(
        view=view if view in _VIEWS else usual_view,
        code=query.get("code") != "0",
        controls=query.get("controls") != "0",
        chrome="min" if query.get("chrome") == "min" else "full",
        autoheight=query.get("autoheight") == "1" or query.get("resizeContainer") == "true",
    )
