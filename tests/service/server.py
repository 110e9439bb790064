"""A server of its own for tests, and clients on addresses of their own.

The real command on loopback; whatever a test ends is a process of that server, by its id.
"""

import asyncio
import json
import os
import resource
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
HOST = "127.0.0.1"
START_S = 60.0
PATIENCE_S = 15.0
"""For what takes a moment where nothing else runs; shorter than any program here would run by itself."""

ENDLESS = "x = 1\nwhile True:\n    pass\n# {}\n"
NDJSON = "application/x-ndjson"

Predicate = Callable[[], bool]


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Client:
    """Somebody at an address."""

    def __init__(self, port: int, address: str = "127.0.0.1") -> None:
        self._port, self._address = port, address

    async def connects(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection(HOST, self._port, local_addr=(self._address, 0))

    async def begins(
        self, source: str, *, stream: bool = False, query: str = "", **headers: str
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Send a program, and go on with something else."""
        reader, writer = await self.connects()
        writer.write(request(source, stream=stream, query=query, **headers))
        await writer.drain()
        return reader, writer

    async def asks(self, source: str, *, stream: bool = False, query: str = "", **headers: str) -> Answer:
        reader, writer = await self.begins(source, stream=stream, query=query, **headers)
        try:
            return parsed(await reader.read())
        finally:
            writer.close()

    async def gets(self, path: str) -> Answer:
        reader, writer = await self.connects()
        try:
            writer.write(f"GET {path} HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n\r\n".encode())
            return parsed(await reader.read())
        finally:
            writer.close()


def request(source: str, *, stream: bool = False, query: str = "", **headers: str) -> bytes:
    body = json.dumps({"source": source}).encode()
    lines = {
        "Host": HOST,
        "Connection": "close",
        "Content-Type": "application/json",
        "Accept": NDJSON if stream else "application/json",
        "Content-Length": str(len(body)),
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"POST /api/trace{query} HTTP/1.1\r\n{head}\r\n".encode() + body


def parsed(reply: bytes) -> Answer:
    head, _, body = reply.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    pairs = (line.partition(": ") for line in lines)
    headers = {name.lower(): value for name, _, value in pairs}
    if headers.get("transfer-encoding") == "chunked":
        body = _unchunked(body)
    return Answer(int(first.split()[1]) if reply else 0, headers, body)


def _unchunked(body: bytes) -> bytes:
    whole = b""
    while body:
        size, _, rest = body.partition(b"\r\n")
        whole += rest[: int(size, 16)]
        body = rest[int(size, 16) + 2 :]
    return whole


class Server:
    """The process, and what can be seen of it."""

    def __init__(self, process: "subprocess.Popen[bytes]", port: int) -> None:
        self.process = process
        self.port = port
        self.cache: Path | None = None

    def client(self, number: int = 1) -> Client:
        """Somebody with an address of their own."""
        return Client(self.port, f"127.0.0.{number}")

    async def health(self) -> Any:
        return (await self.client(99).gets("/healthz")).json

    async def figure(self, name: str) -> float:
        text = (await self.client(99).gets("/metrics")).body.decode()
        (line,) = [line for line in text.splitlines() if line.startswith(f"{name} ")]
        return float(line.split()[-1])

    async def is_quiet(self) -> None:
        """Nothing runs or waits, and no process of a run is left."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                queue = (await self.health())["queue"]
                if (queue["running"], queue["waiting"], self.runs()) == (0, 0, []):
                    return
                await asyncio.sleep(0.02)

    async def holds(self, running: int, waiting: int) -> None:
        """Wait until so many run and wait."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                queue = (await self.health())["queue"]
                if (queue["running"], queue["waiting"]) == (running, waiting):
                    return
                await asyncio.sleep(0.02)

    @property
    def zygote(self) -> int:
        """The process that forks."""
        (pid,) = self._forking()
        return pid

    def runs(self) -> list[int]:
        return [run for child in self._forking() for run in children(child)]

    def _forking(self) -> list[int]:
        return [each for each in children(self.process.pid) if not _derives(each)]

    async def is_ready(self) -> None:
        async with asyncio.timeout(START_S):
            while True:
                with suppress(OSError, ValueError):
                    if (await self.health())["status"] == "ok":
                        return
                assert self.process.poll() is None, "the server has ended"
                await asyncio.sleep(0.1)


def children(pid: int) -> list[int]:
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            found += [int(each) for each in task.read_text().split()]
    return found


def _derives(pid: int) -> bool:
    """It explains traces and runs no program."""
    try:
        return b"tensor_anatomy.deriving" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def is_alive(pid: int) -> bool:
    """Neither gone nor dead and unburied."""
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


async def eventually(holds: Predicate, limit_s: float = PATIENCE_S) -> None:
    async with asyncio.timeout(limit_s):
        while not holds():
            await asyncio.sleep(0.02)


@asynccontextmanager
async def serving(most_file_bytes: int | None = None, **settings: str) -> AsyncIterator[Server]:
    """The server with these settings, ready; ended when left."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
    command = [sys.executable, "-m", "tensor_anatomy.cli", "serve", "--host", HOST, "--port", str(port)]
    environment = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    environment |= {"SANDBOX": "strict", "CACHE": "off", "PREPARE": "0", **settings}

    def bound() -> None:
        assert most_file_bytes is not None
        resource.setrlimit(resource.RLIMIT_FSIZE, (most_file_bytes, most_file_bytes))

    process = subprocess.Popen(
        command, cwd=ROOT, env=environment, preexec_fn=None if most_file_bytes is None else bound
    )
    try:
        server = Server(process, port)
        await server.is_ready()
        yield server
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        try:
            await asyncio.to_thread(process.wait, 15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def zombies(server: Server) -> Iterator[int]:
    """Children of the server that nobody has reaped."""
    return (pid for pid in children(server.process.pid) if not is_alive(pid))
