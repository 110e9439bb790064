"""Looks at a first child from outside, before any program of a reader is run.

The zygote has tried its walls itself; here the server does not take its word. The child goes the whole way
of a program: ordered, forked, confined, traced. The kernel is asked whether a filter is on it, and the
program in it tries a few doors and must find every one shut. Whatever is not proved is refused.
"""

import asyncio
import os
from collections.abc import Callable

from ..schema import Limits, RunRequest
from .child import SILENCE_S, Child
from .framing import FrameDecoder, encode_request
from .order import Order

LIMIT_S = 20.0
"""A proof takes some fifty milliseconds; on a busy machine more, but not this long."""

_LEAST_OF_A_GPU = 0.01
"""What the first child may take of its memory: it takes none."""

SHUT = b"every door is shut\n"

PROGRAM = f"""\
import ctypes, os, socket, time
doors = dict(
    read=lambda: open("/etc/passwd"),
    list=lambda: os.listdir("/"),
    environ=lambda: open("/proc/%d/environ" % os.getppid()),
    socket=lambda: socket.socket(),
    fork=lambda: os.fork() or os._exit(0),
    signal=lambda: os.kill(os.getppid(), 0),
    chmod=lambda: os.fchmod(1, 0o600),
    memory=lambda: bytearray(1 << 30),
)
found = []
for name, door in doors.items():
    try:
        door()
        found.append(name)
    except (OSError, MemoryError):
        pass
os.write(1, ("a program found open: " + ", ".join(found)).encode() if found else {SHUT!r})
time.sleep(30)
"""
"""Waits at the end, so that there is a living process to look at."""

_LIMITS = Limits(
    wall_s=LIMIT_S,
    cpu_s=10,
    memory_bytes=256 << 20,
    steps_kept=100,
    statements=1_000,
    stdout_kept_bytes=1 << 10,
    stdout_bytes=1 << 16,
    trace_bytes=1 << 20,
    value_elements=64,
)


_EXIT_NO_DEVICE = 72
"""As in the zygote: the child was to have a GPU and found none."""


class NotProved(Exception):
    """A wall does not stand, or it cannot be told."""


class WithoutDevice(NotProved):
    """The walls may stand; the GPU that the first child was to have is not there."""


async def prove(spawn: Callable[[Order, bytes], Child], *, cuda: bool = False) -> None:
    """Have a child made, look at it, and end it.

    Args:
        spawn: Orders a child for a request.
        cuda: It is to have a GPU; that there is one is part of the proof.

    Raises:
        NotProved: It is not confined.
        SandboxRestarting: The zygote died meanwhile, or is silent.
    """
    request = RunRequest(source=PROGRAM, device="cpu", seed=0, limits=_LIMITS, observed=True)
    fraction = _LEAST_OF_A_GPU if cuda else None
    order = Order(slot=0, memory_bytes=_LIMITS.memory_bytes, cpu_s=_LIMITS.cpu_s, cuda_fraction=fraction)
    child = spawn(order, encode_request(request))
    heard = _Heard()
    try:
        child.listen(heard.on_output, heard.on_result)
        await child.announced()
        await heard.until_tried(child)
        _look_at(child)
        child.kill()
        await asyncio.wait_for(child.killed(), SILENCE_S)
    finally:
        child.close()


class _Heard:
    """What the child writes: first that it is confined, then what it found."""

    def __init__(self) -> None:
        self._frames = FrameDecoder(_LIMITS.trace_bytes)
        self._first: bytes | None = None
        self._output = bytearray()
        self._said = asyncio.Event()

    def on_output(self, data: bytes) -> None:
        self._output += data[: _LIMITS.stdout_kept_bytes]
        self._said.set()

    def on_result(self, data: bytes) -> None:
        if self._first is None:
            self._first = next(iter(self._frames.feed(data)), None)

    async def until_tried(self, child: Child) -> None:
        """Wait for its words; they must be exactly the right ones, and come after it was confined."""
        saying = asyncio.create_task(self._said.wait())
        ending = asyncio.create_task(child.ended())
        try:
            await asyncio.wait({saying, ending}, timeout=LIMIT_S, return_when=asyncio.FIRST_COMPLETED)
            if self._said.is_set() and self._first is None:  # it complains, and ends
                await asyncio.wait({ending}, timeout=SILENCE_S)
            if ending.done():
                status = ending.result().status
                if os.WIFEXITED(status) and os.WEXITSTATUS(status) == _EXIT_NO_DEVICE:
                    raise WithoutDevice(self._words())
                raise NotProved(self._words() or "a first program ended before it had said anything")
            if not self._said.is_set():
                raise NotProved("a first program did not say in time what it found")
            if self._first != b"":
                raise NotProved("a first program ran before it was confined")
            if bytes(self._output) != SHUT:
                raise NotProved(self._words())
        finally:
            for task in (saying, ending):
                task.cancel()
            await asyncio.gather(saying, ending, return_exceptions=True)

    def _words(self) -> str:
        return self._output.decode(errors="replace").strip()[-500:]


def _look_at(child: Child) -> None:
    """Ask the kernel. Where /proc does not show the process, the program's own proof has to do."""
    try:
        pid = child.pid_here()
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
            status = dict(line.split(":", 1) for line in file if ":" in line)
    except OSError:
        return
    if int(status.get("Seccomp", "2")) != 2:
        raise NotProved("no filter of system calls is on a first program")
    if int(status.get("NoNewPrivs", "1")) != 1:
        raise NotProved("a first program may win privileges")
