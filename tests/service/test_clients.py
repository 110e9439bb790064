"""Clients that take much, send slowly, read nothing or leave: nobody else notices."""

import asyncio
import time
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from .server import ENDLESS, Server, parsed, request, serving

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(120)]

WALL_S = 40
"""So long that nothing here ends by itself."""

BODY_S = 1.0


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def started() -> AsyncIterator[Server]:
    settings = {"WALL_SECONDS": str(WALL_S), "CPU_SECONDS": str(WALL_S), "BODY_SECONDS": str(BODY_S)}
    async with serving(SANDBOXES="2", QUEUE="8", TRUSTED_PROXY="127.0.0.50", **settings) as server:
        yield server


@pytest_asyncio.fixture(loop_scope="module")
async def server(started: Server) -> AsyncIterator[Server]:
    """The one server; a test must leave nothing running."""
    await started.is_quiet()
    yield started
    await started.is_quiet()


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "stream"])
async def test_a_client_that_leaves_in_mid_run_ends_its_program(server: Server, stream: bool) -> None:
    _, writer = await server.client().begins(ENDLESS.format(f"leaves {stream}"), stream=stream)
    await server.holds(running=1, waiting=0)
    writer.close()
    await server.is_quiet()  # which waits for less than WALL_S


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "stream"])
async def test_a_client_that_leaves_the_queue_gives_its_place_back(server: Server, stream: bool) -> None:
    running = [(await server.client().begins(ENDLESS.format(i)))[1] for i in range(2)]
    await server.holds(running=2, waiting=0)
    _, waiting = await server.client().begins(ENDLESS.format("waits"), stream=stream)
    await server.holds(running=2, waiting=1)
    waiting.close()
    await server.holds(running=2, waiting=0)
    for writer in running:
        writer.close()


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "stream"])
async def test_a_client_that_leaves_during_the_unobserved_run_ends_that_too(
    server: Server, stream: bool
) -> None:
    source = f"import time\ntime.sleep(6)\n# {stream}\n"
    reader, writer = await server.client().begins(source, stream=stream)
    await server.holds(running=1, waiting=0)
    if stream:
        async with asyncio.timeout(20):
            while b'"comparison":{"state":"pending"' not in await reader.readline():
                assert not reader.at_eof()
    else:
        await asyncio.sleep(7)
    first = await server.figure("tensor_anatomy_running")
    writer.close()
    began = time.monotonic()
    await server.is_quiet()
    assert (first, time.monotonic() - began < 4) == (1, True)


async def test_a_shared_run_ends_with_its_last_listener(server: Server) -> None:
    source = ENDLESS.format("shared")
    writers = [(await server.client(n).begins(source, stream=n == 2))[1] for n in (1, 2, 3)]
    await server.holds(running=1, waiting=0)
    for writer in writers[:2]:
        writer.close()
    await asyncio.sleep(0.3)
    await server.holds(running=1, waiting=0)
    writers[2].close()


async def test_one_client_neither_takes_all_slots_nor_fills_the_queue(server: Server) -> None:
    greedy, other = server.client(2), server.client(3)
    held = [await greedy.begins(ENDLESS.format(i)) for i in range(6)]
    await server.holds(running=2, waiting=4)
    refused = await greedy.asks("x = 'one too many'")
    assert (refused.status, refused.json["code"], refused.json["limit"]) == (429, "busy", 4)
    assert "your address" in refused.json["message"]
    assert 1 <= int(refused.headers["retry-after"]) <= 30
    began = time.monotonic()
    answer = await other.asks("x = 'somebody else'")
    assert (answer.status, answer.json["outcome"]["kind"]) == (200, "finished")
    assert time.monotonic() - began < WALL_S / 2
    more = [await other.begins(ENDLESS.format(f"other {i}")) for i in range(3)]
    await server.holds(running=3, waiting=6)
    for _, writer in held + more:
        writer.close()


