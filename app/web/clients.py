"""Who asks: the address of a client, as far as it can be believed.

A header says nothing that its sender could not have made up, so one is read only on requests from proxies
that the operator names. Without them the client is whoever holds the connection. IPv6 clients are told
apart by their /64, which is what one subscriber gets.
"""

import re
from collections.abc import Iterable, Sequence
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

Network = IPv4Network | IPv6Network

MOST_HOPS = 32
"""Addresses of a header that are looked at, from its end."""

_FOR = re.compile(r'(?:^|;)\s*for=(?:"([^"]*)"|([^;,\s]+))', re.IGNORECASE)
_PORT = re.compile(r"(\d+\.\d+\.\d+\.\d+|\[[^\]]*\])(?::\d+)?")


def networks(text: str) -> tuple[Network, ...]:
    """Addresses and networks, separated by spaces or commas.

    Raises:
        ValueError: One of them is none.

    >>> [str(network) for network in networks("10.0.0.0/8 ::1")]
    ['10.0.0.0/8', '::1/128']
    """
    return tuple(ip_network(word) for word in text.replace(",", " ").split())


def key_of(host: str) -> str:
    """The name under which an address has its turns.

    >>> key_of("192.0.2.7"), key_of("2001:db8:1:2:aaaa::1"), key_of("::ffff:192.0.2.7")
    ('192.0.2.7', '2001:db8:1:2::/64', '192.0.2.7')
    """
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return host[:64]
    if not isinstance(address, IPv6Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(IPv6Network((address, 64), strict=False))


def client_of(request: Request) -> str:
    """The name of whoever sent a request."""
    return "" if request.client is None else key_of(request.client.host)


class BehindProxies:
    """Puts the client that a trusted proxy names in the place of the proxy, and the scheme it was asked with.

    Args:
        app: What answers.
        trusted: Where proxies are.
        header: Where they write the client: `X-Forwarded-For`, `Forwarded` (RFC 7239), or one of their own
            that holds a single address.
    """

    def __init__(self, app: ASGIApp, *, trusted: Sequence[Network], header: str) -> None:
        self._app = app
        self._trusted = tuple(trusted)
        self._header = header

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        client = scope.get("client")
        if scope["type"] == "http" and client is not None and self._is_proxy(client[0]):
            headers = Headers(scope=scope)
            named = self._named(headers.getlist(self._header))
            proto = headers.get("x-forwarded-proto", "").strip().lower()
            scope = {
                **scope,
                "client": client if named is None else (named, 0),
                "scheme": proto if proto in ("http", "https") else scope.get("scheme", "http"),
            }
        await self._app(scope, receive, send)

    def _named(self, lines: Iterable[str]) -> str | None:
        """The last address that no trusted proxy has: what stands before it may be made up."""
        hops = [hop for line in lines for hop in line.split(",")][-MOST_HOPS:]
        found = None
        for hop in reversed(hops):
            address = _address(hop, forwarded=self._header.lower() == "forwarded")
            if address is None:
                return found
            found = address
            if not self._is_proxy(address):
                return found
        return found

    def _is_proxy(self, host: str) -> bool:
        try:
            address = ip_address(host.partition("%")[0])
        except ValueError:
            return False
        if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
            return any(address.ipv4_mapped in network for network in self._trusted)
        return any(address in network for network in self._trusted)


def _address(hop: str, *, forwarded: bool) -> str | None:
    """The address of one hop, without its port; None where it does not say one."""
    text = hop.strip()
    if forwarded:
        said = _FOR.search(text)
        text = "" if said is None else said[1] or said[2] or ""
    with_port = _PORT.fullmatch(text)
    if with_port is not None:
        text = with_port[1].strip("[]")
    try:
        return str(ip_address(text))
    except ValueError:
        return None
