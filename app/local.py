"""Traces a script of one's own in this very process: no sandbox, own files and imports.

The only module outside the sandbox that may load torch and the tracer, and only when it is asked to.
Never serves a stranger's program.
"""

import sys
from pathlib import Path

from .execution.assembly import Assembly
from .execution.framing import decode_chunk
from .schema import DeviceChoice, Environment, Limits, RunRequest, Trace
from .schema.comparison import not_compared


def trace_here(
    source: str, path: Path, arguments: list[str], *, device: DeviceChoice, seed: int, limits: Limits
) -> Trace:
    """Run a script in this process and trace it.

    Args:
        source: Its text.
        path: Its file; imports look in its folder first, as when Python runs it.
        arguments: `sys.argv[1:]` of the script.
        device: Where tensors may live.
        seed: Seed of the random generators.
        limits: Those on the trace; nothing confines the script.

    Returns:
        The trace. The script's own failure is in it.
    """
    # torch takes seconds to import and belongs to no other command than this one.
    from .tracing.session import record_program

    payloads: list[bytes] = []
    request = RunRequest(source=source, device=device, seed=seed, limits=limits, observed=True)
    folder = str(path.resolve().parent)
    sys.path.insert(0, folder)
    try:
        record_program(request, payloads.append, confined=False, argv=[str(path), *arguments])
    finally:
        if folder in sys.path:
            sys.path.remove(folder)
    assembly = Assembly(source, Environment(torch="", python="", device="cpu", simulated=False, seed=seed))
    for payload in payloads:
        assembly.add(decode_chunk(payload))
    assert assembly.closing is not None, "record_program ends with a closing chunk"
    trace = assembly.trace(assembly.closing.outcome, "")
    # A second run would do again whatever the script does to files and the world.
    return trace.model_copy(update={"comparison": not_compared("local")})
