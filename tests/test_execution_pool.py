"""Whatever a program does, the reader gets the steps so far and how it ended, and the next reader is served.

Real processes: one zygote for the whole file, short limits.
"""

import asyncio
import os
import sys
import textwrap
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from pathlib import Path

import pytest
import pytest_asyncio
from tensor_anatomy.errors import DeviceUnavailable, PoolBusy, RequestInvalid, SandboxUnavailable
from tensor_anatomy.execution import Pool, Turns
from tensor_anatomy.execution.zygote_client import ZygoteClient
from tensor_anatomy.schema import Limits, Trace, TraceRequest

pytestmark = pytest.mark.asyncio(loop_scope="module")

LIMITS = Limits(
    wall_s=1.5,
    cpu_s=4,
    memory_bytes=512 << 20,
    steps_kept=2_000,
    statements=1_000_000_000,
    stdout_kept_bytes=1 << 16,
    stdout_bytes=1 << 20,
    trace_bytes=4 << 20,
    value_elements=1_024,
)
ENDLESS = "import torch\nx = torch.ones(2)\nwhile True:\n    pass\n"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def zygote() -> AsyncIterator[ZygoteClient]:
    """The one zygote; a pool of a test must be done with it before the next begins."""
    client = ZygoteClient("strict")
    await client.start()
    assert client.state == "ready", client.reason
    yield client
    await client.close()


@pytest.fixture
def pool(zygote: ZygoteClient) -> Pool:
    return Pool(LIMITS, turns=Turns(2, 4), zygote=zygote)


def program(source: str) -> TraceRequest:
    return TraceRequest(source=textwrap.dedent(source))


def printed(trace: Trace) -> str:
    return "".join(event.text for step in trace.steps for event in step.events if event.kind == "stdout")


def children(zygote: ZygoteClient) -> set[int]:
    return {int(pid) for pid in Path(f"/proc/{zygote.pid}/task/{zygote.pid}/children").read_text().split()}


