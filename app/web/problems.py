"""The only place that knows HTTP status codes: which one an error of ours gets, and how it is said.

An API answers with `application/problem+json`: `code` for programs, `message` for the reader, `limit`
where one was met. A page answers with a page. Faults of ours get an id and no traceback.
"""

import secrets
import traceback
from collections.abc import Mapping
from typing import Any

import structlog
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from ..errors import (
    AppError,
    DeviceUnavailable,
    FromAnotherSite,
    NotFromHere,
    PoolBusy,
    ReplyInvalid,
    RequestInvalid,
    RequestTooSlow,
    SandboxRestarting,
    SandboxUnavailable,
    SourceTooLarge,
)

log = structlog.get_logger()

STATUS: Mapping[type[AppError], int] = {
    NotFromHere: 403,
    FromAnotherSite: 403,
    RequestTooSlow: 408,
    SourceTooLarge: 413,
    RequestInvalid: 422,
    DeviceUnavailable: 422,
    PoolBusy: 429,
    ReplyInvalid: 500,  # the pool turns it into an outcome; one that gets here is a fault of ours
    SandboxRestarting: 503,
    SandboxUnavailable: 503,
}

HTTP_CODES: Mapping[int, tuple[str, str]] = {
    400: ("request-ambiguous", "The request tells its length in two ways."),
    404: ("not-found", "There is nothing at this address."),
    405: ("method-not-allowed", "This address does not answer that method."),
    414: ("address-too-long", "The address is too long."),
    431: ("headers-too-large", "The headers of the request are too many or too long."),
    501: ("not-implemented", "This format is not offered; ask for JSON."),
}


class ProblemResponse(JSONResponse):
    """A problem as JSON."""

    media_type = "application/problem+json"


def status_of(error: AppError) -> int:
    """The HTTP status of an error: its own, or that of the nearest class it comes from."""
    for kind in type(error).__mro__:
        if kind in STATUS:
            return STATUS[kind]
    return 500


def problem_of(error: AppError) -> dict[str, Any]:
    """An error as the members of a problem.

    >>> problem_of(SourceTooLarge(70_000, 65_536))["limit"]
    65536
    """
    if status_of(error) == 500:
        return internal_problem(error)
    problem: dict[str, Any] = {"code": error.code, "message": error.message}
    limit = getattr(error, "limit", None)
    return problem if limit is None else {**problem, "limit": limit}


def internal_problem(error: BaseException) -> dict[str, Any]:
    """A fault of ours, logged under an id; the reader gets the id and nothing of the inside."""
    fault = secrets.token_hex(6)
    # As text: structlog's own rendering takes seconds and prints local variables, a reader's program too.
    log.error("internal error", id=fault, traceback="".join(traceback.format_exception(error)))
    return {
        "code": "internal",
        "message": f"This is a fault of ours, not of your program. If you report it, name it: {fault}.",
        "id": fault,
    }


def app_error_response(error: AppError) -> Response:
    """An error as a response."""
    headers = {}
    retry_after_s = getattr(error, "retry_after_s", None)
    if retry_after_s is not None:
        headers["Retry-After"] = str(retry_after_s)
    if isinstance(error, RequestTooSlow):
        headers["Connection"] = "close"  # the rest of its body may still come
    return ProblemResponse(problem_of(error), status_of(error), headers)


def http_problem(status: int, detail: str | None = None) -> dict[str, Any]:
    """A status of HTTP itself as a problem."""
    code, message = HTTP_CODES.get(status, ("http-error", "The request could not be answered."))
    return {"code": code, "message": detail or message}


def wants_page(request: Request) -> bool:
    """Whether the one who asks is reading pages rather than calling the API."""
    if request.url.path.startswith(("/api/", "/traces/", "/oembed", "/healthz", "/static/")):
        return False
    return "text/html" in request.headers.get("accept", "")
