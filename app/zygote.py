"""The root of the sandbox: imports torch once, then forks one confined child per program.

Started by `launch` with a clean environment, so nothing of the server's memory is here.
It talks to the server over one SEQPACKET socket. An order is a small JSON message with
four descriptors: a socket to report on, the output pipe, the result pipe, and a file with
the `RunRequest`. On the report socket it answers the child's pidfd, later its wait status.

Hard: a fork copies only the calling thread, so there must be one (a parallel region
of OpenMP in the zygote would hang every child for ever), and CUDA must be untouched.
What a program is, and whether it may run, is decided in the child and in the server.
"""

import argparse
import gc
import json
import os
import platform
import resource
import selectors
import signal
import socket
import struct
import sys
import time
import traceback
from contextlib import suppress
from dataclasses import dataclass
from typing import NoReturn

import torch
import torch._dynamo  # an optimizer imports it at first use: a second that a child would pay

from .confinement import Confinee, Jail, NotConfined, build, try_once
from .confinement.__main__ import arguments_of_a_profile, compiled_filter, must_stay_readable
from .confinement.descriptors import HIGHEST, RESULT
from .confinement.kernel import PR_SET_DUMPABLE, collapse_into_huge_pages, prctl
from .preloading import preload
from .profiles import leads_to_a_gpu
from .schema import Limits, RunRequest
from .tracing.opening import NoDevice, open_cuda
from .tracing.session import record_program

EXIT_NOT_CONFINED = 71
"""A child ends with this when a layer failed, without having looked at the program."""

FIRST_SLOT_ON_GPU = 500
"""Their uids are none that runs without a GPU have."""

EXIT_NO_DEVICE = 72
"""A child ends with this when it was to have a GPU and found none; it has not looked at the program."""

EXIT_FAULT = 70
"""A child ends with this when the tracer, not the program, failed."""

ORDER_BYTES = 4096
"""An order is smaller; the program itself travels in a file."""

REHEARSAL = """\
import torch
model = torch.nn.Linear(3, 2)
optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
x = torch.randn(4, 3)
y = x.t().contiguous().view(-1)
for step in range(2):
    loss = model(x).softmax(-1).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
print(loss, y)
"""
"""Traced once in the zygote, so that children find every code path imported and warm."""

REHEARSAL_LIMITS = Limits(
    wall_s=60.0,
    cpu_s=60,
    memory_bytes=1 << 30,
    steps_kept=1000,
    statements=100_000,
    stdout_kept_bytes=1 << 16,
    stdout_bytes=1 << 20,
    trace_bytes=1 << 22,
    value_elements=1024,
)

TOUCH = """\
import torch
w = torch.ones(2, 2, requires_grad=True)
y = (w.t() @ w).relu()
y.sum().backward()
"""
"""Traced in a child that waits for its program; it prints nothing and draws no random number."""


@dataclass(frozen=True)
class _Run:
    """A living child: where to report its end, and a handle that cannot mean another process."""

    report: socket.socket
    pidfd: int


class Zygote:
    """Forks on order, reports each child's pid and end, kills a child whose server has gone."""

    def __init__(self, control: socket.socket, jail: Jail) -> None:
        self._control = control
        self._jail = jail
        self._null = os.open("/dev/null", os.O_RDWR)
        self._runs: dict[int, _Run] = {}
        self._selector = selectors.DefaultSelector()
        self._selector.register(control, selectors.EVENT_READ, None)

    def serve(self) -> None:
        """Answer orders until the server closes the socket; then no child outlives it."""
        while True:
            for key, _ in self._selector.select():
                if key.data is None:
                    if not self._take_order():
                        return
                elif key.data not in self._runs:
                    continue  # reaped a moment ago, in this same round
                elif key.fileobj == self._runs[key.data].pidfd:
                    self._reap(key.data)
                else:
                    self._kill(key.data)

    def _take_order(self) -> bool:
        message, descriptors, _, _ = socket.recv_fds(self._control, ORDER_BYTES, 4)
        if not message:
            for run in self._runs.values():
                _end(run.pidfd)
            return False
        report, output, result, request = descriptors
        order = json.loads(message)
        waits, fraction = order.pop("waits"), order.pop("cuda_fraction")
        if fraction is not None:
            order["slot"] += FIRST_SLOT_ON_GPU
        zygote_pid = os.getpid()
        pid = os.fork()
        if pid == 0:
            null = request if waits else self._null
            bounds = Confinee(null=null, output=output, result=result, zygote_pid=zygote_pid, **order)
            _live(self._jail, bounds, None if waits else request, fraction)
        for descriptor in (output, result, request):
            os.close(descriptor)
        self._announce(pid, socket.socket(fileno=report))
        return True

    def _announce(self, pid: int, report: socket.socket) -> None:
        run = _Run(report, os.pidfd_open(pid))
        self._runs[pid] = run
        self._selector.register(run.pidfd, selectors.EVENT_READ, pid)
        self._selector.register(report, selectors.EVENT_READ, pid)
        with suppress(OSError):
            socket.send_fds(report, [json.dumps({"pid": pid}).encode()], [run.pidfd])

    def _kill(self, pid: int) -> None:
        """The server closed its end of the report socket: nobody waits for this child."""
        _end(self._runs[pid].pidfd)
        self._selector.unregister(self._runs[pid].report)

    def _reap(self, pid: int) -> None:
        run = self._runs.pop(pid)
        _, status, usage = os.wait4(pid, 0)
        spent = {"status": status, "cpu_s": usage.ru_utime + usage.ru_stime}
        with suppress(OSError):
            run.report.send(json.dumps(spent).encode())
        self._selector.unregister(run.pidfd)
        with suppress(KeyError):
            self._selector.unregister(run.report)
        run.report.close()
        os.close(run.pidfd)


