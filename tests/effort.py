"""How much work something takes, in a unit that is measured beside it.

A limit in seconds fails on a slow or busy machine; the same work, told as a multiple of a piece of work that
never changes and is done just before and just after, does not. The limits in tests are several times
what is measured: they are there to notice a cost that grows out of hand, not to measure speed.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager


def unit_s() -> float:
    """Processor time of this process for a fixed piece of plain Python: about 0.05 s on a machine of 2024."""
    began = time.process_time()
    texts: dict[int, str] = {}
    letters = 0
    for number in range(200_000):
        texts[number % 1000] = str(number)
        letters += len(texts[number % 1000])
    assert letters == 1_088_890
    return time.process_time() - began


@contextmanager
def at_most(units: float) -> Iterator[None]:
    """Assert that what is done here takes this process no more than so many units of processor time."""
    before_s = unit_s()
    began = time.process_time()
    yield
    took_s = time.process_time() - began
    unit = max(before_s, unit_s())
    assert took_s < units * unit, f"{took_s / unit:.0f} units of {unit:.3f} s of processor time, not {units}"
