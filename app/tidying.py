"""When a server looks for garbage that refers to itself: while nobody waits.

Python looks by itself, through everything there is, when much has been made: with a few large traces in
memory that is half a second in which nobody is heard, and several of them while one trace is read. What is
young is still looked at as ever. A busy server looks every few seconds, but only at what has come since it
looked last: what was found alive is set aside, and looked at again by a server that is idle. Traces do not
refer to themselves, so hardly anything waits for that.
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

MOST_NEW = 30_000
"""Objects that a busy server looks at: some ten milliseconds. A large trace is ten times as many."""

_LATEST = 17_280
"""Times in a row that a busy server does not look at everything: a day."""


@asynccontextmanager
async def tidied(may: Callable[[], bool]) -> AsyncIterator[None]:
    """Within this context garbage is collected when the server is idle.

    Args:
        may: No large trace is waited for by a server that has nothing else to do.
    """
    before = gc.get_threshold()
    look()  # what a server is made of stays as long as it does
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
        if idle or put_off >= _LATEST:
            if not tidy:
                gc.unfreeze()
                look()
            tidy, put_off = idle, 0
        else:
            look_at_new()
            tidy, put_off = False, put_off + 1


def look() -> None:
    """Look for garbage in all that is not set aside, and set aside what is none."""
    gc.collect()
    gc.freeze()


def look_at_new() -> None:
    """The same where it takes no time; else what is new is set aside as it is."""
    if len(gc.get_objects()) <= MOST_NEW:
        gc.collect()
    gc.freeze()
