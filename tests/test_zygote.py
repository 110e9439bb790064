"""The process that forks is started clean, stays clean, and is replaced when it dies.

Each test starts a zygote of its own, which takes seconds.
"""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path

import pytest
from tensor_anatomy.errors import SandboxRestarting, SandboxUnavailable
from tensor_anatomy.execution import Pool, trace_once
from tensor_anatomy.execution.child import SILENCE_S
from tensor_anatomy.execution.zygote_client import ENVIRONMENT, ZygoteClient
from tensor_anatomy.schema import Limits, TraceRequest

from .weakened import command

LIMITS = Limits(
    wall_s=3.0,
    cpu_s=4,
    memory_bytes=512 << 20,
    steps_kept=2_000,
    statements=1_000_000_000,
    stdout_kept_bytes=1 << 16,
    stdout_bytes=1 << 20,
    trace_bytes=4 << 20,
    value_elements=1_024,
)
pytestmark = pytest.mark.timeout(300)
"""A crowded machine takes half a minute to start a zygote."""

ENDLESS = TraceRequest(source="x = 1\nwhile True:\n    pass\n")
SHORT = TraceRequest(source="import torch\nx = torch.ones(2)\n")


def sockets_of(proc: Path) -> list[str]:
    opened = [os.readlink(entry) for entry in (proc / "fd").iterdir()]
    return [name for name in opened if name.startswith("socket:")]


async def eventually(holds: Callable[[], bool], limit_s: float = 120.0) -> None:
    async with asyncio.timeout(limit_s):
        while not holds():
            await asyncio.sleep(0.02)


async def test_it_is_told_nothing_and_has_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "hunter2")
    client = ZygoteClient("strict")
    async with Pool(LIMITS, zygote=client) as pool:
        assert pool.status().state == "ready"
        assert pool.status().torch
        assert {"rlimits", "landlock", "seccomp"} <= set(pool.status().layers)
        proc = Path(f"/proc/{client.pid}")
        assert len(list((proc / "task").iterdir())) == 1
        if os.geteuid() == 0:  # it is not dumpable: nobody else may look
            told = (proc / "environ").read_bytes().rstrip(b"\0").split(b"\0")
            assert dict(line.decode().split("=", 1) for line in told) == ENVIRONMENT
            await eventually(lambda: len(sockets_of(proc)) == 1)  # the one of the proof goes as it ends
        else:
            with pytest.raises(PermissionError):
                (proc / "environ").read_bytes()


async def test_a_child_that_cannot_be_confined_runs_nothing() -> None:
    async with Pool(
        LIMITS, zygote=ZygoteClient("strict", command=command("failing later: landlock"))
    ) as pool:
        for source in ("import os\nos.write(1, b'it ran')", "syntax error ("):
            with pytest.raises(SandboxUnavailable) as refusal:
                await pool.run(TraceRequest(source=source))
            assert "it ran" not in refusal.value.reason
            assert "landlock" in refusal.value.reason
        assert pool.status().running == 0


async def test_it_is_replaced_when_it_is_killed_and_its_children_die_with_it() -> None:
    client = ZygoteClient("strict")
    async with Pool(LIMITS, zygote=client) as pool, aclosing(pool.stream(ENDLESS)) as stream:
        await anext(stream)
        first = client.pid
        assert first is not None
        child = int(Path(f"/proc/{first}/task/{first}/children").read_text())
        os.kill(first, signal.SIGKILL)
        with pytest.raises(SandboxRestarting):
            async for _ in stream:
                pass
        # Not even a dead process is left of it: the server has asked for its end.
        await eventually(lambda: not Path(f"/proc/{child}").exists())
        assert pool.status().state == "starting"
        with pytest.raises(SandboxRestarting):
            await pool.run(SHORT)
        await eventually(lambda: pool.status().state == "ready")
        assert client.pid != first
        assert (await pool.run(SHORT)).outcome.kind == "finished"


@pytest.mark.slow
async def test_it_is_replaced_when_it_does_not_answer() -> None:
    client = ZygoteClient("strict")
    async with Pool(LIMITS, zygote=client) as pool:
        first = client.pid
        assert first is not None
        os.kill(first, signal.SIGSTOP)
        with pytest.raises(SandboxRestarting):
            async with asyncio.timeout(SILENCE_S + 60):
                await pool.run(SHORT)
        await eventually(lambda: pool.status().state == "ready" and client.pid != first)
        assert (await pool.run(SHORT)).outcome.kind == "finished"


@pytest.mark.slow
async def test_it_ends_with_its_server() -> None:
    server = (
        "import asyncio, sys\n"
        "from tensor_anatomy.execution.zygote_client import ZygoteClient\n"
        "async def main():\n"
        "    client = ZygoteClient()\n"
        "    await client.start()\n"
        "    print(client.pid, flush=True)\n"
        "    await asyncio.sleep(60)\n"
        "asyncio.run(main())\n"
    )
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", server, stdout=subprocess.PIPE)
    assert process.stdout is not None
    zygote = int(await process.stdout.readline())
    assert Path(f"/proc/{zygote}/statm").read_text() != "0 0 0 0 0 0 0\n"
    process.kill()
    await process.communicate()
    await eventually(lambda: _has_ended(zygote))


def _has_ended(pid: int) -> bool:
    """Gone, or a zombie that nobody has reaped yet."""
    try:
        return ") Z " in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return True


def test_the_side_of_the_server_is_imported_without_torch() -> None:
    code = (
        "import sys, tensor_anatomy.execution; print({'torch', 'pyseccomp', 'landlockpy'} & set(sys.modules))"
    )
    answer = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True)
    assert answer.stdout == "set()\n"


def test_one_program_can_be_traced_without_a_server() -> None:
    trace = trace_once(TraceRequest(source="import torch\nx = torch.ones(2)\n"), LIMITS)
    assert (trace.outcome.kind, len(trace.steps)) == ("finished", 2)


def test_runs_that_a_dead_zygote_leaves_are_taken_in_and_buried() -> None:
    code = (
        "import asyncio, os, pathlib, subprocess\n"
        "from tensor_anatomy.execution.orphans import adopt, bury\n"
        "adopt()\n"
        "command = ['sh', '-c', 'sleep 0.5 & echo $!']\n"
        "parent = subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True)\n"
        "orphan = int(parent.stdout.readline())\n"
        "parent.wait()\n"
        "status = pathlib.Path(f'/proc/{orphan}/status').read_text()\n"
        "assert f'PPid:\\t{os.getpid()}\\n' in status, status\n"
        "asyncio.run(bury(parent.pid))\n"
        "assert not pathlib.Path(f'/proc/{orphan}').exists()\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
