"""Starts the zygote, sends it orders, and starts another when it dies.

The zygote is a process of its own, started by exec with a clean environment: nothing
of the server's memory, variables or descriptors reaches it. Whether this machine can
confine a program is for the launcher and the zygote to find out; if it cannot, none is
run. What they say is not believed: `proof` looks at a first child before any other.
What a child does is not looked at here (`child`, `pool`).
"""

import asyncio
import json
import logging
import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from ..errors import SandboxRestarting, SandboxUnavailable
from ..profiles import REQUIRED_LAYERS, AskedProfile, Profile, leads_to_a_gpu, serves
from .child import Child
from .order import Order
from .orphans import adopt, bury
from .prepared import Prepared
from .proof import NotProved, WithoutDevice, prove

log = logging.getLogger(__name__)

START_S = 60.0
"""Most time a zygote may take to be ready: on a busy machine torch takes its time."""

_FIRST_PAUSE_S = 0.5
"""Between two attempts to start one; doubled each time, up to half a minute."""

_PACKAGE = Path(__file__).resolve().parent.parent

ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "HOME": "/nonexistent",
    "LANG": "C.UTF-8",
    # A thread pool in the zygote would hang every forked child.
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "MALLOC_ARENA_MAX": "2",
    # Huge pages for the heap, and Python's objects in that heap: fork copies an entry per page,
    # and this makes it three times as fast. Python's own allocator would be no faster.
    "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
    "PYTHONMALLOC": "malloc",
    # Ask the driver's library about devices, do not open one.
    "PYTORCH_NVML_BASED_CUDA_CHECK": "1",
    # An existing directory with nothing of torch in it: see `confinement/environment.py`.
    "TORCHINDUCTOR_CACHE_DIR": str(_PACKAGE),
    # The order of a set of strings is part of a trace.
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
}
"""All that the zygote is told of the world."""


OF_CUDA = {"CUDA_CACHE_DISABLE": "1", "CUDA_MODULE_LOADING": "LAZY"}
"""What one that leads to a GPU is told beside: no compiled code is cached, nothing could be written."""


COMMAND = (sys.executable, "-s", "-P", "-m", f"{__name__.partition('.')[0]}.launch")
"""Starts a zygote; the descriptor of its socket and the profile follow. -P: nothing is imported from here."""


@dataclass(frozen=True, kw_only=True)
class About:
    """What a zygote says of itself when it is ready."""

    torch: str
    python: str
    profile: Profile
    layers: tuple[str, ...]
    """The layers in force, outermost first."""

    warnings: tuple[str, ...]
    """What the operator should know, in sentences."""


