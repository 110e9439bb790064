"""Fixtures: programs traced in this process, and the states of their traces."""

import textwrap
from collections.abc import Callable
from typing import Any

import pytest
import torch
from tensor_anatomy.execution.assembly import Assembly
from tensor_anatomy.execution.framing import decode_chunk
from tensor_anatomy.schema import Environment, Limits, RunRequest, Trace
from tensor_anatomy.schema.replay import state_document
from tensor_anatomy.schema.run import DeviceChoice
from tensor_anatomy.tracing.session import record_program

torch.set_num_threads(1)  # a parallel region here would hang ops in the children that tests fork

LIMITS = Limits(
    wall_s=60,
    cpu_s=60,
    memory_bytes=512 << 20,
    steps_kept=2000,
    statements=1_000_000,
    stdout_kept_bytes=64 << 10,
    stdout_bytes=8 << 20,
    trace_bytes=4 << 20,
    value_elements=1024,
)


def record(
    source: str,
    *,
    seed: int = 0,
    limits: Limits = LIMITS,
    confined: bool = True,
    device: DeviceChoice = "cpu",
) -> Trace:
    """Trace a program in this process; fails the test on any fault of the tracer itself."""
    payloads: list[bytes] = []
    faults: list[str] = []
    request = RunRequest(source=source, device=device, seed=seed, limits=limits, observed=True)
    record_program(request, payloads.append, confined=confined, faults=faults)
    assert not faults, faults
    assembly = Assembly(source, Environment(torch="", python="", device="cpu", simulated=False, seed=seed))
    for payload in payloads:
        assembly.add(decode_chunk(payload))
    assert assembly.closing is not None
    return assembly.trace(assembly.closing.outcome, "")


@pytest.fixture
def trace_of() -> Callable[..., Trace]:
    """Program (indented as you like) → its trace."""

    def trace(source: str, **options: Any) -> Trace:
        return record(textwrap.dedent(source), **options)

    return trace


@pytest.fixture
def state_after(trace_of: Callable[..., Trace]) -> Callable[..., dict[str, Any]]:
    """Program, and a step if not the last → the state document as plain JSON data."""

    def state(source: str, step: int | None = None, **options: Any) -> dict[str, Any]:
        document = state_document(trace_of(source, **options), step)
        return document.model_dump(mode="json", by_alias=True)

    return state
