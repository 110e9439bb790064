"""Runs one program in the sandbox and waits for it: for the terminal and the build.

Starts a zygote for the one run, which takes seconds; servers hold a `Pool`.
"""

import asyncio

from ..errors import DeviceUnavailable
from ..profiles import ProfileChoice
from ..schema import Limits, Trace, TraceRequest
from .pool import DEVICES, Pool
from .zygote_client import ZygoteClient


def trace_once(
    request: TraceRequest,
    limits: Limits,
    *,
    profile: ProfileChoice = "auto",
    compare: bool = True,
    gpus: str = "0",
    cuda_fraction: float = 1.0,
) -> Trace:
    """Run a program to its end in a sandbox of its own.

    Args:
        request: The program.
        limits: What it may use.
        profile: How it is confined.
        compare: Hold its end against an unobserved run.
        gpus: Which GPUs there are for a program that asks for `cuda`, as in CUDA_VISIBLE_DEVICES.
        cuda_fraction: How much of their memory it may take.

    Raises:
        SandboxUnavailable: This machine cannot confine a program.
        DeviceUnavailable: The device asked for is not to be had.
    """

    if request.device == "cuda":
        return asyncio.run(_on_gpu(request, limits, gpus, cuda_fraction, compare=compare))

    async def run() -> Trace:
        async with Pool(limits, compare=compare, zygote=ZygoteClient(profile)) as pool:
            return await pool.run(request)

    return asyncio.run(run())


async def _on_gpu(
    request: TraceRequest, limits: Limits, gpus: str, cuda_fraction: float, *, compare: bool
) -> Trace:
    zygote = ZygoteClient("cuda", gpus=gpus)
    pool = Pool(limits, compare=compare, zygote=zygote, devices=("cuda",), cuda_fraction=cuda_fraction)
    async with pool:
        if zygote.state == "unavailable":
            raise DeviceUnavailable("cuda", DEVICES, (zygote.reason or "").rstrip("."))
        return await pool.run(request)
