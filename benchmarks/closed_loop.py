"""Clients that ask again when they are answered, each from an address of its own, for as long as is allowed.

Only results count as answers; a client that is refused with 429 waits a little, which is counted too.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from .server import HOST, Server

PAUSE_S = 0.25
"""After a refusal. Less than it is told to wait, so that the load stays what it is called."""

ANSWER_S = 60


@dataclass
class Answers:
    """What clients got."""

    result_ms: list[float] = field(default_factory=list)
    refused: int = 0
    odd: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def rate(self) -> float:
        """Results a second."""
        return len(self.result_ms) / self.seconds


def post(body: bytes) -> bytes:
    """A request whose answer ends with the connection."""
    return (
        f"POST /api/trace HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode() + body


def closed_loop(
    server: Server, body: Callable[[], bytes], clients: int, *, seconds: float, most: int
) -> Answers:
    """Ask.

    Args:
        server: Whom.
        body: Makes a request's body.
        clients: How many at the same time.
        seconds: No request begins after these.
        most: No more requests than these.
    """
    answers = Answers()
    asyncio.run(_all(server, body, clients, seconds, most, answers))
    return answers


async def _all(
    server: Server, body: Callable[[], bytes], clients: int, seconds: float, most: int, answers: Answers
) -> None:
    began = time.perf_counter()
    left = most

    async def client(number: int) -> None:
        nonlocal left
        while time.perf_counter() < began + seconds and left > 0:
            left -= 1
            await _ask(server.port, f"127.0.{1 + number // 200}.{1 + number % 200}", post(body()), answers)

    await asyncio.gather(*(client(number) for number in range(clients)))
    answers.seconds = time.perf_counter() - began


async def _ask(port: int, address: str, request: bytes, answers: Answers) -> None:
    began = time.perf_counter()
    try:
        async with asyncio.timeout(ANSWER_S):
            reader, writer = await asyncio.open_connection(HOST, port, local_addr=(address, 0))
            try:
                writer.write(request)
                reply = await reader.read()
            finally:
                writer.close()
    except (OSError, TimeoutError) as error:
        answers.odd.append(type(error).__name__)
        return
    head = reply[:15]
    if head.startswith(b"HTTP/1.1 200") and reply.endswith(b"}"):
        answers.result_ms.append((time.perf_counter() - began) * 1000)
    elif head.startswith(b"HTTP/1.1 429"):
        answers.refused += 1
        await asyncio.sleep(PAUSE_S)
    else:
        answers.odd.append(reply[:60].decode(errors="replace") or "no answer")
