"""What each layer of confinement costs a run, and what a profile costs the reader."""

import asyncio
import json
import os
import sys
import time
from collections.abc import Iterator

from tensor_anatomy.execution import Pool, ZygoteClient
from tensor_anatomy.profiles import Profile
from tensor_anatomy.schema import TraceRequest
from tensor_anatomy.settings import Settings

from .programs import S2, source_of
from .report import Figure, figure

TITLE = "layers of confinement: ms in each child, and the same program in each profile"

CHILDREN = 60
RUNS = 40


def measure() -> Iterator[Figure]:
    """Enter jails in forked children; run one program in each profile."""
    for profile in ("strict", "sealed"):
        for name, took_ms in _entered(profile).items():
            if profile == "strict" or "seccomp" in name:
                yield figure(f"layer: {name}", "ms", took_ms)
    for name, took_ms in asyncio.run(_runs()).items():
        yield figure(f"one program, {name}", "ms", took_ms)


def _entered(profile: Profile) -> dict[str, list[float]]:
    """Layer → milliseconds in each child."""
    # Here, so that the figures of others are measured without them.
    from tensor_anatomy.confinement import Confinee, build

    spent: dict[str, list[float]] = {}
    for _ in range(CHILDREN):
        jail = build(profile, [os.__file__])  # a ruleset serves one process
        reading, writing = os.pipe()
        zygote, pid = os.getpid(), os.fork()
        if pid == 0:
            null = os.open("/dev/null", os.O_RDWR)
            child = Confinee(
                null=null,
                output=null,
                result=writing,
                zygote_pid=zygote,
                slot=0,
                memory_bytes=512 << 20,
                cpu_s=5,
            )
            took = {}
            for layer in jail.layers:
                began = time.perf_counter()
                layer.enter(child)
                took[layer.name] = (time.perf_counter() - began) * 1000
            os.write(3, json.dumps(took).encode())
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading) as pipe:
            for name, took_ms in json.loads(pipe.read()).items():
                spent.setdefault(name, []).append(took_ms)
        os.waitpid(pid, 0)
    return spent


async def _runs() -> dict[str, list[float]]:
    """Profile → milliseconds of each run, profiles in turn."""
    request = TraceRequest(source=source_of(S2))
    profiles: list[Profile] = ["none", "strict", "strict+bwrap", "sealed"]
    pools: dict[str, Pool] = {}
    spent: dict[str, list[float]] = {}
    try:
        for profile in profiles:
            pool = Pool(Settings().limits, compare=False, zygote=ZygoteClient(profile))
            await pool.start()
            if pool.status().state == "ready":
                pools[profile] = pool
                await pool.run(request)
            else:
                print(f"  {profile}: {pool.status().reason}", file=sys.stderr)
        for _ in range(RUNS):
            for profile, pool in pools.items():
                began = time.perf_counter()
                await pool.run(request)
                spent.setdefault(profile, []).append((time.perf_counter() - began) * 1000)
    finally:
        for pool in pools.values():
            await pool.close()
    return spent
