"""Hears early that the server is to end, so that running programs can be let finish and no other begins.

A web server that gets SIGTERM waits for its answers before it tells the application. Whoever waits for a
sandbox would hold it up for as long as the queue is long. This handler goes before the one that is there.
"""

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


@contextmanager
def on_leaving(begin: Callable[[], object]) -> Iterator[None]:
    """Call `begin` in the event loop when this process is told to end; then what was to happen happens.

    Outside the main thread nothing is done: signals do not arrive there.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    before = {number: signal.getsignal(number) for number in _SIGNALS}

    def leave(number: int, frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(begin)
        handler = before[signal.Signals(number)]
        if callable(handler):
            handler(number, frame)

    # What is no function of Python's is left alone: it cannot be called.
    ours = [number for number, handler in before.items() if callable(handler)]
    for number in ours:
        signal.signal(number, leave)
    try:
        yield
    finally:
        for number in ours:
            if signal.getsignal(number) is leave:
                signal.signal(number, before[number])
