"""ROOT of the terminal: `tensor-anatomy serve | trace | check | export`.

Reads arguments and settings, hands them on as values, and turns what comes back into text and an
exit status. It knows no torch: programs run in the sandbox, or with `--local` through `local`.
"""

import argparse
import logging
import os
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import NoReturn

from rich.console import Console

from .check import check_lessons
from .drawing import draw
from .errors import AppError, DeviceUnavailable, SandboxUnavailable
from .execution import trace_once
from .execution.pool import DEVICES as DEVICES_CONFINED
from .explaining import explain
from .local import trace_here
from .messages import LANGUAGES, Language, text_of
from .schema import Limits, Trace, TraceRequest
from .schema.replay import state_document
from .settings import SettingInvalid, Settings
from .terminal import Manner, print_trace

EXIT_FAULTS = 1
EXIT_USAGE = 2
EXIT_LIMIT = 3
EXIT_NO_SANDBOX = 4
EXIT_CRASHED = 5
_INTERRUPTED = 130

DEVICES = ("auto", "cpu", "cuda", "simulated-cuda")


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
    options = _options(list(arguments))
    try:
        status: int = options.run(options)
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


class _Probe(argparse.ArgumentParser):
    """Reads the beginning of a command line without complaining."""

    def error(self, message: str) -> NoReturn:
        raise ValueError(message)


def _options(arguments: list[str]) -> argparse.Namespace:
    """Parse a command line. Behind FILE and `--local`, in whichever order, all belongs to the program."""
    if arguments[:1] != ["trace"] or "--local" not in arguments:
        return _parser(local=False).parse_args(arguments)
    place = arguments.index("--local")
    if not _names_a_file(arguments[1:place]):
        return _parser(local=True).parse_args(arguments)
    options = _parser(local=False).parse_args(arguments[: place + 1])
    options.arguments += arguments[place + 1 :]
    return options


def _names_a_file(arguments: list[str]) -> bool:
    probe = _Probe(add_help=False)
    _trace_arguments(probe, local=False)
    try:
        probe.parse_known_args(arguments)
    except ValueError:
        return False
    return True


def _complain(message: str, status: int) -> int:
    print(f"tensor-anatomy: {message}", file=sys.stderr)
    return status


def _parser(*, local: bool) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tensor-anatomy",
        description="See what PyTorch code does to a tensor, line by line: data, metadata, autograd, device.",
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {version('tensor-anatomy')}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    _serve_arguments(commands.add_parser("serve", help="serve lessons, playground and embeds"))
    _trace_arguments(
        commands.add_parser(
            "trace",
            help="run a program in the sandbox and print what it did",
            description="Run a program in the sandbox and print what each line did. Exit status: 0, also "
            "when the program raised; 3 a limit stopped it; 4 it cannot be confined here; 5 it crashed.",
        ),
        local=local,
    )
    check = commands.add_parser("check", help="check lessons on the installed torch")
    check.add_argument(
        "folder", metavar="DIR", type=Path, help="folder with pages/NN-name/en.md, zh.md, *.py"
    )
    check.set_defaults(run=_check)
    _export_arguments(commands.add_parser("export", help="run a program and write it as one HTML file"))
    return parser


def _serve_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--host", help="address to listen on (HOST; 127.0.0.1)")
    parser.add_argument("--port", type=_port, help="port to listen on (PORT; 8000)")
    parser.add_argument(
        "--lessons", metavar="DIR", type=Path, help="lessons to serve instead of the built-in"
    )
    parser.add_argument("--device", choices=DEVICES, default="auto", help="device programs may use")
    parser.add_argument(
        "--require-sandbox",
        action="store_true",
        help=f"exit with status {EXIT_NO_SANDBOX} where programs cannot be confined, instead of serving "
        "lessons with Run switched off",
    )
    parser.set_defaults(run=_serve)


def _trace_arguments(parser: argparse.ArgumentParser, *, local: bool) -> None:
    parser.add_argument("file", metavar="FILE", help="the program; - reads it from the standard input")
    parser.add_argument("--format", choices=("text", "json", "state"), default="text", help="default: text")
    parser.add_argument("--step", type=int, metavar="N", help="for text and state: stop after step N")
    parser.add_argument("--device", choices=DEVICES, default="auto")
    parser.add_argument(
        "--seed", type=_seed, default=0, metavar="N", help="of the random generators; default 0"
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="text: show the aten ops of each line")
    parser.add_argument("--lang", choices=LANGUAGES, help="text: language; default from LANG")
    parser.add_argument(
        "--local",
        action="store_true",
        help="run FILE in this process, with your own files and imports and WITHOUT a sandbox",
    )
    # With --local, what follows belongs to a program of one's own; without it our options may follow FILE.
    own = parser.add_argument(
        "arguments",
        metavar="ARGS",
        nargs=argparse.REMAINDER if local else "*",
        default=[],
        help="with --local: arguments of the program, everything that follows FILE and --local",
    )
    own.required = False
    parser.set_defaults(run=_trace)


def _export_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", nargs="?", help="the program; - reads it from standard input")
    parser.add_argument("-o", "--output", metavar="OUT.html", type=Path, help="the file to write")
    parser.add_argument("--site", metavar="OUT", help="all lessons as a static site: not in this version")
    parser.add_argument("--title", help="title of the page; default: the name of FILE")
    parser.add_argument("--device", choices=DEVICES, default="auto")
    parser.add_argument(
        "--seed", type=_seed, default=0, metavar="N", help="of the random generators; default 0"
    )
    parser.add_argument("--lang", choices=LANGUAGES, help="language; default from LANG")
    parser.set_defaults(run=_export)