async def test_behind_a_trusted_proxy_clients_are_told_by_the_header_and_elsewhere_not(
    server: Server,
) -> None:
    proxy, stranger = server.client(50), server.client(51)
    held = [await proxy.begins(ENDLESS.format(i), X_Forwarded_For="192.0.2.1") for i in range(6)]
    await server.holds(running=2, waiting=4)
    assert (await proxy.asks("x = 1", X_Forwarded_For="192.0.2.1")).status == 429
    assert (await proxy.asks("x = 2", X_Forwarded_For="192.0.2.1, 192.0.2.2")).status == 200
    held += [await stranger.begins(ENDLESS.format(f"s{i}"), X_Forwarded_For=f"192.0.2.{i}") for i in range(5)]
    await server.holds(running=3, waiting=8)
    assert (await stranger.asks("x = 3", X_Forwarded_For="192.0.2.77")).status == 429
    for _, writer in held:
        writer.close()


async def test_a_body_that_trickles_in_is_refused(server: Server) -> None:
    reader, writer = await server.client().connects()
    whole = request("x = 1")
    writer.write(whole[:-5])
    began = time.monotonic()
    answer = parsed(await reader.read())
    assert (answer.status, answer.json["code"]) == (408, "request-too-slow")
    assert BODY_S - 0.1 < time.monotonic() - began < BODY_S + 15
    writer.close()


@pytest.mark.parametrize("said", [b"", b"POST /api/trace HTTP/1.1\r\nHost: x\r\nX-"], ids=["idle", "headers"])
async def test_a_connection_that_says_nothing_more_is_closed(server: Server, said: bytes) -> None:
    reader, writer = await server.client().connects()
    began = time.monotonic()
    try:
        while time.monotonic() - began < BODY_S + 15:
            if said:
                writer.write(said if time.monotonic() - began < 0.1 else b"a")
            if reader.at_eof():
                break
            try:
                async with asyncio.timeout(0.1):
                    await reader.read()
            except TimeoutError:
                continue
    except ConnectionError:
        pass
    assert BODY_S - 0.1 < time.monotonic() - began < BODY_S + 15
    writer.close()


async def test_headers_are_bounded(server: Server) -> None:
    try:
        status = (await server.client().asks("x = 1", X_Long="a" * 600_000)).status
    except ConnectionError:  # it closes while we still send
        status = 400
    assert status == 400
    assert (await server.client().asks("x = 1", X_Long="a" * 8_000)).status == 200


async def test_no_second_request_is_smuggled_in_behind_one_of_two_lengths(server: Server) -> None:
    reader, writer = await server.client().connects()
    writer.write(
        b"POST /api/trace HTTP/1.1\r\nHost: x\r\nContent-Length: 60\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"0\r\n\r\nGET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
    )
    answer = await asyncio.wait_for(reader.read(), 60)
    writer.close()
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.count(b"HTTP/1.1 ") == 1
    assert b"request-ambiguous" in answer


async def test_an_answer_that_nobody_reads_holds_no_slot_and_is_given_up(server: Server) -> None:
    source = "import torch\nx = torch.zeros(1000)\nfor i in range(900):\n    x = x + i\n"
    reader, writer = await server.client().begins(source, stream=True)
    writer.transport.pause_reading()  # type: ignore[attr-defined]
    await server.is_quiet()
    assert (await server.client().asks("y = 2")).status == 200
    began = time.monotonic()
    connections = len(_connections(server))
    while len(_connections(server)) >= connections and time.monotonic() - began < 30:
        await asyncio.sleep(0.1)
    assert len(_connections(server)) < connections
    writer.transport.abort()
    assert reader is not None


def _connections(server: Server) -> set[str]:
    """Sockets of the server with somebody at the other end."""
    with open("/proc/net/tcp", encoding="ascii") as table:
        lines = [line.split() for line in table][1:]
    return {line[2] for line in lines if int(line[1].split(":")[1], 16) == server.port and line[3] == "01"}


async def test_eight_programs_at_once_are_eight_answers(server: Server) -> None:
    asked = (server.client(10 + i).asks(f"print({i})", query="?format=state") for i in range(8))
    answers = await asyncio.gather(*asked)
    assert [answer.status for answer in answers] == [200] * 8
    assert [answer.json["stdout"] for answer in answers] == [f"{i}\n" for i in range(8)]
