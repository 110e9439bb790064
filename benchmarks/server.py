"""A server of its own for a benchmark, on a free port of loopback, and a client that takes times.

It starts `tensor-anatomy serve` and ends that process alone.
"""

import http.client
import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from .child import ROOT

HOST = "127.0.0.1"
READY_S = 90
LEAVE_S = 15


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What came back, and when."""

    status: int
    body: bytes
    first_ms: float
    """From before the connection to the first byte of the body."""

    last_ms: float


@dataclass(frozen=True, kw_only=True)
class Server:
    """A server that runs programs."""

    port: int
    pid: int

    @property
    def address(self) -> str:
        """Where it is."""
        return f"http://{HOST}:{self.port}"

    def get(self, path: str) -> Answer:
        """GET something."""
        return self._ask("GET", path, None, {})

    def trace(
        self, source: str, *, stream: bool = False, encoding: str = "identity", packed: bool = True
    ) -> Answer:
        """POST a program, over a new connection."""
        headers = {
            "Content-Type": "application/json",
            "Accept-Encoding": encoding,
            "Accept": "application/x-ndjson" if stream else "application/json",
        }
        path = "/api/trace" if packed else "/api/trace?packed=0"
        return self._ask("POST", path, body_of(source), headers)

    def first_trace_ms(self, source: str) -> float:
        """POST a program; milliseconds until its whole trace is there, compared or not."""
        began = time.perf_counter()
        connection = http.client.HTTPConnection(HOST, self.port, timeout=60)
        try:
            headers = {"Content-Type": "application/json", "Accept": "application/x-ndjson"}
            connection.request("POST", "/api/trace", body_of(source), headers)
            response = connection.getresponse()
            while line := response.readline():
                if b'"trace":{' in line[:40]:
                    return (time.perf_counter() - began) * 1000
            raise RuntimeError("the stream had no trace")
        finally:
            connection.close()

    def _ask(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> Answer:
        began = time.perf_counter()
        connection = http.client.HTTPConnection(HOST, self.port, timeout=60)
        try:
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            first = response.read(1)
            first_ms = (time.perf_counter() - began) * 1000
            content = first + response.read()
            last_ms = (time.perf_counter() - began) * 1000
        finally:
            connection.close()
        return Answer(status=response.status, body=content, first_ms=first_ms, last_ms=last_ms)

    def processes(self) -> list[int]:
        """The server and everything below it: the zygote and its children."""
        parents: dict[int, int] = {}
        for folder in Path("/proc").iterdir():
            if folder.name.isdecimal():
                try:
                    stat = (folder / "stat").read_text()
                except OSError:
                    continue  # it ended just now
                parents[int(folder.name)] = int(stat.rpartition(")")[2].split()[1])
        found = [self.pid]
        for pid in found:
            found += [child for child, parent in parents.items() if parent == pid]
        return found


_numbers = itertools.count()


def body_of(source: str) -> bytes:
    """A request for a trace."""
    # A comment of its own makes each a program that nobody has asked for: results are kept.
    return json.dumps({"source": f"{source}\n# {next(_numbers)}", "device": "auto"}).encode()


def memory_mb(pid: int) -> float:
    """Resident memory of a process, in MB."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1000
    raise ProcessLookupError(pid)


@contextmanager
def serving(*, compare: bool = True, prepare: bool = True, cache: str = "off") -> Iterator[Server]:
    """A server with default settings, ready to run programs; ended when left.

    Args:
        compare: Each program is held against an unobserved run of itself, as by default.
        prepare: Confined processes wait for programs, as by default.
        cache: Where results are kept.

    Raises:
        RuntimeError: It did not become ready, or cannot run programs here.
    """
    with socket.socket() as free:
        free.bind((HOST, 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "tensor_anatomy.cli", "serve", "--host", HOST, "--port", str(port)]
    environment = {k: v for k, v in os.environ.items() if k in {"PATH", "HOME", "LANG", "LC_ALL"}}
    environment["CACHE"] = cache
    environment["COMPARE"] = "1" if compare else "0"
    environment["PREPARE"] = "1" if prepare else "0"
    # It warns about this machine; that is no result.
    process = subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        server = Server(port=port, pid=process.pid)
        _wait_until_ready(server, process)
        yield server
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(LEAVE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_until_ready(server: Server, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + READY_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"the server ended with status {process.returncode}")
        try:
            status = json.loads(server.get("/healthz").body)["status"]
        except (OSError, http.client.HTTPException):
            status = "starting"
        if status == "no-sandbox":
            raise RuntimeError("this machine cannot confine programs, so none is run")
        if status == "ok":
            return
        time.sleep(0.2)
    raise RuntimeError(f"the server was not ready after {READY_S} s")
