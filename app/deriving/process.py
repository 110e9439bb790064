"""The process of a worker, as the server holds it: started, asked, ended, and started again.

What it writes is bounded by what it is given; it has nothing of the server's but two pipes.
"""

import os
import selectors
import signal
import subprocess
import sys
import time
from contextlib import suppress

from .parts import LENGTH, PARTS

_PATIENCE_S = 30.0
"""Wall time after which a worker is ended: a busy machine gives it little processor time."""

_COMMAND = (sys.executable, "-s", "-P", "-m", "tensor_anatomy.deriving.worker")


class Worker:
    """A process that derives one trace after another, and another one when it had to be ended."""

    def __init__(self) -> None:
        self._ended = False
        self._process = _started()

    def kill(self) -> None:
        """End its work, for good. Its pipes stay open for a thread that reads them."""
        self._ended = True
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def end(self) -> None:
        """End it for good, when no thread reads from it."""
        self._ended = True
        _end(self._process)

    def ask(self, trace: bytes) -> list[bytes]:
        """What it says of a trace: each of `PARTS`, empty where there was no time for it."""
        if self._process.poll() is not None:
            self._replace()
        answers = _exchange(self._process, LENGTH.pack(len(trace)) + trace, len(PARTS), _PATIENCE_S)
        if len(answers) < len(PARTS):
            self._replace()
        return [*answers, *[b""] * (len(PARTS) - len(answers))]

    def _replace(self) -> None:
        if not self._ended:
            _end(self._process)
            self._process = _started()


def _started() -> "subprocess.Popen[bytes]":
    kept = {
        name: value for name, value in os.environ.items() if name in ("LANG", "LC_ALL", "PATH", "PYTHONPATH")
    }
    return subprocess.Popen(
        _COMMAND,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=0,
        env=kept,
        start_new_session=True,
    )


def _end(process: "subprocess.Popen[bytes]") -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    with suppress(ChildProcessError):  # what it had forked is a child of this process now, or of init
        while True:
            os.waitpid(-process.pid, 0)
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()


def _exchange(
    process: "subprocess.Popen[bytes]", sent: bytes, answers: int, patience_s: float
) -> list[bytes]:
    """Write to a process and read so many frames, or those that come in time before it dies."""
    assert process.stdin is not None and process.stdout is not None
    rest, got, found = memoryview(sent), bytearray(), list[bytes]()
    try:
        write_end, read_end = process.stdin.fileno(), process.stdout.fileno()
        os.set_blocking(write_end, False)
    except ValueError:  # it was ended meanwhile
        return []
    deadline = time.monotonic() + patience_s
    with selectors.DefaultSelector() as selector:
        selector.register(write_end, selectors.EVENT_WRITE)
        selector.register(read_end, selectors.EVENT_READ)
        while len(found) < answers and (left := deadline - time.monotonic()) > 0:
            for key, _ in selector.select(left):
                try:
                    if key.fd == write_end:
                        rest = rest[os.write(write_end, rest[: 1 << 16]) :]
                        if not rest:
                            selector.unregister(write_end)
                        continue
                    data = os.read(read_end, 1 << 20)
                except OSError:
                    data = b""
                if not data:
                    return found
                got += data
                while len(got) >= LENGTH.size:
                    (length,) = LENGTH.unpack_from(got)
                    if len(got) < LENGTH.size + length:
                        break
                    found.append(bytes(got[LENGTH.size : LENGTH.size + length]))
                    del got[: LENGTH.size + length]
    return found
