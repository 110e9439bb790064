"""ROOT of a build step: run every lesson program in the sandbox and write its trace.

    python -m tensor_anatomy.record [LESSONS-FOLDER]        (`make record`)

The files are what lessons and embeds show, and the golden tests of the whole path. A file whose trace
differs only in the addresses of storages is left as it is, so that a diff shows what changed.
"""

import asyncio
import sys
from pathlib import Path

from .drawing import draw
from .errors import AppError
from .execution import Pool
from .explaining import explain
from .lessons.catalog import BUILT_IN, Catalog, load
from .lessons.programs import Program, TraceMissing, comparable
from .schema import Trace, TraceRequest
from .settings import Settings


async def run_all(catalog: Catalog, pool: Pool) -> list[tuple[Program, Trace]]:
    """Run every program of a catalog, one after the other.

    Args:
        catalog: Lessons and examples.
        pool: Started.

    Raises:
        AppError: The sandbox is not to be had.
    """
    return [
        (program, draw(explain(await pool.run(TraceRequest(source=program.source)))))
        for program in catalog.programs()
    ]


def write(catalog: Catalog, program: Program, trace: Trace) -> str:
    """Write a trace unless the recorded one says the same; answer what was done."""
    try:
        if comparable(catalog.recordings.read(program)) == comparable(trace):
            return "unchanged"
    except (TraceMissing, ValueError):  # there is none, or it has an older schema
        pass
    catalog.recordings.write(program, trace)
    return "written"


async def main(folder: Path) -> int:
    """Record a folder of lessons.

    Args:
        folder: Has `pages/` and `examples/`; `recorded/` is written.

    Returns:
        The exit status: 0, or 1 when a program could not be run.
    """
    catalog = load(folder)
    try:
        async with Pool(Settings().limits) as pool:
            for program, trace in await run_all(catalog, pool):
                done = write(catalog, program, trace)
                print(f"{done:9}  {program.file_name}  {len(trace.steps)} steps, {trace.outcome.kind}")
    except AppError as e:
        print(e.message, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(Path(sys.argv[1]) if len(sys.argv) > 1 else BUILT_IN)))
