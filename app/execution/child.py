"""One child, as the server holds it: a pidfd, two pipes to read, a socket that tells its end.

Reads as fast as the child writes and never more than the limits say; kills by pidfd,
which cannot hit another process. It does not understand what it reads.
"""

import asyncio
import json
import os
import signal
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from ..errors import SandboxRestarting

SILENCE_S = 5.0
"""A zygote that has not answered by then is stuck (a program may not be able to stop it, but who knows)."""

_READ_BYTES = 1 << 16


@dataclass(frozen=True)
class Exit:
    """How the kernel says a child ended."""

    status: int
    cpu_s: float


class Child:
    """A confined process and what it writes. Close it whatever happens."""

    def __init__(self, report: socket.socket, output: int, result: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._report = report
        self._pidfd: int | None = None
        self._silence: asyncio.TimerHandle | None = None
        self._request: tuple[int, bytes] | None = None
        self._open_pipes = {output, result}
        self._output, self._result = output, result
        self._exit: asyncio.Future[Exit] = self._loop.create_future()
        self._announced: asyncio.Future[None] = self._loop.create_future()
        self._drained = asyncio.Event()

    def attend(self) -> None:
        """Begin to hear when it is there and when it ends."""
        self._report.setblocking(False)
        self._loop.add_reader(self._report, self._hear)

    @property
    def may_wait(self) -> bool:
        """It has not ended, as far as is known."""
        return not self._exit.done()

    def give(self, pipe: int, request: bytes) -> None:
        """Have a request for a child that waits for one on this pipe; `confined` sends it."""
        self._request = (pipe, request)

    def confined(self) -> None:
        """It has said that its walls stand."""
        if self._request is not None:
            pipe, request = self._request
            self._request = None
            Writing(pipe, request)

    def listen(self, on_output: Callable[[bytes], None], on_result: Callable[[bytes], None]) -> None:
        """Begin to read; the callbacks get bytes as they come."""
        self.attend()
        for pipe, callback in ((self._output, on_output), (self._result, on_result)):
            os.set_blocking(pipe, False)
            self._loop.add_reader(pipe, self._read, pipe, callback)

    async def announced(self) -> None:
        """Wait until the zygote has forked.

        Raises:
            SandboxRestarting: The zygote is silent or dead.
        """
        await self._patiently(self._announced)

    async def ended(self) -> Exit:
        """Wait for the end, and for the last bytes. No limit on time: whoever waits kills.

        Raises:
            SandboxRestarting: The zygote died, and the child with it.
        """
        ended = await asyncio.shield(self._exit)
        # The pipes have no other writer, so what is left is already there.
        with suppress(TimeoutError):
            await asyncio.wait_for(self._drained.wait(), 1.0)
        return ended

    async def killed(self) -> Exit:
        """Wait for the end of a child that was killed.

        Raises:
            SandboxRestarting: The zygote does not tell.
        """
        await self._patiently(self._exit)
        return await self.ended()

    def pid_here(self) -> int | None:
        """Its pid as this process sees it, whatever namespace the zygote lives in; None once it has gone."""
        if self._pidfd is None:
            return None
        with open(f"/proc/self/fdinfo/{self._pidfd}", encoding="ascii") as file:
            pids = [int(line.split()[1]) for line in file if line.startswith("Pid:")]
        return pids[0] if pids and pids[0] > 0 else None

    def kill(self) -> None:
        """End it. Nothing happens if it has ended already."""
        if self._pidfd is not None:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)

    def close(self) -> None:
        """Kill it and let go of every descriptor."""
        self.kill()
        for pipe in tuple(self._open_pipes):
            self._close_pipe(pipe)
        self._loop.remove_reader(self._report)
        # The zygote takes this as an order to kill, should it fork only now.
        self._report.close()
        for future in (self._exit, self._announced):
            future.cancel()
        if self._silence is not None:
            self._silence.cancel()
        if self._request is not None:
            os.close(self._request[0])
            self._request = None
        if self._pidfd is not None:
            self._loop.remove_reader(self._pidfd)
            os.close(self._pidfd)
            self._pidfd = None

    async def _patiently(self, future: "asyncio.Future[Exit] | asyncio.Future[None]") -> None:
        try:
            await asyncio.wait_for(asyncio.shield(future), SILENCE_S)
        except TimeoutError as e:
            raise SandboxRestarting from e

    def _read(self, pipe: int, callback: Callable[[bytes], None]) -> None:
        try:
            data = os.read(pipe, _READ_BYTES)
        except BlockingIOError:
            return
        if data:
            callback(data)
        else:
            self._close_pipe(pipe)

    def _close_pipe(self, pipe: int) -> None:
        self._loop.remove_reader(pipe)
        os.close(pipe)
        self._open_pipes.discard(pipe)
        if not self._open_pipes:
            self._drained.set()

    def _hear(self) -> None:
        try:
            message, descriptors, _, _ = socket.recv_fds(self._report, 4096, 1)
        except BlockingIOError:
            return
        except OSError:
            message, descriptors = b"", []
        if not message:
            self._loop.remove_reader(self._report)
            for future in (self._announced, self._exit):
                if not future.done():
                    future.set_exception(SandboxRestarting())
                    future.exception()  # taken note of: nobody may be waiting
            return
        said = json.loads(message)
        if "pid" in said:
            self._pidfd = descriptors[0]
            self._loop.add_reader(self._pidfd, self._died)
            self._announced.set_result(None)
        else:
            if not self._exit.done():
                self._exit.set_result(Exit(said["status"], said["cpu_s"]))

    def _died(self) -> None:
        """The kernel says so; a zygote that does not say how is stuck."""
        assert self._pidfd is not None
        self._loop.remove_reader(self._pidfd)
        self._silence = self._loop.call_later(SILENCE_S, self._lost)

    def _lost(self) -> None:
        if not self._exit.done():
            self._exit.set_exception(SandboxRestarting())
            self._exit.exception()  # taken note of: nobody may be waiting


class Writing:
    """Writes to a pipe as fast as it is read, then closes it."""

    def __init__(self, pipe: int, data: bytes) -> None:
        self._pipe = pipe
        self._rest = memoryview(data)
        os.set_blocking(pipe, False)
        self._loop = asyncio.get_running_loop()
        self._loop.add_writer(pipe, self._write)
        self._write()

    def _write(self) -> None:
        if self._pipe < 0:
            return
        with suppress(BlockingIOError):
            try:
                self._rest = self._rest[os.write(self._pipe, self._rest) :]
            except BrokenPipeError:  # it has ended: there is nobody to write to
                self._rest = self._rest[:0]
        if not self._rest:
            self._loop.remove_writer(self._pipe)
            os.close(self._pipe)
            self._pipe = -1
