"""ROOT of the terminal: `tensor-anatomy serve | trace | check | export`.

Reads arguments and settings, hands them on as values, and turns what comes back into text and an
exit status. It knows no torch: programs run in the sandbox, or with `--local` through `local`.
"""

import argparse
import logging
import math
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn, TextIO

from rich.console import Console

from .arguments import EXIT_NO_SANDBOX, options_of
from .check import check_lessons
from .drawing import draw
from .errors import AppError, SandboxUnavailable
from .execution import trace_once
from .explaining import explain
from .local import LocalRun, NothingTraced, decode_source, trace_here
from .messages import Language, text_of
from .schema import Limits, Trace, TraceRequest
from .schema.replay import state_document
from .settings import SettingInvalid, Settings
from .terminal import Manner, print_trace
from .terminal_text import visible

EXIT_FAULTS = 1
EXIT_USAGE = 2
EXIT_LIMIT = 3
EXIT_CRASHED = 5
_INTERRUPTED = 130

_LEAVING_SLACK_S = 6
"""What a server that is told to end allows beyond the longest run, before it breaks connections."""

_NONE = 1 << 62
"""A limit that is none."""
_LOCAL_TRACE_BYTES = 64 << 20


class _PlainConsole(Console):
    """Leaves it to `main` what a reader that has gone means."""

    def on_broken_pipe(self) -> None:
        """Called inside the handler of the very error."""
        raise BrokenPipeError