def _port(text: str) -> int:
    port = int(text)
    if not 0 <= port < 65536:
        raise argparse.ArgumentTypeError("a port is a number from 0 to 65535")
    return port


def _seed(text: str) -> int:
    seed = int(text)
    if not 0 <= seed < 2**63:
        raise argparse.ArgumentTypeError("a seed is a number from 0 to 2**63 - 1")
    return seed


# ---- serve


def _serve(options: argparse.Namespace) -> int:
    # The web is loaded by this command alone; `trace` starts in half the time without it.
    import uvicorn

    from .logs import configure

    given = {"HOST": options.host, "PORT": options.port, "LESSONS": options.lessons}
    os.environ.update({name: str(value) for name, value in given.items() if value is not None})
    if options.require_sandbox:
        os.environ["REQUIRE_SANDBOX"] = "1"
    if options.device not in ("auto", *DEVICES_CONFINED):
        raise DeviceUnavailable(options.device, DEVICES_CONFINED)
    settings = Settings.from_env()
    if settings.unsafe_no_sandbox:
        print(text_of("en", "cli.unsafe", {}), file=sys.stderr)
    if settings.lessons is not None and not settings.lessons.is_dir():
        raise _Usage(f"{settings.lessons} is not a folder")
    if settings.require_sandbox:
        trace_once(TraceRequest(source=""), settings.limits, profile=settings.profile)
    configure(settings.log, logging.WARNING if settings.host == "127.0.0.1" else logging.INFO)
    uvicorn.run(
        "tensor_anatomy.main:create_app",
        factory=True,
        host=settings.host,
        port=settings.port,
        log_config=None,
        access_log=False,
        server_header=False,
    )
    return 0


# ---- trace


def _trace(options: argparse.Namespace) -> int:
    if options.arguments and not options.local:
        raise _Usage(
            f"unrecognized arguments: {' '.join(options.arguments)} (a program has some with --local)"
        )
    if options.step is not None and options.format == "json":
        raise _Usage("--step is for text and state: a trace as json holds all its steps")
    settings = Settings.from_env()
    source = _read(options.file)
    if options.local:
        trace = _trace_here(options, source, settings.limits)
    else:
        trace = _run_confined(options, source, settings)
    trace = explain(trace)
    _print(options, trace)
    return _status(trace)


def _run_confined(options: argparse.Namespace, source: str, settings: Settings) -> Trace:
    size = len(source.encode())
    if size > settings.source_bytes:
        raise _Usage(
            f"the program has {size:,} bytes; at most {settings.source_bytes:,} can be traced. "
            "Keep the lines that show the problem and remove the rest."
        )
    request = TraceRequest(source=source, device=options.device, seed=options.seed)
    try:
        return trace_once(request, settings.limits, profile=settings.sandbox, compare=settings.compare)
    except SandboxUnavailable as e:
        raise SandboxUnavailable(f"{e.reason}\n{text_of(_language(options), 'cli.no-sandbox', {})}") from e


def _status(trace: Trace) -> int:
    return {"stopped": EXIT_LIMIT, "crashed": EXIT_CRASHED}.get(trace.outcome.kind, 0)


def _trace_here(options: argparse.Namespace, source: str, limits: Limits) -> Trace:
    if options.device == "simulated-cuda":
        raise _Usage("--device simulated-cuda needs the sandbox: leave out --local")
    language = _language(options)
    print(text_of(language, "cli.local", {}), file=sys.stderr)
    limits = limits.model_copy(update={"statements": 2**62, "stdout_bytes": 2**62})
    path = Path("-" if options.file == "-" else options.file)
    return trace_here(
        source, path, options.arguments, device=options.device, seed=options.seed, limits=limits
    )


def _read(file: str) -> str:
    try:
        data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as e:
        raise _Usage(f"cannot read {file}: {e.strerror}") from e
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as e:
        raise _Usage(f"{file} is not UTF-8: byte {e.start} cannot be read") from e


def _print(options: argparse.Namespace, trace: Trace) -> None:
    if options.format == "json":
        print(draw(trace).model_dump_json(by_alias=True))
        return
    try:
        if options.format == "state":
            print(state_document(trace, options.step).model_dump_json(by_alias=True))
            return
        console = _PlainConsole(highlight=False, markup=False, emoji=False)
        manner = Manner(language=_language(options), step=options.step, verbose=options.verbose)
        print_trace(trace, console, manner)
    except IndexError as e:
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
    # Loads templates and what renders them; the other commands do without.
    from .web.export import FrontEndMissing, page_of

    if options.site is not None:
        raise _Usage("export --site is not in this version; export FILE -o OUT.html writes one program")
    if options.file is None or options.output is None:
        raise _Usage("export needs a FILE and -o OUT.html")
    settings = Settings.from_env()
    trace = draw(explain(_run_confined(options, _read(options.file), settings)))
    title = options.title or ("program.py" if options.file == "-" else Path(options.file).name)
    try:
        page = page_of(trace, title, _language(options))
        options.output.write_text(page, encoding="utf-8")
    except FrontEndMissing as e:
        raise _Usage(str(e)) from e
    except OSError as e:
        raise _Usage(f"cannot write {options.output}: {e.strerror}") from e
    print(f"{options.output}: {len(page.encode()):,} bytes")
    return _status(trace)


# ---- check


def _check(options: argparse.Namespace) -> int:
    if not options.folder.is_dir():
        raise _Usage(f"{options.folder} is not a folder")
    faults = check_lessons(options.folder, Settings.from_env().limits, print)
    if faults:
        return EXIT_FAULTS
    print(text_of("en", "cli.checked", {"folder": str(options.folder)}))
    return 0


def run() -> NoReturn:
    """Run the command line and end the process with its status."""
    sys.exit(main())


if __name__ == "__main__":
    run()
