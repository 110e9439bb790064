"""Makes `build/peers/`: the tools that are measured beside ours, with the locked torch and without us.

    python tools/peers.py

prints the environment's Python. A second run with the same list does nothing. Standard library only.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

from environment import LOCK, QUIET
from stamp import ROOT, digest, is_current, mark

FOLDER = ROOT / "build" / "peers"
LIST = ROOT / "benchmarks" / "peers.txt"


def make() -> Path:
    """Make the environment where it is missing or the list changed; its Python.

    Raises:
        subprocess.CalledProcessError: pip could not install it; it has said why.
    """
    python = FOLDER / "bin" / "python"
    index = os.environ.get("TORCH_INDEX", "")
    key = digest([LIST, LOCK], index, str(ROOT))
    if is_current(FOLDER / ".stamp", key):
        return python
    torch = next(line for line in LOCK.read_text().splitlines() if re.match(r"torch==", line))
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(FOLDER)], check=True)
    pip = [str(python), "-m", "pip", "install", *QUIET]
    extra = ["--extra-index-url", index] if index else []
    subprocess.run([*pip, *extra, torch, "-r", str(LIST)], check=True, stdout=sys.stderr)
    mark(FOLDER / ".stamp", key)
    return python


if __name__ == "__main__":
    print(make())
