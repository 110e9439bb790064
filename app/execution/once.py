"""Runs one program in the sandbox and waits for it: for the terminal and the build.

Starts a zygote for the one run, which takes seconds; servers hold a `Pool`.
"""

import asyncio

from ..schema import Limits, Trace, TraceRequest
from .pool import Pool


def trace_once(request: TraceRequest, limits: Limits) -> Trace:
    """Run a program to its end in a sandbox of its own.

    Raises:
        SandboxUnavailable: This machine cannot confine a program.
        DeviceUnavailable: The device asked for is not to be had.
    """

    async def run() -> Trace:
        async with Pool(limits) as pool:
            return await pool.run(request)

    return asyncio.run(run())
