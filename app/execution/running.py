"""One run, from a fresh child to a trace: read, bound, decode, end, judge.

The wall clock and the size of what is written are watched here, memory and threads from here too
(`watchdog`); steps, values and memory are bounded in the child, by the tracer and by the kernel.
"""

import asyncio
import os
from collections import deque
from collections.abc import Callable

from ..errors import DeviceUnavailable, ReplyInvalid, SandboxRestarting, SandboxUnavailable
from ..schema import Chunk, Environment, RunRequest, StdoutWritten, Trace
from ..schema.slices import SLICE_BYTES
from .assembly import Assembly
from .child import SILENCE_S, Child, Exit
from .comparison import Ended
from .framing import FrameDecoder, decode_chunk
from .pieces import pieces_of
from .verdict import Ending, KillReason, verdict
from .watchdog import Watchdog

REPLY_SLACK_BYTES = 1 << 20
"""What a reply may have beyond the trace's own limit: tables, the last chunk, the frames' lengths."""


WITHOUT_A_GPU = ("cpu", "simulated-cuda")
"""Devices that can be had everywhere."""


class Running:
    """A run in progress.

    Args:
        child: It runs there.
        request: The program.
        environment: In what it runs, until the child says so itself.
        emit: Takes the chunks as they come.
        start_s: Time that the child may take, beside the program's, until it is there: to make a context on
            a GPU. 0: its time and memory count from the fork.
    """

    def __init__(
        self,
        child: Child,
        request: RunRequest,
        environment: Environment,
        emit: Callable[[Chunk], None],
        *,
        start_s: float = 0.0,
    ) -> None:
        self._child = child
        self._start_s = start_s
        self._deadline: asyncio.TimerHandle | None = None
        self._watchdog: Watchdog | None = None
        self._limits = request.limits
        self._emit = emit
        self._reply_limit_bytes = request.limits.trace_bytes + REPLY_SLACK_BYTES
        self._reply_bytes = 0
        self._decoder = FrameDecoder(self._reply_limit_bytes)
        self._assembly = Assembly(request.source, environment)
        self._unread: deque[bytes] = deque()
        self._reading: asyncio.Future[None] | None = None
        self._unwanted = False
        self._output = bytearray()
        self._output_bytes = 0
        self._confined = False
        self._killed_for: KillReason | None = None
        self._too_much = ""
        self._fault: str | None = None

    async def trace(self) -> Trace:
        """See the run through.

        Raises:
            SandboxRestarting: The zygote died or is stuck; the run is lost.
            SandboxUnavailable: The child could not be confined; nothing of the program has run.
        """
        try:
            return await self._seen_through()
        finally:
            self._unwanted = True

    async def _seen_through(self) -> Trace:
        oom_kills = _oom_kills()
        self._child.listen(self._on_output, self._on_result)
        await self._child.announced()
        if self._start_s and not self._confined:
            self._deadline = asyncio.get_running_loop().call_later(self._start_s, self._kill, "time-limit")
        else:
            self._begin()
        try:
            longest_s = self._start_s + self._limits.wall_s + SILENCE_S
            ended = await asyncio.wait_for(self._child.ended(), longest_s)
        except TimeoutError as e:
            raise SandboxRestarting from e
        finally:
            if self._deadline is not None:
                self._deadline.cancel()
            if self._watchdog is not None:
                self._watchdog.stop()
        if self._reading is not None:
            await self._reading
        if self._start_s and not self._confined:
            raise DeviceUnavailable("cuda", WITHOUT_A_GPU, self._text() or "it did not answer in time")
        # One that was killed from outside says nothing about the walls; it had not begun.
        if not self._confined and self._killed_for is None and not os.WIFSIGNALED(ended.status):
            raise SandboxUnavailable(self._text() or "a sandbox could not be closed.")
        return self._judged(ended, _oom_kills() > oom_kills)

    def _begin(self) -> None:
        """From now on it is the program that takes time and memory."""
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = asyncio.get_running_loop().call_later(self._limits.wall_s, self._kill, "time-limit")
        self._watchdog = self._watched()

    def ended(self, trace: Trace) -> Ended | None:
        """How the run ended, in a form to compare; None when it did not say so itself.

        Args:
            trace: What `trace` returned.
        """
        said = self._assembly.closing
        if said is None or said.fingerprint is None:
            return None
        events = [event for step in trace.steps for event in step.events]
        if not trace.steps:  # a run that is not observed has none, so they are in no step of the trace
            events = [*said.events, StdoutWritten(kind="stdout", text=self._text())]
        warned = [event for event in events if event.kind == "warning"]
        return Ended(
            outcome=trace.outcome,
            fingerprint=said.fingerprint,
            stdout="".join(event.text for event in events if event.kind == "stdout"),
            warnings=tuple(f"{each.category} at line {each.line}: {each.message}" for each in warned),
        )

    def _judged(self, ended: Exit, oom_killed: bool) -> Trace:
        if ended.status == 0 and self._fault is None and not self._decoder.is_between_frames:
            self._fault = "it ends in the middle of a frame"
        said = self._assembly.closing
        ending = Ending(
            status=ended.status,
            cpu_s=ended.cpu_s,
            killed_for=self._killed_for,
            too_much=self._too_much,
            fault=self._fault,
            ran_out_of_memory=oom_killed or b"bad_alloc" in self._output,
            said=None if said is None else said.outcome,
            line=self._assembly.running_line,
        )
        return self._assembly.trace(verdict(ending, self._limits), self._text())

    def _watched(self) -> Watchdog | None:
        pid = self._child.pid_here()
        return None if pid is None else Watchdog(pid, self._limits.memory_bytes, self._kill_for_size)

    def _kill_for_size(self, limit: str) -> None:
        if self._killed_for is None:
            self._too_much = limit
        self._kill("memory-limit")

    def _on_output(self, data: bytes) -> None:
        self._output_bytes += len(data)
        self._output += data[: self._limits.stdout_kept_bytes - len(self._output)]
        if self._output_bytes > self._limits.stdout_bytes:
            self._kill("output-limit")

    def _on_result(self, data: bytes) -> None:
        self._reply_bytes += len(data)
        if self._reply_bytes > self._reply_limit_bytes:
            self._fault = self._fault or f"it is longer than {self._reply_limit_bytes:,} bytes"
            self._kill("invalid-reply")
        if self._fault is not None:
            return  # what came before stands; what comes after cannot be told from noise
        try:
            for payload in self._decoder.feed(data):
                self._take(payload)
        except ReplyInvalid as e:
            self._fault = e.fault

    def _take(self, payload: bytes) -> None:
        if not self._confined:
            # Sent before the program was looked at; whatever it sends comes later.
            self._confined = payload == b""
            if self._confined:
                self._child.confined()
                if self._start_s:
                    self._begin()
            return
        if self._reading is None and len(payload) <= SLICE_BYTES:
            self._add(decode_chunk(payload))
            return
        self._unread.append(payload)
        if self._reading is None:
            self._reading = asyncio.ensure_future(self._read_on())

    def _add(self, chunk: Chunk) -> None:
        self._assembly.add(chunk)
        self._emit(chunk)

    async def _read_on(self) -> None:
        """Read what would take long at once, and what comes after it, while others have their turns."""
        try:
            while self._unread:
                await asyncio.to_thread(self._add_pieces, self._unread.popleft(), asyncio.get_running_loop())
        except ReplyInvalid as e:
            self._fault = e.fault
            self._unread.clear()
        finally:
            self._reading = None

    def _add_pieces(self, payload: bytes, loop: asyncio.AbstractEventLoop) -> None:
        for chunk in pieces_of(payload):
            if self._unwanted:
                return
            self._assembly.add(chunk)
            loop.call_soon_threadsafe(self._emit, chunk)

    def _kill(self, reason: KillReason) -> None:
        if self._killed_for is None:
            self._killed_for = reason
        self._child.kill()

    def _text(self) -> str:
        return self._output.decode("utf-8", "backslashreplace")


def _oom_kills() -> int:
    """Processes the kernel has ever ended for want of memory, in any container; 0 where it does not say."""
    try:
        with open("/proc/vmstat", "rb") as counters:
            _, _, rest = counters.read().partition(b"\noom_kill ")
        return int(rest.split(maxsplit=1)[0])
    except (OSError, ValueError, IndexError):
        return 0