def _end(pidfd: int) -> None:
    with suppress(ProcessLookupError):
        signal.pidfd_send_signal(pidfd, signal.SIGKILL)


def _live(jail: Jail, bounds: Confinee, request: int | None, cuda_fraction: float | None) -> NoReturn:
    """The whole life of a child. Until `jail.enter` returns, the program is bytes nobody looked at.

    Without a request it waits for one, confined, on descriptor 0. The context on a GPU, which takes longer
    than all the rest, is made before that.
    """
    code = EXIT_NOT_CONFINED
    try:
        program = b"" if request is None else _read(request)
        jail.enter(bounds)
        if cuda_fraction is not None:
            code = EXIT_NO_DEVICE
            _have_a_gpu(jail, cuda_fraction)
        code = EXIT_FAULT
        if request is None:
            _touch()
        # The server knows by this empty frame that the walls stand: the program cannot have sent it.
        _send(b"")
        if request is None:
            program = _awaited()
        gc.enable()
        record_program(RunRequest.model_validate_json(program), _send)
        code = 0
    except (NotConfined, NoDevice) as fault:
        os.write(2, str(fault).encode(errors="replace"))
    except BaseException:
        os.write(2, traceback.format_exc().encode(errors="replace")[-4000:])
    finally:
        os._exit(code)


def _have_a_gpu(jail: Jail, fraction: float) -> None:
    if not leads_to_a_gpu(jail.profile):
        raise NoDevice(f"the profile {jail.profile!r} leads to no GPU")
    open_cuda(fraction)


def _read(descriptor: int) -> bytes:
    with os.fdopen(descriptor, "rb") as file:
        return file.read()


def _touch() -> None:
    """Trace a small program, so that what every trace writes to is this process's own memory by now."""
    request = RunRequest(source=TOUCH, device="cpu", seed=0, limits=REHEARSAL_LIMITS, observed=True)
    record_program(request, lambda payload: None)


def _awaited() -> bytes:
    """The program, once it is there. A child that is not needed any more gets none and ends."""
    program = _read(os.dup(0))
    if not program:
        os._exit(0)
    # What a program finds on descriptor 0; where no file can be opened, it is the pipe at its end.
    with suppress(OSError):
        null = os.open("/dev/null", os.O_RDONLY)
        os.dup2(null, 0, inheritable=False)
        os.close(null)
    return program


def _send(payload: bytes) -> None:
    """Write one frame, its length in four little-endian bytes first, on descriptor 3."""
    rest = memoryview(struct.pack("<I", len(payload)) + payload)
    while rest:
        rest = rest[os.write(RESULT, rest) :]


def rehearse() -> None:
    """Trace a small program here, observed and not, and compile one function without a C++ compiler.

    Raises:
        RuntimeError: The process is no longer fit to be forked.
    """
    for observed in (True, False):
        request = RunRequest(
            source=REHEARSAL, device="cpu", seed=0, limits=REHEARSAL_LIMITS, observed=observed
        )
        record_program(request, lambda payload: None)
    # The first function that a process compiles loads two hundred modules, symbolic sizes yet more.
    compiled = torch.compile(lambda x: x.sin() + 1, backend="aot_eager", dynamic=True)
    compiled(torch.ones(3, requires_grad=True)).sum().backward()
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    # A program's first hook has the number it has in a process of its own.
    torch.utils.hooks.RemovableHandle.next_id = 0
    threads = len(os.listdir("/proc/self/task"))
    if threads != 1:
        raise RuntimeError(f"{threads} threads in the process that forks; there must be one")
    untouched = not torch.cuda.is_initialized()
    if not untouched or any("/dev/nvidia" in name for name in _open_files()):
        raise RuntimeError("the process that forks has touched CUDA")


def _open_files() -> list[str]:
    names = []
    for descriptor in os.listdir("/proc/self/fd"):
        with suppress(OSError):
            names.append(os.readlink(f"/proc/self/fd/{descriptor}"))
    return names


def main() -> int:
    """Build the jail, rehearse, say what is ready, and serve."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("control", type=int, help="descriptor of the socket to the server")
    arguments_of_a_profile(parser)
    options = parser.parse_args()
    began = time.perf_counter()
    control = socket.socket(fileno=options.control)
    # `descriptors` closes up to here; nothing may lie above.
    ceiling = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    highest = HIGHEST if ceiling == resource.RLIM_INFINITY else min(HIGHEST, ceiling)
    resource.setrlimit(resource.RLIMIT_NOFILE, (highest, highest))
    torch.set_num_threads(1)
    try:
        compiled = compiled_filter(options.filter)
        jail = build(options.profile, must_stay_readable(), compiled=compiled)
        if jail.profile != "none":
            try_once(jail)
    except NotConfined as fault:
        control.send(json.dumps({"ready": False, "reason": str(fault)}).encode())
        return EXIT_NOT_CONFINED
    if options.filter is not None:
        os.close(options.filter)
    if jail.profile == "sealed":
        preload()
    rehearse()
    jail.environment.replace()
    prctl(PR_SET_DUMPABLE, 0)
    gc.collect()
    gc.freeze()
    gc.disable()
    collapse_into_huge_pages()
    about = {
        "ready": True,
        "torch": str(torch.__version__),
        "python": platform.python_version(),
        "profile": jail.profile,
        "layers": list(jail.names),
        "warnings": list(jail.warnings),
        "rehearsed_s": round(time.perf_counter() - began, 3),
    }
    control.send(json.dumps(about).encode())
    Zygote(control, jail).serve()
    return 0


if __name__ == "__main__":
    sys.exit(main())
