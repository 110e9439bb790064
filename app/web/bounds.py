"""How long the address and the headers of a request may be. Its body is bounded where it is read (`bodies`).

The server below bounds them too, but not every one does, and none says so in our words. A request that tells
its length in two ways is refused, and its connection closed: a proxy in front might have believed the other
one, and what follows would be somebody else's request.
"""

from starlette.types import ASGIApp, Receive, Scope, Send

from .problems import ProblemResponse, http_problem

ADDRESS_BYTES = 8 << 10
HEADER_BYTES = 32 << 10
HEADERS = 100


class BoundedRequests:
    """Refuses a request before anything looks at it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        status = _too_much(scope) if scope["type"] == "http" else None
        if status is None:
            await self._app(scope, receive, send)
        else:
            headers = {"Connection": "close"} if status == 400 else None
            await ProblemResponse(http_problem(status), status, headers)(scope, receive, send)


def _too_much(scope: Scope) -> int | None:
    if len(scope["path"]) + len(scope["query_string"]) > ADDRESS_BYTES:
        return 414
    headers = scope["headers"]
    if len(headers) > HEADERS or sum(len(name) + len(value) for name, value in headers) > HEADER_BYTES:
        return 431
    return 400 if {name for name, _ in headers} >= {b"content-length", b"transfer-encoding"} else None
