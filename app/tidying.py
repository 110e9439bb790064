"""When a server looks for garbage that refers to itself: while nobody waits.

Python looks by itself, through everything there is, when much has been made: with a few large traces in
memory that is half a second in which nobody is heard, and several of them while one trace is read. What is
young is still looked at as ever. Traces do not refer to themselves, so hardly anything waits for this.
"""

import asyncio
import gc
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

_NEVER = 1 << 30
"""Looks at the middle-aged until everything is looked at."""

_EVERY_S = 5.0
_IDLE = 0.02
"""Part of a processor below which the server is idle."""

_LATEST = 120
"""Times in a row that a busy server puts it off: ten minutes."""


@asynccontextmanager
async def tidied(may: Callable[[], bool]) -> AsyncIterator[None]:
    """Within this context garbage is collected when the server is idle.

    Args:
        may: No large trace is waited for by a server that has nothing else to do.
    """
    before = gc.get_threshold()
    gc.collect()
    gc.freeze()  # what a server is made of stays as long as it does
    gc.set_threshold(before[0], before[1], _NEVER)
    tidying = asyncio.create_task(_tidy(may))
    try:
        yield
    finally:
        tidying.cancel()
        with suppress(asyncio.CancelledError):
            await tidying
        gc.set_threshold(*before)
        gc.unfreeze()


async def _tidy(may: Callable[[], bool]) -> None:
    tidy, put_off = True, 0
    while True:
        began = time.process_time()
        await asyncio.sleep(_EVERY_S)
        idle = time.process_time() - began < _IDLE * _EVERY_S and may()
        if not idle:
            tidy, put_off = False, put_off + 1
        if not tidy and (idle or put_off >= _LATEST):
            gc.collect()
            tidy, put_off = idle, 0
