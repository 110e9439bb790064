"""ROOT of the server: settings → pool, lessons, routes → one application.

The only module that knows both who runs programs and who speaks HTTP. It never loads torch.
"""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version

import structlog
from fastapi import FastAPI

from .deriving import Deriving
from .errors import DeviceUnavailable, SandboxUnavailable
from .execution import Fleet, Pool, PoolStatus, Turns, ZygoteClient
from .execution.running import WITHOUT_A_GPU
from .explaining import with_comparison
from .leaving import on_leaving
from .lessons.catalog import BUILT_IN, load
from .profiles import LOOSENED_FOR_CUDA
from .results import Shared, Store, code_fingerprint, key_of
from .schema import Chunk, Limits, Trace, TraceRequest
from .settings import Settings
from .tidying import tidied
from .web.app import WebSettings, build
from .web.clients import networks
from .web.metrics import Measured, Metrics
from .web.runner import GpuStatus, QueueStatus, Runner, RunnerStatus

log = structlog.get_logger()


class PoolRunner:
    """A pool whose traces are explained and laid out: the web's `Runner`."""

    def __init__(self, pool: Fleet, deriving: Deriving) -> None:
        self._pool = pool
        self._deriving = deriving

    async def run(self, request: TraceRequest, *, client: str = "") -> Trace:
        """Run a program; see `Runner`."""
        return await self._deriving.derived(await self._pool.run(request, client=client))

    async def stream(self, request: TraceRequest, *, client: str = "") -> AsyncIterator[Chunk | Trace]:
        """Run a program and yield what arrives; see `Runner`."""
        pieces = self._pool.stream(request, client=client)
        derived = None
        try:
            async for piece in pieces:
                if not isinstance(piece, Trace):
                    yield piece
                    continue
                if derived is None:
                    derived = await self._deriving.derived(piece)
                else:
                    derived = with_comparison(derived, piece)
                yield derived
        finally:
            await pieces.aclose()

    def status(self) -> RunnerStatus:
        """How the pool is."""
        pool, gpu = self._pool.status(), self._pool.gpu()
        return RunnerStatus(
            state=pool.state,
            reason=pool.reason,
            torch=pool.torch,
            profile=pool.profile,
            layers=pool.layers,
            devices=pool.devices,
            gpu=None if gpu is None else _of_gpu(gpu),
            queue=QueueStatus(
                running=pool.running,
                waiting=pool.waiting,
                sandboxes=pool.slots,
                places=pool.places,
                evicted=pool.evicted,
                prepared=pool.prepared,
                unforked=pool.unforked,
            ),
        )


class SharedRunner:
    """A runner whose results are shared while they come and kept when they are there."""

    def __init__(
        self, runner: Runner, limits: Limits, store: Store | None, metrics: Metrics, *, compare: bool
    ) -> None:
        self._runner = runner
        self._limits = limits
        self._code = code_fingerprint() + ("" if compare else " not compared")
        self._shared: Shared[Chunk | Trace] = Shared(runner, self._key_of, store, metrics.answered)
        self.run = self._shared.run
        self.stream = self._shared.stream
        self.status = runner.status

    def _key_of(self, request: TraceRequest) -> str | None:
        status = self._runner.status()
        if status.torch is None:
            return None
        # How it is confined decides what a program can do, so it is part of what ran it; `auto` chooses
        # among the devices that there are.
        ran_by = f"{status.torch} {status.profile} {' '.join(status.devices)}"
        return key_of(request, self._limits, torch=ran_by, code=self._code)


