"""Traces a script of one's own: no sandbox, one's own files, imports, arguments and terminal.

The script runs in a forked copy of this process, as `python FILE ARGS` would run it, and sends what was
observed as it goes: a crash or `os._exit` leaves the steps before it. Torch is loaded in the copy only, and
the tracer with it, so no other command pays for them. Never serves a stranger's program.
"""

import ctypes
import io
import os
import signal
import struct
import sys
import tokenize
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NoReturn

from .execution.assembly import Assembly
from .execution.framing import FrameDecoder, decode_chunk
from .execution.verdict import Ending, verdict
from .schema import DeviceChoice, Environment, Limits, RunRequest, Trace
from .schema.comparison import not_compared

_PDEATHSIG = 1
_LENGTH = struct.Struct("<I")
_LARGEST_FRAME = 1 << 32
_READ_BYTES = 1 << 16
_NEVER_SHADOWED = frozenset({"torch", "numpy", "tensor_anatomy"})


@dataclass(frozen=True)
class LocalRun:
    """What came of a script."""

    trace: Trace
    """The trace. The script's own failure is in it."""

    status: int
    """The exit status that `python FILE` would have had; 128 and the signal's number when one ended it."""

    interrupted: bool
    """Ctrl-C ended it."""


class NothingTraced(Exception):
    """The script's process ended before its first line."""

    def __init__(self, status: int) -> None:
        super().__init__(f"the process ended with status {status} before the script began")
        self.status = status


def decode_source(data: bytes) -> str:
    """The text of a program as Python reads it, by its byte order mark or coding comment.

    Raises:
        SyntaxError: The coding is not known.
        UnicodeDecodeError: The text is not in it.
    """
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    except SyntaxError:
        data.decode("utf-8")  # says where it fails, which the other error does not
        raise
    return data.decode(encoding)


def trace_here(
    source: str,
    path: Path,
    arguments: list[str],
    *,
    device: DeviceChoice,
    seed: int | None,
    limits: Limits,
    quiet_stdout: bool,
) -> LocalRun:
    """Run a script as oneself and trace it.

    Args:
        source: Its text.
        path: Its file; imports look in its folder first, as when Python runs it. `-` for standard input.
        arguments: `sys.argv[1:]` of the script.
        device: Where tensors may live.
        seed: Seed of the random generators; None leaves them as they are.
        limits: Those that can be asked for; memory and processor time are left to the system.
        quiet_stdout: What the script prints goes to stderr, since stdout is for the trace.

    Returns:
        The trace and how the process ended.

    Raises:
        NothingTraced: The process ended before the script began.
    """
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    reading, writing = os.pipe()
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        os.close(reading)
        request = RunRequest(source=source, device=device, seed=seed, limits=limits, observed=True)
        _be_the_script(request, path, arguments, writing, parent, quiet_stdout=quiet_stdout)
    os.close(writing)
    # Ctrl-C is the script's; it comes to us as its end.
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        assembly = Assembly(
            source.removeprefix("\ufeff"),
            Environment(torch="", python="", device="cpu", simulated=False, seed=seed),
        )
        with os.fdopen(reading, "rb", buffering=0) as pipe:
            begun = _assemble(pipe, assembly)
        _, status = os.waitpid(child, 0)
    finally:
        signal.signal(signal.SIGINT, before)
    code = os.waitstatus_to_exitcode(status)
    code = 128 - code if code < 0 else code
    if not begun:
        raise NothingTraced(code)
    said = None if assembly.closing is None else assembly.closing.outcome
    outcome = said or verdict(
        Ending(
            status=status,
            cpu_s=0.0,
            killed_for=None,
            fault=None,
            ran_out_of_memory=False,
            said=None,
            line=assembly.running_line,
        ),
        limits,
    )
    interrupted = outcome.type == "KeyboardInterrupt" or code == 128 + signal.SIGINT
    # A second run would do again whatever the script does to files and the world.
    trace = assembly.trace(outcome, "").model_copy(update={"comparison": not_compared("local")})
    return LocalRun(trace, code, interrupted)


def _assemble(pipe: BinaryIO, assembly: Assembly) -> bool:
    """Take chunks until the last, or until no more come; False if there were none."""
    decoder, begun = FrameDecoder(_LARGEST_FRAME), False
    while assembly.closing is None and (data := pipe.read(_READ_BYTES)):
        for payload in decoder.feed(data):
            assembly.add(decode_chunk(payload))
            begun = True
    return begun


# ---- in the copy


def _be_the_script(
    request: RunRequest, path: Path, arguments: list[str], writing: int, parent: int, *, quiet_stdout: bool
) -> NoReturn:
    """Run it, then end as Python ends: threads are joined, exit handlers run."""
    _die_with(parent)
    if quiet_stdout:
        os.dup2(2, 1)
    # Before the script's folder is looked in: what torch imports is not to be found there.
    from .tracing.lines import LimitReached
    from .tracing.script import OwnScript, without_us
    from .tracing.session import record_program

    own = OwnScript(file=_file_of(path), argv=[str(path), *arguments])
    _look_in(path)
    with _Pipe(writing) as pipe:
        error = record_program(request, pipe.send, confined=False, own=own)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if error is None or isinstance(error, LimitReached):
        raise SystemExit(0)
    if isinstance(error, SystemExit):
        raise error.with_traceback(None)
    error = without_us(error)
    sys.excepthook(type(error), error, error.__traceback__)
    raise SystemExit(130 if isinstance(error, KeyboardInterrupt) else 1) from None


class _Pipe:
    """Where chunks go. Processes that the script forks have no part in it."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor: int | None = descriptor
        os.register_at_fork(after_in_child=self.close)

    def __enter__(self) -> "_Pipe":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def send(self, payload: bytes) -> None:
        """Write a frame."""
        view = memoryview(_LENGTH.pack(len(payload)) + payload)
        while view and self._descriptor is not None:
            view = view[os.write(self._descriptor, view) :]

    def close(self) -> None:
        """Close it, once."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)


def _die_with(parent: int) -> None:
    """Without a parent nobody hears the script; Linux tells it so."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:
            os._exit(1)


def _file_of(path: Path) -> str:
    return "<stdin>" if str(path) == "-" else os.path.join(os.getcwd(), path)


def _look_in(path: Path) -> None:
    """Make the script's folder the first that imports look in, in place of this command's own.

    A module beside the script that bears the name of a package of ours is what the script means.
    """
    if sys.flags.safe_path:
        return
    folder = "" if str(path) == "-" else str(path.resolve().parent)
    sys.path[0] = folder
    beside = {entry.name.removesuffix(".py") for entry in os.scandir(folder or ".") if _is_module(entry)}
    for name in list(sys.modules):
        package = name.partition(".")[0]
        if package in beside - sys.stdlib_module_names - _NEVER_SHADOWED:
            del sys.modules[name]


def _is_module(entry: "os.DirEntry[str]") -> bool:
    return entry.name.endswith(".py") or os.path.exists(os.path.join(entry.path, "__init__.py"))
