"""Measurements in a process of their own, started like the one that runs programs, and ended for certain."""

import gc
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tensor_anatomy.execution.zygote_client import ENVIRONMENT
from tensor_anatomy.schema import Limits, RunRequest
from tensor_anatomy.settings import Settings

ROOT = Path(__file__).resolve().parent.parent


def in_child(module: str, *arguments: str, seconds: float = 120) -> Any:
    """Run `python -m benchmarks.MODULE ARGUMENTS` and return the JSON of its last line.

    Raises:
        subprocess.SubprocessError: It failed or took too long.
    """
    command = [sys.executable, "-m", f"benchmarks.{module}", *arguments]
    answer = subprocess.run(
        command, cwd=ROOT, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True, check=True, timeout=seconds
    )
    return json.loads(answer.stdout.splitlines()[-1])


def get_ready() -> None:
    """Bring this process to where a forked child starts: torch imported and warm, garbage frozen."""
    import torch  # it belongs in children alone
    from tensor_anatomy.zygote import rehearse

    torch.set_num_threads(1)
    rehearse()
    gc.collect()
    gc.freeze()


def request_of(source: str, *, observed: bool = True, **limits: Any) -> RunRequest:
    """A program with the limits a server gives it, but for those named."""
    all_limits: Limits = Settings().limits.model_copy(update={"wall_s": 600.0, **limits})
    return RunRequest(source=source, device="cpu", seed=0, limits=all_limits, observed=observed)


def chunks_of(request: RunRequest) -> list[bytes]:
    """Run a program in this process; what it sends.

    Raises:
        RuntimeError: The tracer itself failed.
    """
    from tensor_anatomy.tracing.session import record_program

    payloads: list[bytes] = []
    faults: list[str] = []
    record_program(request, payloads.append, faults=faults)
    if faults:
        raise RuntimeError("; ".join(faults))
    return payloads


def cpu_ms(work: Callable[[], object]) -> float:
    """Processor time of a piece of work."""
    gc.collect()
    began = time.process_time()
    work()
    return (time.process_time() - began) * 1000