def create_app(settings: Settings | None = None) -> FastAPI:
    """Make the server's application.

    Args:
        settings: Those of the environment if None.

    Raises:
        LessonInvalid: A lesson is not as it must be.
    """
    settings = settings or Settings.from_env()
    usual = Pool(
        settings.limits,
        turns=_turns(settings),
        compare=settings.compare,
        zygote=ZygoteClient(settings.profile),
        prepare=settings.prepare,
        devices=settings.devices,
    )
    pool = Fleet(usual, _on_gpu(settings) if settings.device == "cuda" else None)

    store = None if settings.cache is None else Store.open(settings.cache, most_bytes=settings.cache_bytes)
    metrics = Metrics()
    # A thread that explains a trace lets the event loop run five times as often as by default.
    sys.setswitchinterval(0.001)
    deriving = Deriving(min(2, settings.sandboxes))
    runner = SharedRunner(
        Measured(PoolRunner(pool, deriving), metrics),
        settings.limits,
        store,
        metrics,
        compare=settings.compare,
    )

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        async with pool:
            status = pool.status()
            if status.state == "unavailable":
                if settings.require_sandbox:
                    raise SandboxUnavailable(status.reason or "")
                log.warning("programs are not run on this machine", reason=status.reason)
            elif settings.unsafe_no_sandbox:
                log.warning("PROGRAMS RUN WITHOUT A SANDBOX: whoever reaches this server is trusted")
            else:
                log.info("programs are confined", profile=status.profile, layers=status.layers)
            _tell_of_gpu(pool.gpu())
            if status.state != "unavailable":
                deriving.start()
            for warning in status.warnings:
                log.warning(warning)
            try:
                with on_leaving(pool.leave):
                    async with tidied(lambda: not deriving.busy):
                        yield
            finally:
                deriving.close()
        if store is not None:
            store.close()

    return build(
        runner,
        load(settings.lessons or BUILT_IN),
        WebSettings(
            limits=settings.limits,
            source_bytes=settings.source_bytes,
            frame_ancestors=settings.frame_ancestors,
            public_url=settings.public_url,
            api_origins=settings.api_origins,
            keeps_results=store is not None,
            unsafe=settings.unsafe_no_sandbox,
            body_s=settings.body_s,
            proxies=networks(settings.trusted_proxy),
            proxy_header=settings.forwarded_header,
        ),
        version=version("tensor-anatomy"),
        metrics=metrics if settings.metrics else None,
        lifespan=lifespan,
    )


def _on_gpu(settings: Settings) -> Pool:
    """A pool with a sandbox of its own, whose children make a context on the GPU before a program comes."""
    return Pool(
        settings.limits,
        turns=Turns(
            settings.cuda_sandboxes,
            settings.queue,
            per_client=settings.client_queue or max(1, settings.queue // 2),
        ),
        compare=settings.compare,
        zygote=ZygoteClient("cuda", gpus=settings.cuda_visible_devices),
        prepare=settings.prepare,
        devices=("cuda",),
        cuda_fraction=settings.cuda_memory_fraction,
    )


def _of_gpu(pool: PoolStatus) -> GpuStatus:
    return GpuStatus(
        state=pool.state,
        reason=pool.reason,
        profile=pool.profile,
        layers=pool.layers,
        loosened=tuple(layer for layer in LOOSENED_FOR_CUDA.values() if layer in pool.layers),
        prepared=pool.prepared,
    )


def _tell_of_gpu(gpu: PoolStatus | None) -> None:
    """Say what is loosened.

    Raises:
        DeviceUnavailable: There is no GPU although one was asked for.
    """
    if gpu is None:
        return
    if gpu.state == "unavailable":
        raise DeviceUnavailable("cuda", WITHOUT_A_GPU, (gpu.reason or "").rstrip("."))
    loosened = [layer for layer in gpu.layers if layer in LOOSENED_FOR_CUDA.values()]
    log.warning(
        "PROGRAMS MAY USE THE GPU: for those that do, walls are loosened; only people who are trusted should "
        "reach this server",
        profile=gpu.profile,
        loosened=loosened,
    )


def _turns(settings: Settings) -> Turns:
    """Without a sandbox one program runs at a time, so nothing is in reserve."""
    return Turns(
        1 if settings.unsafe_no_sandbox else settings.sandboxes,
        settings.queue,
        per_client=settings.client_queue or max(1, settings.queue // 2),
        reserve=not settings.unsafe_no_sandbox,
    )
