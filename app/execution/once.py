"""Runs one program in the sandbox and waits for it: for the terminal and the build.

Starts a zygote for the one run, which takes seconds; servers hold a `Pool`.
"""

import asyncio

from ..profiles import ProfileChoice
from ..schema import Limits, Trace, TraceRequest
from .pool import Pool
from .zygote_client import ZygoteClient


def trace_once(
    request: TraceRequest, limits: Limits, *, profile: ProfileChoice = "auto", compare: bool = True
) -> Trace:
    """Run a program to its end in a sandbox of its own.

    Args:
        request: The program.
        limits: What it may use.
        profile: How it is confined.
        compare: Hold its end against an unobserved run.

    Raises:
        SandboxUnavailable: This machine cannot confine a program.
        DeviceUnavailable: The device asked for is not to be had.
    """

    async def run() -> Trace:
        async with Pool(limits, compare=compare, zygote=ZygoteClient(profile)) as pool:
            return await pool.run(request)

    return asyncio.run(run())
