"""Headers that every response carries, and the last line of defence: an exception becomes a 500 here.

Plain ASGI, so that streams pass through untouched. What a page may load is `default-src 'none'` and a
short list; only `/embed/` may be framed by other sites.
"""

from collections.abc import Awaitable, Callable, Sequence
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..errors import FromAnotherSite
from .problems import app_error_response

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors "
)

_NOTHING_OF_THE_DEVICE = ", ".join(
    f"{feature}=()"
    for feature in (
        "accelerometer",
        "browsing-topics",
        "camera",
        "display-capture",
        "geolocation",
        "gyroscope",
        "hid",
        "magnetometer",
        "microphone",
        "midi",
        "payment",
        "publickey-credentials-get",
        "serial",
        "usb",
        "xr-spatial-tracking",
    )
)

# A page that is cross-origin isolated may load the embed, its files and its trace only if they say so.
_SHARED = ("/embed/", "/static/", "/traces/", "/oembed")

OnFault = Callable[[Request, Exception], Awaitable[Response]]


class SecurityHeaders:
    """Adds the headers and turns what nobody caught into a response."""

    def __init__(self, app: ASGIApp, *, frame_ancestors: str, on_fault: OnFault) -> None:
        self._app = app
        self._frame_ancestors = frame_ancestors
        self._on_fault = on_fault

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path: str = scope["path"]
        started = False

        async def send_with_headers(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                self._add(MutableHeaders(scope=message), path)
            await send(message)

        try:
            await self._app(scope, receive, send_with_headers)
        except ClientDisconnect:
            return  # nobody is left to answer
        except Exception as e:
            response = await self._on_fault(Request(scope), e)
            if started:
                raise  # too late for a status: the connection breaks, and the client sees that
            await response(scope, receive, send_with_headers)

    def _add(self, headers: MutableHeaders, path: str) -> None:
        embed = path.startswith("/embed/")
        headers["Content-Security-Policy"] = _POLICY + (self._frame_ancestors if embed else "'self'")
        headers["X-Content-Type-Options"] = "nosniff"
        headers["Referrer-Policy"] = "no-referrer"
        headers["Permissions-Policy"] = _NOTHING_OF_THE_DEVICE
        if "Location" in headers:
            headers["Location"] = _path_of(headers["Location"])
        allowed = "Access-Control-Allow-Origin" in headers
        headers["Cross-Origin-Resource-Policy"] = (
            "cross-origin" if allowed or path.startswith(_SHARED) else "same-origin"
        )
        if embed:
            headers["Cross-Origin-Embedder-Policy"] = "require-corp"
        else:
            headers["Cross-Origin-Opener-Policy"] = "same-origin"
        if path.startswith(("/static/", "/traces/", "/oembed", "/embed/v1/words/")):
            headers["Access-Control-Allow-Origin"] = "*"


def _path_of(address: str) -> str:
    """A redirect within the server, without its name: that comes from a header that anybody may write."""
    parts = urlsplit(address)
    path = "/" + parts.path.lstrip("/")  # two slashes would begin the name of another server
    return f"{path}?{parts.query}" if parts.query else path


class ApiForOthers:
    """Lets pages of other sites run programs, where the operator allows it: the API alone, no credentials.

    Elsewhere such a page is refused, for a browser sends a plain form to any site without asking first: its
    page could not read the answer, but its readers' browsers would spend this server's time.
    """

    def __init__(self, app: ASGIApp, *, origins: Sequence[str]) -> None:
        self._app = app
        self._origins = origins
        self._shared = CORSMiddleware(
            app,
            allow_origins=origins,
            allow_methods=["POST"],
            allow_headers=["Content-Type", "Accept"],
            expose_headers=["Retry-After", "ETag"],
            max_age=3600,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        app = self._app
        if scope["type"] == "http" and scope["path"] == "/api/trace":
            if scope["method"] == "POST" and self._refuses(Headers(scope=scope)):
                app = app_error_response(FromAnotherSite())
            elif self._origins:
                app = self._shared
        await app(scope, receive, send)

    def _refuses(self, headers: Headers) -> bool:
        """Whether it comes from a page of another site that is not named; only browsers say so."""
        if headers.get("sec-fetch-site") != "cross-site" or "*" in self._origins:
            return False
        return headers.get("origin") not in self._origins
