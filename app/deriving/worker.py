"""ROOT of a worker: reads a trace, and forks for each part of what is to be found out about it.

    python -m tensor_anatomy.deriving.worker

The kernel ends a fork when it has had its share of processor time, in the middle of the layout engine too. An
explanation is warned before and gives up what it is at. A graph that was too much is tried with fewer boxes.
"""

import gc
import os
import resource
import signal
import sys
from collections.abc import Callable
from typing import BinaryIO

from ..drawing import draw_autograd, draw_compiled
from ..explaining import explain
from ..schema import Trace
from ..schema.base import Record
from .parts import LENGTH, PATIENTLY_EXPLAINING_S, Compiled, Graph, Meaning

_SHARES_S = {"meaning": 3.5, "fx": 0.6, "graph": 1.0, "small graph": 0.6}
"""Processor time after which the kernel ends a process, for each part of the work."""

_WARNED_S = 3.0
"""Processor time after which what is being explained is given up, and then every quarter of a second."""

_SMALL = 90
"""Boxes of a graph that was too much with as many as usual."""

_MOST_BYTES = 1 << 30
"""Address space of a worker."""


class OutOfTime(Exception):
    """What is being derived has taken long enough."""


def work(source: BinaryIO, answers: BinaryIO) -> None:
    """Be a worker until there is nothing more to read."""
    while (head := _read(source, LENGTH.size)) is not None:
        text = _read(source, *LENGTH.unpack(head))
        if text is None:
            return
        for each in _parts(Trace.model_validate_json(text)):
            answers.write(LENGTH.pack(len(each)) + each)
        answers.flush()
        gc.collect()  # a fork has all that it makes taken away at its end


def _parts(trace: Trace) -> list[bytes]:
    """The three parts, made at the same time."""
    begun = [
        _begin("meaning", lambda: _meaning(trace)),
        _begin("fx", lambda: Compiled(fx_graphs=draw_compiled(trace))),
        _begin("graph", lambda: Graph(graph=draw_autograd(trace))),
    ]
    found = [_result(*each) for each in begun]
    if not found[2]:
        found[2] = _result(*_begin("small graph", lambda: Graph(graph=draw_autograd(trace, most=_SMALL))))
    return found


def _meaning(trace: Trace) -> Meaning:
    explained = explain(trace, within_s=PATIENTLY_EXPLAINING_S)
    return Meaning(**{name: getattr(explained, name) for name in Meaning.model_fields})


def _begin(part: str, make: Callable[[], Record]) -> tuple[int, int]:
    """Fork a process that makes a part of the answer. Returns its pid and the pipe that it writes to."""
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid:
        os.close(write_end)
        return pid, read_end
    try:
        os.close(read_end)
        signal.setitimer(signal.ITIMER_VIRTUAL, _SHARES_S[part])  # the default for its signal is to die
        if part == "meaning":
            signal.signal(signal.SIGPROF, _give_up)
            signal.setitimer(signal.ITIMER_PROF, _WARNED_S, 0.25)
        text = make().model_dump_json(by_alias=True).encode()
        signal.setitimer(signal.ITIMER_PROF, 0)
        with os.fdopen(write_end, "wb") as pipe:
            pipe.write(LENGTH.pack(len(text)) + text)
    finally:
        os._exit(0)


def _give_up(number: int, frame: object) -> None:
    raise OutOfTime


def _result(pid: int, read_end: int) -> bytes:
    """What a process has made; nothing when it was ended."""
    with os.fdopen(read_end, "rb") as pipe:
        data = pipe.read()
    os.waitpid(pid, 0)
    whole = len(data) >= LENGTH.size and len(data) == LENGTH.size + LENGTH.unpack_from(data)[0]
    return data[LENGTH.size :] if whole else b""


def _read(source: BinaryIO, count: int) -> bytes | None:
    data = source.read(count)
    return data if len(data) == count else None


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_BYTES, _MOST_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.nice(3)
    gc.freeze()
    gc.disable()
    work(sys.stdin.buffer, sys.stdout.buffer)