async def eventually(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not holds():
            await asyncio.sleep(0.01)


async def test_a_program_is_run_and_traced(pool: Pool) -> None:
    trace = await pool.run(
        program("import torch\nx = torch.arange(6.).reshape(2, 3)\ny = x.t()\nprint(y.shape)")
    )
    assert trace.outcome.kind == "finished"
    assert [trace.statements[step.statement].range.line for step in trace.steps] == [1, 2, 3, 4]
    assert printed(trace) == "torch.Size([3, 2])\n"


@pytest.mark.parametrize(
    ("nasty", "kind", "reason", "words"),
    [
        pytest.param("while True: pass", "stopped", "time-limit", "1.5 s", id="an endless loop"),
        pytest.param(
            "z = torch.empty(10 * 2**30, dtype=torch.uint8)", "raised", "memory-limit", "", id="10 GB"
        ),
        pytest.param("z = bytearray(10 * 2**30)", "raised", "memory-limit", "", id="10 GB of bytes"),
        pytest.param("os._exit(0)", "crashed", "invalid-reply", "exit status 0", id="_exit(0)"),
        pytest.param("os._exit(71)", "crashed", "invalid-reply", "exit status 71", id="_exit(71)"),
        pytest.param("ctypes.string_at(0)", "crashed", "signal", "SIGSEGV", id="a null pointer"),
        pytest.param("os.abort()", "crashed", "signal", "SIGABRT", id="abort"),
        pytest.param("os.kill(os.getpid(), 9)", "crashed", "signal", "SIGKILL", id="it kills itself"),
        pytest.param("os.kill(os.getpid(), 19)", "stopped", "time-limit", "1.5 s", id="it stops itself"),
        pytest.param("open('/etc/passwd')", "raised", "denied", "", id="reading /etc/passwd"),
        pytest.param("open('out.txt', 'w')", "raised", "denied", "", id="writing a file"),
        pytest.param("socket.socket()", "raised", "denied", "", id="a socket"),
        pytest.param("os.fork()", "raised", "denied", "", id="forking"),
        pytest.param("os.system('true')", "finished", None, "", id="a shell command does nothing"),
        pytest.param("while True: os.write(1, bytes(65536))", "stopped", "output-limit", "", id="a flood"),
        pytest.param("while True: print('x' * 65536)", "stopped", "output-limit", "", id="a flood of prints"),
        pytest.param(
            "os.write(3, b'\\5\\0\\0\\0hello')", "crashed", "invalid-reply", "", id="a forged frame"
        ),
        pytest.param("os.write(3, b'\\xff' * 8)", "crashed", "invalid-reply", "", id="a frame of 4 GB"),
        pytest.param(
            "os.write(3, b'\\x10\\0\\0\\0{'); os._exit(0)", "crashed", "invalid-reply", "", id="half a frame"
        ),
        pytest.param(
            "while True: os.write(3, bytes(65536))", "crashed", "invalid-reply", "", id="a flood of frames"
        ),
        pytest.param(
            "os.write(3, b'\\x10\\0')\nwhile True: pass",
            "stopped",
            "time-limit",
            "",
            id="half a frame, then a loop",
        ),
        pytest.param("os.close(3)", "crashed", "invalid-reply", "", id="it closes the pipe"),
        pytest.param("1 / 0", "raised", None, "division by zero", id="an exception of its own"),
    ],
)
async def test_a_program_that(pool: Pool, nasty: str, kind: str, reason: str | None, words: str) -> None:
    trace = await pool.run(program(f"import ctypes, os, socket, torch\nx = torch.ones(2)\n{nasty}\n"))
    assert (trace.outcome.kind, trace.outcome.reason) == (kind, reason)
    assert words in (trace.outcome.message or "")
    assert kind == "finished" or trace.outcome.line in (3, 4)
    assert [trace.statements[step.statement].range.line for step in trace.steps][:2] == [1, 2]
    after = await pool.run(program("print(2 + 2)"))
    assert (after.outcome.kind, printed(after)) == ("finished", "4\n")


@pytest.mark.parametrize("before", ["", "import signal\nsignal.signal(signal.SIGXCPU, signal.SIG_IGN)\n"])
async def test_processor_time_is_limited_too(zygote: ZygoteClient, before: str) -> None:
    limits = LIMITS.model_copy(update={"wall_s": 25.0, "cpu_s": 1})
    trace = await Pool(limits, zygote=zygote).run(program(before + ENDLESS))
    assert (trace.outcome.kind, trace.outcome.reason) == ("stopped", "time-limit")
    assert trace.outcome.limit == "1 s of processor time"


async def test_what_is_written_past_python_ends_the_output(pool: Pool) -> None:
    trace = await pool.run(program("import os\nprint('from Python')\nos.write(1, b'from C \\xff')\nx = 1"))
    assert printed(trace) == "from Python\nfrom C \\xff"


async def test_output_is_kept_up_to_a_limit(zygote: ZygoteClient) -> None:
    limits = LIMITS.model_copy(update={"stdout_kept_bytes": 10})
    trace = await Pool(limits, zygote=zygote).run(program("import os\nos.write(1, b'0123456789abc')"))
    assert (trace.outcome.kind, printed(trace)) == ("finished", "0123456789")


async def test_a_seed_decides_what_is_drawn(pool: Pool) -> None:
    source = "import random, numpy, torch\nprint(random.random(), numpy.random.rand(), torch.rand(1).item())"
    drawn = [printed(await pool.run(TraceRequest(source=source, seed=seed))) for seed in (1, 1, 2, 2**40)]
    assert drawn[0] == drawn[1]
    assert len(set(drawn)) == 3


async def test_nothing_of_a_run_is_left_for_the_next(pool: Pool) -> None:
    await pool.run(
        program("import builtins, torch\nbuiltins.left = 1\ntorch.left = 1\ntorch.set_num_threads(2)")
    )
    trace = await pool.run(
        program("import torch\nprint(hasattr(torch, 'left'), 'left' in dir(__builtins__))")
    )
    assert printed(trace) == "False False\n"


async def test_a_program_finds_the_counters_of_a_process_of_its_own(pool: Pool) -> None:
    source = """
        import torch, torch._dynamo.utils
        print(torch.ones(1, requires_grad=True).register_hook(lambda grad: grad).id)
        print(torch.nn.Linear(1, 1).register_forward_hook(lambda *_: None).id)
        print(sum(torch._dynamo.utils.counters.values(), start=torch._dynamo.utils.Counter()))
        torch.compile(lambda a: a + 1, backend="eager")(torch.ones(1))
        print(torch._dynamo.utils.counters["frames"]["total"])
    """
    told = printed(await pool.run(program(textwrap.dedent(source))))
    assert told.split() == ["0", "1", "Counter()", "1"]


async def test_a_program_holds_four_descriptors_and_no_secret(pool: Pool) -> None:
    source = """
        import os
        held = []
        for descriptor in range(1100):
            try:
                os.fstat(descriptor)
            except OSError:
                continue
            held.append(descriptor)
        print(held, sorted(os.environ))
    """
    expected = "[0, 1, 2, 3] ['HOME', 'LANG', 'PATH', 'TORCHINDUCTOR_CACHE_DIR']\n"
    assert printed(await pool.run(program(source))) == expected


async def test_a_device_that_is_not_there_is_refused(pool: Pool) -> None:
    with pytest.raises(DeviceUnavailable):
        await pool.run(TraceRequest(source="x = 1", device="cuda"))


async def test_half_a_character_is_refused(pool: Pool) -> None:
    with pytest.raises(RequestInvalid, match="half of a character"):
        await pool.run(program("x = '\ud800'"))
    assert pool.status().running == 0


async def test_programs_run_side_by_side_without_mixing(pool: Pool) -> None:
    traces = await asyncio.gather(*(pool.run(program(f"print({i})")) for i in range(6)))
    assert [printed(trace) for trace in traces] == [f"{i}\n" for i in range(6)]


async def test_chunks_come_before_the_program_ends(pool: Pool) -> None:
    async with aclosing(pool.stream(program(ENDLESS))) as stream:
        first = await anext(stream)
        assert not isinstance(first, Trace)
        assert first.kind == "opening"
        assert pool.status().running == 1
        last = [piece async for piece in stream][-1]
        assert isinstance(last, Trace)
        assert last.outcome.reason == "time-limit"


async def test_a_full_queue_refuses_every_time_it_is_asked(zygote: ZygoteClient) -> None:
    pool = Pool(LIMITS, turns=Turns(1, 1), zygote=zygote)
    taken = [asyncio.create_task(pool.run(program(ENDLESS))) for _ in range(2)]
    await eventually(lambda: (pool.status().running, pool.status().waiting) == (1, 1))
    for _ in range(3):
        with pytest.raises(PoolBusy):
            await pool.run(program("x = 1"))
    for trace in await asyncio.gather(*taken):
        assert trace.outcome.reason == "time-limit"
    assert (await pool.run(program("x = 1"))).outcome.kind == "finished"


async def test_who_leaves_the_queue_gives_the_place_back(zygote: ZygoteClient) -> None:
    pool = Pool(LIMITS, turns=Turns(1, 1), zygote=zygote)
    running, waiting = (asyncio.create_task(pool.run(program(ENDLESS))) for _ in range(2))
    await eventually(lambda: pool.status().waiting == 1)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert pool.status().waiting == 0
    next_one = asyncio.create_task(pool.run(program("x = 1")))
    running.cancel()
    assert (await next_one).outcome.kind == "finished"


async def test_a_client_that_goes_away_ends_its_child(pool: Pool, zygote: ZygoteClient) -> None:
    stream = pool.stream(program(ENDLESS))
    await anext(stream)
    (child,) = children(zygote)
    await stream.aclose()
    assert pool.status().running == 0
    await eventually(lambda: not Path(f"/proc/{child}").exists())
    assert (await pool.run(program("x = 1"))).outcome.kind == "finished"


async def test_a_client_that_reads_slowly_does_not_hold_the_slot(zygote: ZygoteClient) -> None:
    pool = Pool(LIMITS, turns=Turns(1, 0), zygote=zygote)
    async with aclosing(pool.stream(program("x = 1"))) as slow:
        await anext(slow)
        await eventually(lambda: pool.status().running == 0)
        assert (await pool.run(program("y = 2"))).outcome.kind == "finished"
        assert isinstance([piece async for piece in slow][-1], Trace)


async def test_twenty_runs_leave_no_descriptor_and_no_child(pool: Pool, zygote: ZygoteClient) -> None:
    def held() -> tuple[int, int]:
        try:
            of_zygote = len(os.listdir(f"/proc/{zygote.pid}/fd"))
        except PermissionError:  # an ordinary user may not look into a process that is not dumpable
            of_zygote = 0
        return len(os.listdir("/proc/self/fd")), of_zygote

    await pool.run(program("x = 1"))
    await asyncio.sleep(0.1)  # the zygote tells the end of a child before it closes what it held of it
    before = held()
    endings = ["x = 1", "1 / 0", "import os; os._exit(1)", "import ctypes; ctypes.string_at(0)"]
    for i in range(20):
        await pool.run(program(endings[i % len(endings)]))
    assert children(zygote) == set()
    await eventually(lambda: held() == before)


async def test_where_programs_cannot_be_confined_none_is_run() -> None:
    refusing = (
        "import json, socket, sys; socket.socket(fileno=int(sys.argv[1]))"
        ".send(json.dumps({'ready': False, 'reason': 'there is no Landlock.'}).encode())"
    )
    async with Pool(LIMITS, zygote=ZygoteClient(command=[sys.executable, "-c", refusing])) as pool:
        assert (pool.status().state, pool.status().reason) == ("unavailable", "there is no Landlock.")
        for _ in range(3):
            with pytest.raises(SandboxUnavailable, match="no Landlock"):
                await pool.run(program("x = 1"))


async def test_a_sandbox_process_that_does_not_start_is_not_an_open_door() -> None:
    async with Pool(
        LIMITS, zygote=ZygoteClient(command=[sys.executable, "-c", "raise SystemExit(1)"])
    ) as pool:
        with pytest.raises(SandboxUnavailable, match="does not start"):
            await pool.run(program("x = 1"))
