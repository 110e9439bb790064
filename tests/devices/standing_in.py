"""A sandbox whose GPU is the simulation, told to be real: takes the place of the launcher in tests.

    python standing_in.py CONTROL --profile cuda

The walls are the product's own; only what opens the device in a child is replaced. `hanging` as a first
argument: a device that does not answer.
"""

import os
import sys
import time
from pathlib import Path


def command(how: str = "answering") -> list[str]:
    return [sys.executable, "-s", "-P", str(Path(__file__).resolve()), how]


def open_cuda(fraction: float) -> None:
    import torch
    from tensor_anatomy.tracing import reading, session
    from tensor_anatomy.tracing.accelerator import Cuda
    from tensor_anatomy.tracing.simulated_cuda import SimulatedCuda

    SimulatedCuda(1, 64 << 20, watched=True).__enter__()
    reading.readable_devices = frozenset({"cpu"})
    torch.cuda.set_per_process_memory_fraction(fraction, 0)
    session.there_is = Cuda  # type: ignore[assignment]


def main() -> None:
    how = sys.argv.pop(1)
    from tensor_anatomy import zygote

    def hang_after_the_proof(fraction: float) -> None:
        if fraction > 0.02:  # the proof's own child has less
            time.sleep(60)

    zygote.open_cuda = open_cuda if how == "answering" else hang_after_the_proof
    zygote.main()


if __name__ == "__main__":
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    main()