class _Usage(Exception):
    """Something asked for does not make sense; the message says what."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        arguments: Those of the process if None.

    Returns:
        The exit status: 0; 1 faults found; 2 bad usage; 3 a limit stopped the program; 4 no safe
        sandbox; 5 the program crashed.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    options = options_of(list(arguments))
    try:
        status = _COMMANDS[options.command](options)
        sys.stdout.flush()
    except _Usage as e:
        return _complain(str(e), EXIT_USAGE)
    except SettingInvalid as e:
        return _complain(str(e), EXIT_USAGE)
    except SandboxUnavailable as e:
        return _complain(e.message, EXIT_NO_SANDBOX)
    except AppError as e:
        return _complain(e.message, EXIT_USAGE)
    except BrokenPipeError:
        # Whoever read has gone, as `head` does. Python would complain once more when it closes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return _INTERRUPTED
    return status


def _complain(message: str, status: int) -> int:
    print(f"tensor-anatomy: {visible(message)}", file=sys.stderr)
    return status


# ---- serve


def _serve(options: argparse.Namespace) -> int:
    # The web is loaded by this command alone; `trace` starts in half the time without it.
    import uvicorn

    from .logs import configure
    from .web.connections import KEEP_ALIVE_S, MOST_HEADER_BYTES, patient

    given = {"HOST": options.host, "PORT": options.port, "LESSONS": options.lessons}
    os.environ.update({name: str(value) for name, value in given.items() if value is not None})
    if options.require_sandbox:
        os.environ["REQUIRE_SANDBOX"] = "1"
    if options.device is not None:
        os.environ["DEVICE"] = options.device
    settings = Settings.from_env()
    if settings.unsafe_no_sandbox:
        print(text_of("en", "cli.unsafe", {}), file=sys.stderr)
    if settings.lessons is not None and not settings.lessons.is_dir():
        raise _Usage(f"{settings.lessons} is not a folder")
    if settings.require_sandbox:
        trace_once(TraceRequest(source=""), settings.limits, profile=settings.profile)
    if settings.device == "cuda":
        _run_confined(options, TraceRequest(source="", device="cuda"), settings, settings.limits)
    configure(settings.log, logging.WARNING if settings.host == "127.0.0.1" else logging.INFO)
    uvicorn.run(
        "tensor_anatomy.main:create_app",
        factory=True,
        host=settings.host,
        port=settings.port,
        log_config=None,
        access_log=False,
        server_header=False,
        http=patient(settings.body_s),
        ws="none",
        h11_max_incomplete_event_size=MOST_HEADER_BYTES,
        timeout_keep_alive=KEEP_ALIVE_S,
        proxy_headers=False,  # whom to believe is a setting of ours
        timeout_graceful_shutdown=math.ceil(settings.wall_s + _LEAVING_SLACK_S),
    )
    return 0


# ---- trace


def _trace(options: argparse.Namespace) -> int:
    if options.arguments and not options.local:
        raise _Usage(
            f"unrecognized arguments: {' '.join(options.arguments)} (a program has some with --local)"
        )
    if options.step is not None and options.format in ("json", "html"):
        raise _Usage(f"--step is for text and state: a trace as {options.format} holds all its steps")
    if options.output is not None and options.output.is_dir():
        raise _Usage(f"{options.output} is a folder; -o names a file")
    settings = Settings.from_env()
    source = _read(options.file)
    if options.local:
        try:
            run = _trace_here(options, source, settings.limits)
        except NothingTraced as e:
            return e.status
        trace = explain(run.trace)
        _print(options, trace)
        _tell_how_it_ended(options, run)
        return _INTERRUPTED if run.interrupted else _status(trace)
    request = _request(options, source, settings)
    limits = _limits(options, settings.limits)
    trace = explain(_run_confined(options, request, settings, limits))
    _print(options, trace)
    return _status(trace)


def _request(options: argparse.Namespace, source: str, settings: Settings) -> TraceRequest:
    """What the sandbox is asked for."""
    size = len(source.encode())
    if size > settings.source_bytes:
        raise _Usage(
            f"the program has {size:,} bytes; at most {settings.source_bytes:,} can be traced. "
            "Keep the lines that show the problem and remove the rest."
        )
    return TraceRequest(source=source, device=options.device, seed=options.seed or 0)


def _run_confined(
    options: argparse.Namespace, request: TraceRequest, settings: Settings, limits: Limits
) -> Trace:
    try:
        return trace_once(
            request,
            limits,
            profile=settings.sandbox,
            compare=settings.compare,
            gpus=settings.cuda_visible_devices,
            cuda_fraction=settings.cuda_memory_fraction,
        )
    except SandboxUnavailable as e:
        raise SandboxUnavailable(f"{e.reason}\n{text_of(_language(options), 'cli.no-sandbox', {})}") from e


def _limits(options: argparse.Namespace, limits: Limits, **others: Any) -> Limits:
    """Limits with those of the command line in their place."""
    asked = {
        "wall_s": options.wall,
        "cpu_s": None if options.wall is None else math.ceil(options.wall),
        "statements": options.statements,
        "stdout_bytes": options.stdout,
        "steps_kept": options.steps,
    }
    given = {name: value for name, value in asked.items() if value is not None}
    return limits.model_copy(update={**others, **given})


def _status(trace: Trace) -> int:
    return {"stopped": EXIT_LIMIT, "crashed": EXIT_CRASHED}.get(trace.outcome.kind, 0)


# ---- trace --local


def _trace_here(options: argparse.Namespace, source: str, limits: Limits) -> LocalRun:
    if options.device == "simulated-cuda":
        raise _Usage("--device simulated-cuda needs the sandbox: leave out --local")
    print(text_of(_language(options), "cli.local", {}), file=sys.stderr)
    return trace_here(
        source,
        Path(options.file),
        options.arguments,
        device=options.device,
        seed=options.seed,
        limits=_limits(
            options,
            limits,
            wall_s=math.inf,
            cpu_s=_NONE,
            statements=_NONE,
            stdout_bytes=_NONE,
            trace_bytes=max(limits.trace_bytes, _LOCAL_TRACE_BYTES),
        ),
        quiet_stdout=options.output is None and options.format != "text",
    )


def _tell_how_it_ended(options: argparse.Namespace, run: LocalRun) -> None:
    """What the trace does not say: the exit status that the script chose."""
    language = _language(options)
    if run.interrupted:
        print(text_of(language, "cli.interrupted", {}), file=sys.stderr)
    elif run.trace.outcome.kind == "finished" and run.status:
        print(text_of(language, "cli.exit-status", {"status": run.status}), file=sys.stderr)
        ours = {"--format", "--step", "--output", "--wall", "--steps", "--statements", "--stdout", "--lang"}
        mixed_up = [each for each in options.arguments if each.partition("=")[0] in ours]
        if run.status == EXIT_USAGE and mixed_up:
            print(text_of(language, "cli.options-first", {"option": mixed_up[0]}), file=sys.stderr)


# ---- reading and printing


def _read(file: str) -> str:
    try:
        data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except IsADirectoryError as e:
        main_file = Path(file) / "__main__.py"
        hint = f"; did you mean {main_file}?" if main_file.is_file() else ""
        raise _Usage(f"{file} is a folder, not a program{hint}") from e
    except (OSError, ValueError) as e:
        raise _Usage(f"cannot read {file}: {getattr(e, 'strerror', None) or e}") from e
    try:
        return decode_source(data)
    except UnicodeDecodeError as e:
        line = data.count(b"\n", 0, e.start) + 1
        raise _Usage(
            f"{file} is not {e.encoding.upper()}: byte {e.start}, on line {line}, cannot be read"
        ) from e
    except SyntaxError as e:
        raise _Usage(f"{file} cannot be read: {e.msg}") from e


def _print(options: argparse.Namespace, trace: Trace) -> None:
    """Write the trace to where it was asked for."""
    if options.output is None:
        _print_to(sys.stdout, options, trace)
        return
    try:
        with options.output.open("w", encoding="utf-8") as file:
            _print_to(file, options, trace)
    except OSError as e:
        raise _Usage(f"cannot write {options.output}: {e.strerror}") from e


def _print_to(file: TextIO, options: argparse.Namespace, trace: Trace) -> None:
    if options.format == "json":
        print(draw(trace).model_dump_json(by_alias=True), file=file)
        return
    if options.format == "html":
        print(_page(options, draw(trace), _name_of(options)), file=file)
        return
    try:
        if options.format == "state":
            print(state_document(trace, options.step).model_dump_json(by_alias=True), file=file)
            return
        console = _PlainConsole(file=file, highlight=False, markup=False, emoji=False)
        manner = Manner(
            language=_language(options),
            step=options.step,
            verbose=options.verbose,
            title=_name_of(options) if options.local else None,
            output=not options.local or options.output is not None,
        )
        print_trace(trace, console, manner)
    except IndexError as e:
        raise _Usage(str(e)) from e


def _name_of(options: argparse.Namespace) -> str:
    return "program.py" if options.file == "-" else Path(options.file).name


def _page(options: argparse.Namespace, trace: Trace, title: str) -> str:
    # Loads templates and what renders them; the other commands do without.
    from .web.export import FrontEndMissing, page_of

    try:
        return page_of(trace, title, _language(options))
    except FrontEndMissing as e:
        raise _Usage(str(e)) from e


def _language(options: argparse.Namespace) -> Language:
    if options.lang is not None:
        language: Language = options.lang
        return language
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        if value := os.environ.get(name):
            return "zh" if value.startswith("zh") else "en"
    return "en"


# ---- export


def _export(options: argparse.Namespace) -> int:
    if options.site is not None:
        raise _Usage("export --site is not in this version; export FILE -o OUT.html writes one program")
    if options.file is None or options.output is None:
        raise _Usage("export needs a FILE and -o OUT.html")
    settings = Settings.from_env()
    source = _read(options.file)
    request = _request(options, source, settings)
    trace = draw(explain(_run_confined(options, request, settings, settings.limits)))
    page = _page(options, trace, options.title or _name_of(options))
    try:
        options.output.write_text(page, encoding="utf-8")
    except OSError as e:
        raise _Usage(f"cannot write {options.output}: {e.strerror}") from e
    print(f"{options.output}: {len(page.encode()):,} bytes")
    return _status(trace)


# ---- check


def _check(options: argparse.Namespace) -> int:
    if not options.folder.is_dir():
        raise _Usage(f"{options.folder} is not a folder")
    faults = check_lessons(options.folder, Settings.from_env().limits, lambda text: print(visible(text)))
    if faults:
        return EXIT_FAULTS
    print(text_of("en", "cli.checked", {"folder": str(options.folder)}))
    return 0


_COMMANDS: dict[str, Callable[[argparse.Namespace], int]] = {
    "serve": _serve,
    "trace": _trace,
    "check": _check,
    "export": _export,
}


def run() -> NoReturn:
    """Run the command line and end the process with its status."""
    sys.exit(main())


if __name__ == "__main__":
    run()
