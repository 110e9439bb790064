"""Keeps a server without a sandbox to its own machine, whatever address it was bound to.

A page of any site can send requests to 127.0.0.1 from a reader's browser, and with a name of its own that
it points there (DNS rebinding) even read the answers. So neither the client's address nor the port that
is listened on is enough: the name asked for must be this machine's, and nothing but reading may come from
another site. Only used with the operator's opt-out; a sandbox needs no such thing.
"""

from collections.abc import Mapping
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from ..errors import NotFromHere
from .problems import app_error_response

_SAFE_METHODS = ("GET", "HEAD")


class LoopbackOnly:
    """Refuses who is not this machine's own reader."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] == "lifespan" or (scope["type"] == "http" and _is_from_here(scope)):
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await app_error_response(NotFromHere())(scope, receive, send)


def _is_from_here(scope: Scope) -> bool:
    headers = Headers(scope=scope)
    client = scope.get("client")
    if client is None or not _is_this_machine(client[0]) or not _is_this_machine(_name(headers)):
        return False
    return scope["method"] in _SAFE_METHODS or _is_same_site(headers)


def _is_same_site(headers: Mapping[str, str]) -> bool:
    """Whether the page that sends it is ours; programs that are no browser say nothing of it."""
    if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return False
    origin = headers.get("origin")
    return origin is None or urlsplit(origin).netloc == headers.get("host")


def _name(headers: Mapping[str, str]) -> str:
    try:
        return urlsplit(f"//{headers.get('host', '')}").hostname or ""
    except ValueError:
        return ""


def _is_this_machine(name: str) -> bool:
    if name == "localhost":
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False
