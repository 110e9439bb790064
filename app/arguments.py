"""The arguments of `tensor-anatomy`: commands, options, their words and what they may hold.

Knows what can be asked for, not how it is done (`cli`).
"""

import argparse
import math
from importlib.metadata import version
from pathlib import Path
from typing import NoReturn

from .messages import LANGUAGES

EXIT_NO_SANDBOX = 4

DEVICES = ("auto", "cpu", "cuda", "simulated-cuda")
FORMATS = ("text", "json", "state", "html")


class _Probe(argparse.ArgumentParser):
    """Reads the beginning of a command line without complaining."""

    def error(self, message: str) -> NoReturn:
        raise ValueError(message)


def options_of(arguments: list[str]) -> argparse.Namespace:
    """Parse a command line; `command` says which one.

    Behind FILE and `--local`, in whichever order, all belongs to the program.

    Raises:
        SystemExit: It makes no sense, or asked for help; what there is to say was said.
    """
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
            description="Run a program in the sandbox, or with --local a script of your own as yourself, and "
            "print what each line did to its tensors.",
            epilog=_TRACE_EPILOG,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        ),
        local=local,
    )
    check = commands.add_parser("check", help="check lessons on the installed torch")
    check.add_argument(
        "folder", metavar="DIR", type=Path, help="folder with pages/NN-name/en.md, zh.md, *.py"
    )
    check.set_defaults(command="check")
    _export_arguments(commands.add_parser("export", help="run a program and write it as one HTML file"))
    return parser


def _serve_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--host", help="address to listen on (HOST; 127.0.0.1)")
    parser.add_argument("--port", type=_port, help="port to listen on (PORT; 8000)")
    parser.add_argument(
        "--lessons", metavar="DIR", type=Path, help="lessons to serve instead of the built-in"
    )
    parser.add_argument(
        "--device",
        choices=DEVICES,
        help="what programs may use besides the CPU (DEVICE; auto, which is simulated-cuda); cuda: this "
        "machine's GPU as well, which takes walls down for the programs that use it",
    )
    parser.add_argument(
        "--require-sandbox",
        action="store_true",
        help=f"exit with status {EXIT_NO_SANDBOX} where programs cannot be confined, instead of serving "
        "lessons with Run switched off",
    )
    parser.set_defaults(command="serve")


_TRACE_EPILOG = """\
A script of your own:
  tensor-anatomy trace --local train.py --epochs 3
  tensor-anatomy trace --local --wall 60 --format html -o train.html train.py --epochs 3
    runs as `python train.py --epochs 3` would: its folder, arguments, input, output, files and
    random numbers. Functions of other files are told as part of the line that calls them; threads
    and processes that it starts run unwatched. Ctrl-C keeps the steps so far. Options of this
    command stand before FILE; all behind it is the script's.

Exit status: 0, also when the program raised; 2 bad usage; 3 a limit stopped it; 4 it cannot be
confined here; 5 it crashed; 130 Ctrl-C."""


def _trace_arguments(parser: argparse.ArgumentParser, *, local: bool) -> None:
    parser.add_argument("file", metavar="FILE", help="the program; - reads it from the standard input")
    parser.add_argument(
        "--local",
        action="store_true",
        help="run FILE as yourself, with your own files, imports and arguments, WITHOUT a sandbox",
    )
    parser.add_argument("--format", choices=FORMATS, default="text", help="default: text")
    parser.add_argument("-o", "--output", metavar="PATH", type=Path, help="write there instead of to stdout")
    parser.add_argument("--step", type=int, metavar="N", help="for text and state: stop after step N")
    parser.add_argument("-v", "--verbose", action="store_true", help="text: show the aten ops of each line")
    parser.add_argument("--lang", choices=LANGUAGES, help="text and html: language; default from LANG")
    parser.add_argument("--device", choices=DEVICES, default="auto", help="where tensors may live")
    parser.add_argument(
        "--seed",
        type=_seed,
        metavar="N",
        help="of the random generators; default 0, with --local as the script leaves them",
    )
    limits = parser.add_argument_group("limits", "in the sandbox those of a server; with --local none")
    limits.add_argument("--wall", type=_seconds, metavar="S", help="stop the program after S seconds")
    limits.add_argument("--statements", type=_count, metavar="N", help="stop it after N executed statements")
    limits.add_argument("--stdout", type=_bytes, metavar="N", help="stop it after N bytes of output (8M)")
    limits.add_argument(
        "--steps", type=_count, metavar="N", help="steps kept one by one, later rounds are folded; 2000"
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
    parser.set_defaults(command="trace")


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
    parser.set_defaults(command="export")


def _port(text: str) -> int:
    port = int(text)
    if not 0 <= port < 65536:
        raise argparse.ArgumentTypeError("a port is a number from 0 to 65535")
    return port


def _count(text: str) -> int:
    count = int(text)
    if count < 1:
        raise argparse.ArgumentTypeError("it must be at least 1")
    return count


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 < seconds < math.inf:
        raise argparse.ArgumentTypeError("it must be more than 0 seconds")
    return seconds


def _bytes(text: str) -> int:
    """A number of bytes, as in 500, 64k or 8M."""
    unit = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}.get(text[-1:].lower(), 1)
    return _count(text[:-1] if unit > 1 else text) * unit


# What argparse names in "invalid … value".
_count.__name__, _seconds.__name__, _bytes.__name__ = "number", "number of seconds", "number of bytes"


def _seed(text: str) -> int:
    seed = int(text)
    if not 0 <= seed < 2**63:
        raise argparse.ArgumentTypeError("a seed is a number from 0 to 2**63 - 1")
    return seed
