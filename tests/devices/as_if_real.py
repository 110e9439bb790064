"""A real CUDA device for machines without one: the simulation, told to be real.

The product's own code for real devices runs, `accelerator.Cuda` on streams, events, copies and statistics
that the simulation answers; only the tracer's direct sight of the memory is taken away. In a forked child.
"""

import textwrap
from typing import Any

import torch._dynamo  # noqa: F401  # as in `running`
from tensor_anatomy.execution.assembly import Assembly
from tensor_anatomy.execution.framing import decode_chunk
from tensor_anatomy.explaining import explain
from tensor_anatomy.schema import Environment, RunRequest
from tensor_anatomy.schema.replay import state_document
from tensor_anatomy.tracing import reading, session
from tensor_anatomy.tracing.accelerator import Cuda
from tensor_anatomy.tracing.session import record_program
from tensor_anatomy.tracing.simulated_cuda import SimulatedCuda

from ..conftest import LIMITS
from ..tracing.children import in_child
from .running import Ran


class Counting(Cuda):
    """Writes down each copy."""

    def __init__(self) -> None:
        super().__init__()
        self.copies: list[int] = []
        self.at_the_end = 0
        self.capturing = False
        self._captures = lambda: self.capturing

    def copied(self, t: Any, first: int, nbytes: int) -> bytes | None:
        self.copies.append(nbytes)
        return super().copied(t, first, nbytes)


def run_as_if_real(source: str, *, capturing: bool = False, observed: bool = True) -> tuple[Ran, list[int]]:
    """Run a program on it; returns also the sizes of the copies that the tracer took from the device
    while it ran."""
    program = "import torch\n" + textwrap.dedent(source).lstrip("\n")

    def recorded() -> Any:
        with SimulatedCuda(1, 64 << 20, watched=observed):
            reading.readable_devices = frozenset({"cpu"})
            device = Counting()
            device.capturing = capturing
            session.there_is = lambda: device  # type: ignore[assignment]
            taking = session.fingerprint

            def fingerprint(*args: Any) -> Any:
                device.at_the_end = len(device.copies)
                return taking(*args)

            session.fingerprint = fingerprint
            chunks, faults = [], []
            request = RunRequest(source=program, device="cuda", seed=0, limits=LIMITS, observed=observed)
            record_program(request, lambda payload: chunks.append(decode_chunk(payload)), faults=faults)
        assert not faults, faults
        assembly = Assembly(program, Environment(torch="", python="", device="cpu", simulated=False, seed=0))
        for chunk in chunks:
            assembly.add(chunk)
        assert assembly.closing is not None
        trace = explain(assembly.trace(assembly.closing.outcome, ""))
        state = state_document(trace, None)
        return [
            state.model_dump(mode="json", by_alias=True),
            trace.model_dump(mode="json", by_alias=True),
            device.copies[: device.at_the_end],
            assembly.closing.fingerprint.model_dump(mode="json"),  # type: ignore[union-attr]
        ]

    state, trace, copies, fingerprint = in_child(recorded)
    ran = Ran(printed=state["stdout"].splitlines(), state=state, trace=trace)
    object.__setattr__(ran, "fingerprint", fingerprint)
    return ran, copies
