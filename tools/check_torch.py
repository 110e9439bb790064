"""Runs the tests with another release of torch, in an environment of its own below `build/`.

    make check-torch VERSION=2.14.1
    make check-torch VERSION=2.14.1 TESTS="tests/tracing -k views"

The environment has the locked packages, but for torch, which is the release asked for. `.venv/` stays as
it is. With TORCH_INDEX set, pip also looks there, as in `make setup`. Left out are tests that say nothing
about torch (packaging, style, the browser) and those that compare recordings, which are of one release.
Standard library only, but for the tests, which run in the new environment.
"""

import os
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

from environment import LOCK, QUIET
from stamp import ROOT, digest, is_current, mark

ABOUT_OTHER_THINGS = (
    "tests/browser",
    "tests/test_benchmarks.py",
    "tests/test_habits.py",
    "tests/test_packaging.py",
    "tests/test_record.py",
    "tests/test_tools.py",
)
"""Tests that another torch cannot change, or that hold one release's recordings."""

_VERSION = re.compile(r"\d+(\.\d+)+([a-z0-9.+]*)")
_NOTHING_COLLECTED = 5


def without_torch(lock: str) -> list[str]:
    """The lock's lines but for torch itself.

    >>> without_torch("# pinned\\ntorch==2.13.0\\nnumpy==2.4.0\\n")
    ['numpy==2.4.0']
    """
    lines = (line.strip() for line in lock.splitlines())
    return [line for line in lines if line and line[0] != "#" and not re.match(r"torch\b(?!-)", line)]


def environment_of(version: str) -> Path:
    """Where the environment with a release of torch lies."""
    return ROOT / "build" / f"torch-{version}"


def make_environment(version: str) -> Path:
    """Make the environment where it is missing or the lock changed.

    Args:
        version: A release of torch.

    Returns:
        Its Python.

    Raises:
        SystemExit: pip cannot install that release here; it has said why.
    """
    folder = environment_of(version)
    python = folder / "bin" / "python"
    index = os.environ.get("TORCH_INDEX", "")
    key = digest([LOCK, ROOT / "pyproject.toml", ROOT / "setup.py"], version, index, str(ROOT))
    if is_current(folder / ".stamp", key):
        return python
    print(f"installing torch {version} and the locked packages into {folder.relative_to(ROOT)}", flush=True)
    began = time.monotonic()
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
    pip = [str(python), "-m", "pip", "install", *QUIET]
    extra = ["--extra-index-url", index] if index else []
    _run([*pip, *extra, f"torch=={version}", *without_torch(LOCK.read_text())])
    # The project itself asks for the release it is checked on: without dependencies, then.
    _run([*pip, "--no-build-isolation", "--no-deps", "-e", str(ROOT)])
    mark(folder / ".stamp", key)
    print(f"installed in {time.monotonic() - began:.0f} s", flush=True)
    return python


def _run(command: list[str]) -> None:
    if subprocess.run(command, check=False).returncode != 0:
        raise SystemExit("This release cannot be installed here; what pip said stands above.")


def missing(python: Path) -> str:
    """What the tracer finds missing in that torch, in words."""
    code = (
        "import torch, tensor_anatomy.tracing.session\n"
        "from tensor_anatomy.tracing.torch_private import unavailable\n"
        "print(f'torch {torch.__version__} lacks:', ', '.join(unavailable()) or 'nothing that we use')"
    )
    answer = subprocess.run([python, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    if answer.returncode != 0:
        raise SystemExit("The tracer does not load with this torch; the error stands above.")
    return answer.stdout.strip()


def run_tests(python: Path, arguments: list[str]) -> int:
    """Run the tests there; pytest's exit status."""
    chosen = arguments or ["tests", *(f"--ignore={path}" for path in ABOUT_OTHER_THINGS)]
    command = [str(python), "-m", "pytest", "-q", "-p", "no:playwright", "-p", "no:cacheprovider", *chosen]
    status = subprocess.run(command, cwd=ROOT, check=False).returncode
    if status == _NOTHING_COLLECTED:
        raise SystemExit("No tests were found; TESTS names files, folders and options of pytest.")
    return status


def main(arguments: list[str]) -> int:
    """Make the environment, say what its torch lacks, run the tests."""
    version = arguments[0] if arguments else ""
    if not _VERSION.fullmatch(version):
        raise SystemExit("Which release? make check-torch VERSION=2.14.1")
    python = make_environment(version)
    print(missing(python), flush=True)
    return run_tests(python, shlex.split(os.environ.get("TESTS", "")))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
