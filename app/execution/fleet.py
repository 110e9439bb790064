"""The usual pool, and beside it one whose programs use a real GPU, where the operator asked for one.

Each has a sandbox of its own: that a GPU is used loosens nothing for programs that use none. A program goes
to the GPU if it asks for it, or mentions CUDA and asks for nothing. `Fleet` stands in for a `Pool`.
"""

from collections.abc import AsyncGenerator
from dataclasses import replace
from types import TracebackType

from ..errors import DeviceUnavailable
from ..schema import Chunk, Trace, TraceRequest
from ..schema.mentions import mentions_cuda
from .pool import Pool, PoolStatus


class Fleet:
    """Runs each program where its device is. Use it with `async with`.

    Args:
        usual: Runs programs that use no GPU.
        on_gpu: Runs those that do; None where nobody asked for one.
    """

    def __init__(self, usual: Pool, on_gpu: Pool | None) -> None:
        self._usual = usual
        self._on_gpu = on_gpu

    async def __aenter__(self) -> "Fleet":
        await self._usual.start()
        if self._on_gpu is not None:
            await self._on_gpu.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        for pool in self._pools():
            await pool.close()

    def _pools(self) -> tuple[Pool, ...]:
        return (self._usual,) if self._on_gpu is None else (self._usual, self._on_gpu)

    def leave(self) -> None:
        """See `Pool`."""
        for pool in self._pools():
            pool.leave()

    def gpu(self) -> PoolStatus | None:
        """How things stand with the GPU; None where nobody asked for one."""
        return None if self._on_gpu is None else self._on_gpu.status()

    def status(self) -> PoolStatus:
        """How things stand with the usual pool, and all devices that can be had."""
        status, gpu = self._usual.status(), self.gpu()
        if gpu is None or gpu.state == "unavailable":
            return status
        return replace(
            status, devices=(*status.devices, *gpu.devices), warnings=(*status.warnings, *gpu.warnings)
        )

    async def run(
        self, request: TraceRequest, *, client: str = "", observed: bool = True, compare: bool = True
    ) -> Trace:
        """See `Pool`."""
        pool, asked = self._where(request)
        return await pool.run(asked, client=client, observed=observed, compare=compare)

    def stream(
        self, request: TraceRequest, *, client: str = "", observed: bool = True, compare: bool = True
    ) -> AsyncGenerator[Chunk | Trace, None]:
        """See `Pool`."""
        pool, asked = self._where(request)
        return pool.stream(asked, client=client, observed=observed, compare=compare)

    def _where(self, request: TraceRequest) -> tuple[Pool, TraceRequest]:
        gpu = self.gpu()
        there = gpu is not None and gpu.state != "unavailable"
        if request.device == "cuda" and not there:
            reason = None if gpu is None else (gpu.reason or "").rstrip(".")
            raise DeviceUnavailable("cuda", self.status().devices, reason)
        wanted = request.device == "cuda" or (request.device == "auto" and mentions_cuda(request.source))
        if self._on_gpu is None or not there or not wanted:
            return self._usual, request
        return self._on_gpu, request.model_copy(update={"device": "cuda"})
