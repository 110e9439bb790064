"""Whatever dies, freezes or is full: every request gets an answer, and the server is whole afterwards."""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from tensor_anatomy.execution.child import SILENCE_S

from .server import ENDLESS, Answer, Server, eventually, is_alive, serving, zombies

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(90)]

SLEEPS = "import time\ntime.sleep({})\n"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server() -> AsyncIterator[Server]:
    async with serving(SANDBOXES="2", QUEUE="8", WALL_SECONDS="30", COMPARE="0") as server:
        yield server


async def is_whole(server: Server) -> None:
    """It runs programs as before, every slot of it."""
    await server.is_ready()
    await server.is_quiet()
    answers = await asyncio.gather(*(server.client(20 + i).asks(f"print({i}, 'ok')") for i in range(4)))
    assert [(each.status, each.json["outcome"]["kind"]) for each in answers] == [(200, "finished")] * 4
    await server.is_quiet()
    assert list(zombies(server)) == []


async def test_a_child_that_is_killed_is_a_crash_that_names_the_signal(server: Server) -> None:
    asking = asyncio.create_task(server.client().asks(ENDLESS.format("killed")))
    await server.holds(running=1, waiting=0)
    await eventually(lambda: len(server.runs()) == 1)
    os.kill(server.runs()[0], signal.SIGKILL)
    answer = await asking
    outcome = answer.json["outcome"]
    assert (answer.status, outcome["kind"], outcome["reason"]) == (200, "crashed", "signal")
    assert "SIGKILL" in outcome["message"]
    await is_whole(server)


async def test_when_the_process_that_forks_dies_readers_are_told_to_come_again(server: Server) -> None:
    first = server.zygote
    asking = [asyncio.create_task(server.client().asks(ENDLESS.format(i))) for i in range(3)]
    await server.holds(running=2, waiting=1)
    runs = server.runs()
    os.kill(first, signal.SIGKILL)
    told(await asyncio.gather(*asking))
    told([await server.client().asks("x = 'meanwhile'")])
    assert (await server.client().gets("/lessons")).status == 200
    await is_whole(server)
    assert server.zygote != first
    assert not any(is_alive(pid) for pid in (first, *runs))


async def test_when_the_process_that_forks_freezes_it_is_replaced(server: Server) -> None:
    first = server.zygote
    os.kill(first, signal.SIGSTOP)
    began = time.monotonic()
    told(await asyncio.gather(*(server.client(i).asks(f"x = {i}") for i in (1, 2, 3))))
    assert time.monotonic() - began < SILENCE_S + 15
    await is_whole(server)
    assert server.zygote != first
    assert not is_alive(first)


def told(answers: list[Answer]) -> None:
    """Each was told that the sandbox restarts, and when to come again."""
    for answer in answers:
        assert (answer.status, answer.json["code"]) == (503, "sandbox-restarting")
        assert int(answer.headers["retry-after"]) >= 1


async def test_a_server_that_is_told_to_end_answers_who_runs_and_refuses_who_waits() -> None:
    async with serving(SANDBOXES="1", QUEUE="4", WALL_SECONDS="8", PREPARE="1") as server:
        runs = asyncio.create_task(server.client().asks(SLEEPS.format(6), stream=True))
        await server.holds(running=1, waiting=0)
        waits = asyncio.create_task(server.client().asks("x = 'waits'"))
        endless = asyncio.create_task(server.client(2).asks(ENDLESS.format("in reserve")))
        await server.holds(running=2, waiting=1)
        below = [server.zygote, *server.runs()]
        server.process.send_signal(signal.SIGTERM)
        told([await waits])
        assert not runs.done()
        assert (await runs).body.count(b'"event":"end"') == 1
        assert (await endless).json["outcome"]["reason"] == "time-limit"
        status = await asyncio.to_thread(server.process.wait, 30)
        assert status in (0, -signal.SIGTERM)
        await eventually(lambda: not any(is_alive(pid) for pid in below))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def cramped(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Server]:
    """A server that can write no file beyond 40 kB, as on a disk that is full."""
    folder = str(tmp_path_factory.mktemp("cache"))
    async with serving(most_file_bytes=40_000, SANDBOXES="1", CACHE=folder, COMPARE="0") as server:
        server.cache = Path(folder)
        yield server


async def test_a_full_disk_costs_no_answer(cramped: Server) -> None:
    assert cramped.cache is not None
    for i in range(6):
        answer = await cramped.client().asks(f"import torch\nx = torch.arange({i + 3})\nprint(x)")
        assert (answer.status, answer.json["outcome"]["kind"]) == (200, "finished")
    sizes = [each.stat().st_size for each in cramped.cache.iterdir()]
    assert sizes
    assert max(sizes) <= 40_000
    await cramped.is_quiet()


async def test_a_server_that_is_killed_takes_everything_with_it(cramped: Server) -> None:
    asking = asyncio.create_task(cramped.client().asks(ENDLESS.format("orphan")))
    await cramped.holds(running=1, waiting=0)
    await eventually(lambda: len(cramped.runs()) == 1)
    below = [cramped.zygote, *cramped.runs()]
    cramped.process.kill()
    await asyncio.gather(asking, return_exceptions=True)
    await eventually(lambda: not any(is_alive(pid) for pid in below))
