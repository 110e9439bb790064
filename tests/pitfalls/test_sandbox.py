"""Programs that only a sandbox can end: endless ones, those that swallow the stop, those that abort.

Real processes: one pool for the whole file.
"""

import asyncio
from functools import cache

from tensor_anatomy.execution import Pool
from tensor_anatomy.explaining import explain
from tensor_anatomy.schema import Limits, Trace, TraceRequest

from .programs import PROGRAMS, lines, noted, printed, state_of

LIMITS = Limits(
    wall_s=1.5,
    cpu_s=4,
    memory_bytes=512 << 20,
    steps_kept=60,
    statements=1_000_000_000,
    stdout_kept_bytes=1 << 16,
    stdout_bytes=1 << 20,
    trace_bytes=4 << 20,
    value_elements=1_024,
)
SWALLOWS = (
    "import torch\nx = torch.zeros(1)\nwhile True:\n    try:\n        while True:\n            x += 1\n"
    "    except BaseException:\n        pass\n"
)
SOURCES = {**{name: PROGRAMS[name] for name in ("E06", "E07", "E22", "E28")}, "swallows": SWALLOWS}


@cache
def traces() -> dict[str, Trace]:
    """Each program through one pool, one after another."""

    async def run() -> dict[str, Trace]:
        async with Pool(LIMITS) as pool:
            return {
                # On the CPU as it is: with a simulated device the fake one of E22 has something to be.
                name: explain(await pool.run(TraceRequest(source=source, device="cpu")))
                for name, source in SOURCES.items()
            }

    return asyncio.run(run())


def test_an_endless_loop_ends_with_its_first_steps_and_the_rest_folded() -> None:
    trace = traces()["E28"]
    rounds = [step for line, step in zip(lines(trace), trace.steps, strict=True) if line == 4]
    document = state_of(trace)
    executed = sum(step.executions for step in rounds)

    assert (trace.outcome.kind, trace.outcome.reason) == ("stopped", "time-limit")
    assert trace.outcome.line in (3, 4)
    assert trace.outcome.limit == "1.5 s"
    assert [step.executions for step in rounds[:20]] == [1] * 20
    assert any(step.executions > 100 for step in rounds)
    # The state is that of the last round: x counts how often its line ran, the last time perhaps in part.
    x = document["tensors"][str(document["bindings"]["x"])]
    assert executed - 1 <= x["version"] <= executed
    assert x["values"] == [float(x["version"])]
    assert "Stopped" in printed(trace)
    assert "1.5 s" in printed(trace)


def test_a_program_that_swallows_the_stop_is_killed_and_keeps_what_was_seen() -> None:
    trace = traces()["swallows"]
    rounds = [step for line, step in zip(lines(trace), trace.steps, strict=True) if line == 6]

    assert (trace.outcome.kind, trace.outcome.reason) == ("stopped", "time-limit")
    assert [step.executions for step in rounds[:20]] == [1] * 20
    assert any(step.executions > 100 for step in rounds)


def test_a_fake_cuda_tensor_with_autograd_aborts_the_process_and_is_told_as_a_crash() -> None:
    trace = traces()["E22"]

    assert (trace.outcome.kind, trace.outcome.reason, trace.outcome.line) == ("crashed", "signal", 5)
    assert "SIGABRT" in (trace.outcome.message or "")
    assert lines(trace) == [1, 2, 3, 4]


def test_threads_are_marked_in_the_sandbox_and_forks_refused() -> None:
    assert "in an unobserved thread" in noted(traces()["E06"])[0][1]
    assert (traces()["E07"].outcome.kind, traces()["E07"].outcome.reason) == ("raised", "denied")
