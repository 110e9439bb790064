"""T5: every core busy with programs, then ten times more requests than that.

Closed loop first: clients that ask again when answered, two per sandbox. Then requests come at ten times the
rate that was reached, whether answered or not; each must end as a result or as 429 with Retry-After.
"""

import asyncio
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

from .programs import S2, source_of
from .report import Figure, figure
from .server import HOST, Server, body_of, memory_mb, serving

TITLE = "cores saturated with a lesson-size program (S2), then ten times that load"

SATURATED_S = 15
OVERLOAD_S = 6
TIMES = 10
MOST_REQUESTS = 8000
ANSWER_S = 40
"""A request that is not answered by then is lost."""


@dataclass
class Answers:
    """How requests ended, and how long the results took."""

    ends: Counter[str] = field(default_factory=Counter)
    result_ms: list[float] = field(default_factory=list)
    refusal_ms: list[float] = field(default_factory=list)

    @property
    def sent(self) -> int:
        """Requests that ended somehow."""
        return self.ends.total()


def measure() -> Iterator[Figure]:
    """Saturate, overload twice, look what is left; then saturate a server that compares."""
    yield from _plain()
    yield from _compared()


def _compared() -> Iterator[Figure]:
    """Each program is run unobserved too, while few wait."""
    with serving() as server:
        sandboxes = json.loads(server.get("/healthz").body)["queue"]["sandboxes"]
        request = partial(_request, server, source_of(S2))
        asyncio.run(_saturate(server, request, 2 * sandboxes, 2))
        began = time.perf_counter()
        saturated = asyncio.run(_saturate(server, request, 2 * sandboxes, SATURATED_S))
        rate = saturated.ends["result"] / (time.perf_counter() - began)
        yield figure("compared: results a second, two clients a sandbox", "/s", rate)
        yield figure("  a result under that load", "ms", saturated.result_ms)
        over = asyncio.run(_overload(server, request, rate * TIMES))
        yield figure("  ten times that rate: answered with a result", "", over.ends["result"])
        yield figure("  lost, or answered otherwise", "", _lost(over), at_most=0)


def _plain() -> Iterator[Figure]:
    """Without the unobserved run: what the target is about."""
    with serving(compare=False) as server:
        sandboxes = json.loads(server.get("/healthz").body)["queue"]["sandboxes"]
        request = partial(_request, server, source_of(S2))
        asyncio.run(_saturate(server, request, 2 * sandboxes, 2))  # warms up
        time.sleep(1)  # until processes wait again
        idle = len(server.processes())
        memory = [_memory(server)]
        began = time.perf_counter()
        saturated = asyncio.run(_saturate(server, request, 2 * sandboxes, SATURATED_S))
        rate = saturated.ends["result"] / (time.perf_counter() - began)
        memory.append(_memory(server))
        yield figure("sandboxes", "", sandboxes)
        yield figure("results a second, two clients a sandbox", "/s", rate, at_least=30 * sandboxes / 2)
        yield figure("a result under that load", "ms", saturated.result_ms)
        yield figure("answers that were no result", "", saturated.sent - saturated.ends["result"], at_most=0)

        for turn in ("first", "second"):
            over = asyncio.run(_overload(server, request, rate * TIMES))
            yield figure(f"ten times that rate, {turn} time: requests", "", over.sent)
            yield figure("  answered with a result", "", over.ends["result"])
            yield figure("  refused with 429 and Retry-After", "", over.ends["busy"])
            yield figure("  lost, or answered otherwise", "", _lost(over), at_most=0)
            if over.ends["result"]:
                yield figure("  a result", "ms", over.result_ms)
            if over.ends["busy"]:
                yield figure("  a refusal", "ms", over.refusal_ms)
            memory.append(_memory(server))
        yield from (
            figure(f"server, memory {when}", "MB", mb)
            for when, mb in zip(
                ("idle", "after saturation", "after the first", "after the second"), memory, strict=True
            )
        )
        # The first fills the allocator's pools; what the second adds would be added every time.
        yield figure("server, memory after the second ÷ first", "x", memory[3] / memory[2], at_most=1.1)
        yield figure("processes left over", "", _left_over(server, idle), at_most=0)
        again = server.trace(source_of(S2))
        yield figure("a result afterwards", "ms", again.last_ms)
        if again.status != 200:
            raise RuntimeError(f"afterwards the server answers {again.status}")


def _lost(answers: Answers) -> int:
    for end, count in answers.ends.items():
        if end not in {"result", "busy"}:
            print(f"  ! {end}: {count}")
    return answers.sent - answers.ends["result"] - answers.ends["busy"]


def _memory(server: Server) -> float:
    time.sleep(0.5)
    return memory_mb(server.pid)


def _left_over(server: Server, idle: int) -> int:
    """Processes below the server beyond those of an idle one, once they had time to go."""
    deadline = time.monotonic() + 5
    while len(server.processes()) > idle and time.monotonic() < deadline:
        time.sleep(0.2)
    return len(server.processes()) - idle


def _request(server: Server, source: str) -> bytes:
    body = body_of(source)
    head = (
        f"POST /api/trace HTTP/1.1\r\nHost: {HOST}:{server.port}\r\nConnection: close\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


async def _saturate(server: Server, request: Callable[[], bytes], clients: int, seconds: float) -> Answers:
    answers = Answers()
    deadline = time.perf_counter() + seconds

    async def client() -> None:
        while time.perf_counter() < deadline:
            await _ask(server, request(), answers)

    await asyncio.gather(*(client() for _ in range(clients)))
    return answers


async def _overload(server: Server, request: Callable[[], bytes], rate: float) -> Answers:
    """Requests on a clock of their own; late ones are sent at once, none is left out."""
    answers = Answers()
    count = min(MOST_REQUESTS, round(rate * OVERLOAD_S))
    began = time.perf_counter()
    tasks = []
    for number in range(count):
        await asyncio.sleep(max(0.0, began + number / rate - time.perf_counter()))
        tasks.append(asyncio.create_task(_ask(server, request(), answers)))
    await asyncio.gather(*tasks)
    return answers


async def _ask(server: Server, request: bytes, answers: Answers) -> None:
    began = time.perf_counter()
    try:
        async with asyncio.timeout(ANSWER_S):
            reply = await _exchange(server.port, request)
    except (OSError, TimeoutError) as error:
        answers.ends[type(error).__name__] += 1
        return
    took = (time.perf_counter() - began) * 1000
    head, _, body = reply.partition(b"\r\n\r\n")
    status = head.split(b" ", 2)[1:2]
    if status == [b"200"] and b'"kind":"finished"' in body and body.endswith(b"}"):
        answers.ends["result"] += 1
        answers.result_ms.append(took)
    elif status == [b"429"] and b"\r\nretry-after: " in head.lower():
        answers.ends["busy"] += 1
        answers.refusal_ms.append(took)
    else:
        answers.ends[reply[:80].decode(errors="replace") or "no answer"] += 1


async def _exchange(port: int, request: bytes) -> bytes:
    reader, writer = await asyncio.open_connection(HOST, port)
    try:
        writer.write(request)
        return await reader.read()
    finally:
        writer.close()