class ZygoteClient:
    """Keeps one zygote alive from `start` to `close`.

    Args:
        profile: Which profile to confine programs by; `auto` takes the strongest that holds here, `cuda`
            the strongest of those that lead to a GPU.
        gpus: Which GPUs, as in CUDA_VISIBLE_DEVICES, where the profile leads to them.
        command: Starts a zygote; for tests.
    """

    def __init__(
        self, profile: AskedProfile = "auto", *, gpus: str = "0", command: Sequence[str] = COMMAND
    ) -> None:
        self._asked = profile
        self._told = {**OF_CUDA, "CUDA_VISIBLE_DEVICES": gpus} if profile == "cuda" else {}
        self._command = tuple(command)
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._settled = asyncio.Event()
        self._may_confine = sys.platform == "linux"
        self.about: About | None = None
        self.reason: str | None = None if self._may_confine else "confining them needs Linux."

    @property
    def state(self) -> Literal["ready", "starting", "unavailable"]:
        """Whether programs can be run now, soon, or not at all."""
        if self._control is not None:
            return "ready"
        return "starting" if self.reason is None else "unavailable"

    @property
    def pid(self) -> int | None:
        """The zygote's process, while there is one."""
        return None if self._process is None else self._process.pid

    async def start(self) -> None:
        """Start a zygote, and keep one alive from now on. Returns when it is known whether it can."""
        if not self._may_confine:
            return
        if self._keeper is None:
            adopt()
            self._keeper = asyncio.create_task(self._keep_alive())
        await self.settled()

    async def settled(self) -> None:
        """Wait until the state is not `starting`."""
        await self._settled.wait()

    async def close(self) -> None:
        """End the zygote and every child."""
        if self._keeper is not None:
            self._keeper.cancel()
            with suppress(asyncio.CancelledError):
                await self._keeper
            self._keeper = None

    def spawn(self, order: Order, request: bytes) -> Child:
        """Have a child forked for this request. Await `Child.announced` next.

        Raises:
            SandboxRestarting: There is no zygote just now.
            SandboxUnavailable: This machine cannot confine a program.
        """
        if self.state == "unavailable":
            raise SandboxUnavailable(self.reason or "")
        if self._control is None:
            raise SandboxRestarting
        return self._order(self._control, order, request)

    def prepare(self, order: Order) -> Prepared | None:
        """Have a child forked that waits, confined, for a request; None while there is no zygote."""
        if self._control is None:
            return None
        request, far_request = os.pipe()
        with suppress(SandboxRestarting):
            child = self._sent(self._control, order, request)
            return Prepared(child, far_request, order, self._control)
        os.close(far_request)
        return None

    def is_of_this_zygote(self, prepared: Prepared) -> bool:
        """Whether the zygote that forked it still lives."""
        return self._control is prepared.made_by

    def _order(self, control: socket.socket, order: Order, request: bytes) -> Child:
        file = os.memfd_create("request")
        with os.fdopen(os.dup(file), "wb") as writing:
            writing.write(request)
        os.lseek(file, 0, os.SEEK_SET)
        return self._sent(control, order, file)

    def _sent(self, control: socket.socket, order: Order, request: int) -> Child:
        """Send an order, and the descriptor where the child finds its request, which is closed here."""
        report, far_report = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        output, far_output = _pipe()
        result, far_result = _pipe()
        far = (far_report.fileno(), far_output, far_result, request)
        try:
            socket.send_fds(control, [json.dumps(asdict(order)).encode()], far)
        except OSError as e:
            for descriptor in (output, result):
                os.close(descriptor)
            report.close()
            self.give_up()
            raise SandboxRestarting from e
        finally:
            far_report.close()
            for descriptor in far[1:]:
                os.close(descriptor)
        return Child(report, output, result)

    def give_up(self) -> None:
        """Kill a zygote that does not answer; another is started."""
        if self._process is not None:
            log.warning("the zygote does not answer and is killed")
            self._process.kill()

    async def _keep_alive(self) -> None:
        pause_s = _FIRST_PAUSE_S
        while self._may_confine:
            control, far_control = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            try:
                if self._launched(far_control) and await self._is_ready(control):
                    pause_s = 0.0
                    self._control = control
                    self._settled.set()
                    await _until_closed(control)
                    log.warning("the zygote has died; another is started")
                    self._settled.clear()
            finally:
                self._control = None
                control.close()
                await self._bury()
            if self.reason is not None:
                self._settled.set()
            await asyncio.sleep(pause_s)
            pause_s = min(max(2 * pause_s, _FIRST_PAUSE_S), 30.0)

    def _launched(self, far_control: socket.socket) -> bool:
        try:
            self._launch(far_control)
        except (OSError, ValueError) as e:
            self.reason = f"the process that confines programs does not start: {e}"
            log.error("no program is run: %s", self.reason)
            return False
        return True

    def _launch(self, far_control: socket.socket) -> None:
        with far_control:
            self._process = subprocess.Popen(
                [*self._command, str(far_control.fileno()), "--profile", self._asked],
                env={**ENVIRONMENT, **self._told},
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[far_control.fileno()],
                start_new_session=True,
            )

    async def _is_ready(self, control: socket.socket) -> bool:
        """Hear what the zygote says of itself, and have it proved."""
        control.setblocking(False)
        receiving = asyncio.get_running_loop().sock_recv(control, 1 << 16)
        try:
            message = await asyncio.wait_for(receiving, START_S)
        except (TimeoutError, OSError):
            message = b""
        try:
            about, refusal = _heard(message, self._asked)
        except (ValueError, KeyError, TypeError):
            about, refusal = None, None
        if about is not None and about.profile != "none":
            try:
                cuda = leads_to_a_gpu(about.profile)
                await prove(lambda order, request: self._order(control, order, request), cuda=cuda)
            except WithoutDevice as e:
                about, refusal = None, str(e)
            except NotProved as e:
                # Never tried again: a zygote that lies once is not asked twice.
                about, refusal = None, f"the sandbox does not hold: {e}"
            except (SandboxRestarting, TimeoutError):
                about = None
        if about is not None:
            self.reason, self.about = None, about
            log.info("programs are confined: %s (%s)", about.profile, ", ".join(about.layers))
            return True
        # A wall that this kernel does not have is final; a process that died may be tried again.
        self._may_confine = refusal is None
        self.reason = refusal or "the process that confines programs does not start."
        log.error("no program is run: %s", self.reason)
        return False

    async def _bury(self) -> None:
        """End the zygote for certain, and its children with it, and reap it."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            await asyncio.to_thread(process.wait)
            await bury(process.pid)


def _pipe() -> tuple[int, int]:
    """A pipe whose writer cannot open it anew, by its name in /proc, to read what it has written."""
    reading, writing = os.pipe()
    os.fchmod(writing, 0o200)
    return reading, writing


async def _until_closed(control: socket.socket) -> None:
    with suppress(OSError):
        while await asyncio.get_running_loop().sock_recv(control, 1):
            pass


def _heard(message: bytes, asked: AskedProfile) -> tuple[About | None, str | None]:
    """What a zygote says of itself: who it is, or why no program is run, or neither if it died.

    It is refused if its profile is not the one asked for, or lacks a layer.
    """
    said: dict[str, Any] = json.loads(message) if message else {"ready": False}
    if said["ready"] is not True:
        return None, str(said["reason"]) if "reason" in said else None
    profile, layers = said["profile"], tuple(str(layer) for layer in said["layers"])
    if profile not in REQUIRED_LAYERS or not serves(asked, profile):
        return None, f"the sandbox offers the profile {profile!r} where {asked!r} was asked for."
    missing = REQUIRED_LAYERS[profile] - set(layers)
    if missing:
        return None, f"the sandbox lacks the layer {min(missing)!r}."
    about = About(
        torch=str(said["torch"]),
        python=str(said["python"]),
        profile=profile,
        layers=layers,
        warnings=tuple(str(warning) for warning in said["warnings"]),
    )
    return about, None
