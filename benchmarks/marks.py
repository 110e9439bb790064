"""A loop's counter that notes the time ten times. A library to the programs that import it, so not a step."""

import time
from collections.abc import Iterator

TIMES: list[float] = []
"""Processor time in seconds at the start of each tenth of the last loop, and at its end."""


def marked(count: int) -> Iterator[int]:
    """Count, and note the time at every tenth."""
    TIMES.clear()
    for i in range(count):
        if i % (count // 10) == 0:
            TIMES.append(time.process_time())
        yield i
    TIMES.append(time.process_time())
