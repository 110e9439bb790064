"""The API: run a program, ask how the server is. Refusals are in `problems`, streams in `stream`.

It does not run programs itself; it is given a `Runner`.
"""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Awaitable
from dataclasses import asdict
from typing import Annotated, Any, Literal, TypeVar

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse
from starlette.requests import ClientDisconnect

from ..errors import RequestInvalid
from ..schema import Chunk, Trace
from ..schema.packing import packed_json
from ..schema.replay import state_document
from ..schema.slices import json_of
from ..schema.state import StateDocument
from .bodies import read_trace_request
from .clients import client_of
from .problems import STATUS
from .runner import Runner, RunnerStatus
from .stream import PART_BYTES, in_parts, lines_of

NDJSON = "application/x-ndjson"

Answer = TypeVar("Answer")

_PROBLEM_SCHEMA = {
    "type": "object",
    "required": ["code", "message"],
    "properties": {
        "code": {"type": "string", "description": "Stable name for programs."},
        "message": {"type": "string", "description": "One or two sentences for the reader."},
        "limit": {"type": "integer", "description": "The limit that was met, where there was one."},
    },
}


def _problems() -> dict[int | str, dict[str, Any]]:
    """What OpenAPI says about refusals, from the table of `problems`."""
    codes: dict[int, list[str]] = {}
    for error, status in STATUS.items():
        codes.setdefault(status, []).append("internal" if status == 500 else error.code)
    return {
        status: {
            "description": ", ".join(f"`{name}`" for name in names),
            "content": {"application/problem+json": {"schema": _PROBLEM_SCHEMA}},
        }
        for status, names in sorted(codes.items())
    }


_BODY = {
    "requestBody": {
        "required": True,
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/TraceRequest"}}},
    }
}


def api_router(runner: Runner, source_bytes: int, body_s: float) -> APIRouter:
    """The routes of the API.

    Args:
        runner: Runs programs.
        source_bytes: Longest program, in UTF-8.
        body_s: Seconds within which a request must have arrived.
    """
    router = APIRouter(tags=["API"])

    @router.post(
        "/api/trace",
        summary="Run a program and trace it",
        response_class=Response,
        responses={
            200: {
                "description": "The trace, packed (`PackedTrace` says how, `Trace` what is in it), also of a "
                "program that raised or met a limit. With "
                f"`Accept: {NDJSON}` lines while it runs, with `format=state` a state document.",
                "content": {
                    "application/json": {
                        "schema": {
                            "anyOf": [
                                {
                                    "$ref": "#/components/schemas/PackedTrace",
                                    "x-packs": {"$ref": "#/components/schemas/Trace"},
                                },
                                {"$ref": "#/components/schemas/StateDocument"},
                            ]
                        }
                    },
                    NDJSON: {"schema": {"type": "string"}},
                },
            },
            **_problems(),
        },
        openapi_extra=_BODY,
    )
    async def trace(
        request: Request,
        format: Annotated[
            Literal["trace", "state"], Query(description="`state`: the state after one step instead.")
        ] = "trace",
        step: Annotated[
            int | None, Query(description="With `format=state`: which step; else the last.")
        ] = None,
        packed: Annotated[
            bool, Query(description="`0`: the trace as `Trace` has it, every field by its name; much longer.")
        ] = True,
    ) -> Response:
        if step is not None and format != "state":
            raise RequestInvalid("The parameter 'step' goes with 'format=state'.")
        program = await read_trace_request(request, source_bytes, body_s)
        client = client_of(request)
        if format == "trace" and NDJSON in request.headers.get("accept", ""):
            return await _streamed(request, runner.stream(program, client=client), packed)
        result = await _while_wanted(request, runner.run(program, client=client))
        # Large ones take their time, in which others are to be heard.
        return await asyncio.to_thread(_answered, result, format, step, packed)

    @router.get("/readyz", summary="Whether this server should be sent readers")
    async def readyz() -> JSONResponse:
        ready = runner.status().state != "starting"
        return JSONResponse(
            {"ready": ready}, status_code=200 if ready else 503, headers={"Cache-Control": "no-store"}
        )

    @router.get("/healthz", summary="Whether programs can be run here")
    async def healthz() -> JSONResponse:
        status = runner.status()
        return JSONResponse(
            {
                "status": _status(status),
                "reason": status.reason,
                "torch": status.torch,
                "sandbox": {"profile": status.profile, "layers": list(status.layers)},
                "devices": list(status.devices),
                **({} if status.gpu is None else {"gpu": asdict(status.gpu)}),
                "queue": {
                    "running": status.queue.running,
                    "waiting": status.queue.waiting,
                    "sandboxes": status.queue.sandboxes,
                    "places": status.queue.places,
                    "prepared": status.queue.prepared,
                },
            },
            headers={"Cache-Control": "no-store"},
        )

    return router


async def _while_wanted(request: Request, work: Awaitable[Answer]) -> Answer:
    """See work through, and stop it when the client goes away: nobody waits for what it gives then."""
    task = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(_gone(request))
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise ClientDisconnect
        return task.result()
    finally:
        for each in (task, gone):
            each.cancel()
        await asyncio.gather(task, gone, return_exceptions=True)


async def _gone(request: Request) -> None:
    """Return when the client has closed the connection. The body has been read."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _streamed(request: Request, items: AsyncIterator[Chunk | Trace], packed: bool) -> Response:
    """A stream, once its first item is there: until then a refusal is an ordinary answer."""
    try:
        first = await _while_wanted(request, anext(items))
    except BaseException:
        await _closed(items)
        raise
    return StreamingResponse(
        _closing(items, lines_of(first, items, packed=packed)),
        media_type=NDJSON,
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )


async def _closing(items: AsyncIterator[Chunk | Trace], lines: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The lines; a client that goes away stops the program."""
    try:
        async for line in lines:
            yield line
    finally:
        await _closed(items)


async def _closed(items: AsyncIterator[Chunk | Trace]) -> None:
    close = getattr(items, "aclose", None)
    if close is not None:
        await close()


def _status(status: RunnerStatus) -> str:
    if status.state == "ready" and status.profile == "none":
        return "unsafe"
    return {"ready": "ok", "starting": "starting", "unavailable": "no-sandbox"}[status.state]


def _state(trace: Trace, step: int | None) -> StateDocument:
    try:
        return state_document(trace, step)
    except IndexError as e:
        raise RequestInvalid(f"There is no step {step}: the program took {len(trace.steps)} steps.") from e


def _answered(trace: Trace, form: Literal["trace", "state"], step: int | None, packed: bool) -> Response:
    return _record(trace if form == "trace" else _state(trace, step), packed)


def _record(record: Trace | StateDocument, packed: bool) -> Response:
    if isinstance(record, Trace):
        body = packed_json(record) if packed else json_of(record)
    else:
        body = record.model_dump_json(by_alias=True).encode()
    headers = {"Cache-Control": "no-store", "ETag": f'"{hashlib.sha256(body).hexdigest()[:32]}"'}
    if len(body) <= PART_BYTES:
        return Response(body, media_type="application/json", headers=headers)
    headers["Content-Length"] = str(len(body))
    return StreamingResponse(in_parts(body), media_type="application/json", headers=headers)
