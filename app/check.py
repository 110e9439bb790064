"""Checks a folder of lessons on the installed torch: every program, question and statement.

Runs everything in the sandbox. What is wrong is said as `file:line: what`, one fault a line.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path

from .drawing import draw
from .execution import Pool
from .explaining import explain
from .lessons.catalog import Catalog, Lesson, load
from .lessons.markdown import LessonInvalid
from .lessons.programs import Program, TraceMissing, comparable
from .lessons.questions import QuestionInvalid
from .messages import LANGUAGES
from .schema import Limits, Trace, TraceRequest


def check_lessons(folder: Path, limits: Limits, say: Callable[[str], None]) -> int:
    """Check a folder of lessons.

    Args:
        folder: Has `pages/` and perhaps `examples/` and `recorded/`.
        limits: Those of a run.
        say: Takes each fault, as a line.

    Returns:
        How many faults there are.

    Raises:
        SandboxUnavailable: This machine cannot confine a program.
    """
    try:
        catalog = load(folder)
    except LessonInvalid as e:
        say(_with_line(str(e)))
        return 1
    if not catalog.lessons and not catalog.examples:
        say(f"{folder}: there is no lesson here: no folder pages/NN-name/ with en.md and zh.md")
        return 1
    faults = asyncio.run(_faults(folder, catalog, limits))
    for fault in faults:
        say(fault)
    return len(faults)


async def _faults(folder: Path, catalog: Catalog, limits: Limits) -> list[str]:
    faults: list[str] = []
    async with Pool(limits) as pool:
        for lesson in catalog.lessons:
            place = next(p for p in (folder / "pages").iterdir() if p.name.endswith(f"-{lesson.slug}"))
            traces = {}
            for name, program in lesson.programs.items():
                traces[name] = await _run(pool, program)
                faults += _program_faults(catalog, place / f"{name}.py", program, traces[name])
            faults += _question_faults(place, lesson, traces)
            faults += await _statement_faults(pool, place, lesson)
        for example in catalog.examples:
            program = example.program
            path = folder / "examples" / f"{program.name}.py"
            faults += _program_faults(catalog, path, program, await _run(pool, program))
    return faults


async def _run(pool: Pool, program: Program) -> Trace:
    return draw(explain(await pool.run(TraceRequest(source=program.source))))


def _program_faults(catalog: Catalog, path: Path, program: Program, trace: Trace) -> list[str]:
    outcome = trace.outcome
    if outcome.kind in ("stopped", "crashed"):
        return [f"{path}:{outcome.line or 1}: {outcome.kind}: {outcome.message}"]
    try:
        recorded = catalog.recordings.read(program)
    except (TraceMissing, ValueError):
        return []
    if comparable(recorded) != comparable(trace):
        return [f"{path}:1: the recorded trace differs from what this torch does (make record)"]
    return []


def _question_faults(place: Path, lesson: Lesson, traces: dict[str, Trace]) -> list[str]:
    faults = []
    for language in LANGUAGES:
        path = place / f"{language}.md"
        for identifier, question in lesson.questions(language).items():
            trace = traces[question.program]
            try:
                question.answer(trace)
                question.ask_step(trace)
            except QuestionInvalid as e:
                faults.append(f"{path}:{_fence(path, identifier)}: {e}")
    return faults


def _fence(path: Path, identifier: str) -> int:
    """The line on which a question begins."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return next((n for n, line in enumerate(lines, 1) if line.strip() == f"```question {identifier}"), 1)


async def _statement_faults(pool: Pool, place: Path, lesson: Lesson) -> list[str]:
    """Run each program with the checks on it, which follow it in one process, as one program."""
    faults = []
    for name, program in lesson.programs.items():
        checks = [check for check in lesson.checks if check.program == name]
        if not checks:
            continue
        source = program.source if program.source.endswith("\n") else program.source + "\n"
        lines = [0] * len(source.splitlines())
        for check in checks:
            code = check.code.splitlines()
            source += "\n".join(code) + "\n"
            lines += [check.line + i for i in range(1, len(code) + 1)]
        trace = await pool.run(TraceRequest(source=source), observed=False)
        outcome = trace.outcome
        if outcome.kind != "finished":
            at = outcome.traceback[0] if outcome.traceback else outcome.line
            line = lines[at - 1] if at and at <= len(lines) else 0
            where = f"{place / 'en.md'}:{line}" if line else f"{place / name}.py:{at or 1}"
            message = f"{outcome.type or outcome.kind}: {outcome.message or 'a statement does not hold'}"
            faults.append(f"{where}: {message}")
    return faults


def _with_line(message: str) -> str:
    """`file: what` → `file:1: what`."""
    path, separator, rest = message.partition(": ")
    return f"{path}:1: {rest}" if separator and not path.rpartition(":")[2].isdigit() else message
