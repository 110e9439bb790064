"""Makes `.venv/`: the locked Python packages and the project itself, in editable form.

    python tools/environment.py

Run it with the Python that the environment shall have (3.11 or newer). A second run with the same
requirements.lock does nothing and needs no network. With TORCH_INDEX set, pip also looks there,
which on Linux gives the small CPU build of torch. Standard library only.
"""

import os
import subprocess
import sys

from stamp import ROOT, digest, is_current, mark

VENV = ROOT / ".venv"
STAMP = VENV / ".stamp"
LOCK = ROOT / "requirements.lock"

QUIET = ["-q", "--disable-pip-version-check", "--no-input"]


def main() -> None:
    """Make the environment where it is missing or its inputs changed."""
    # Somebody may well run it with an older one.
    if sys.version_info < (3, 11):  # noqa: UP036
        raise SystemExit(f"Python 3.11 or newer is needed, this is {sys.version.split()[0]}.")
    index = os.environ.get("TORCH_INDEX", "")
    # setup.py and pyproject.toml: the editable install holds their entry points and package names.
    inputs = [LOCK, ROOT / "pyproject.toml", ROOT / "setup.py"]
    key = digest(inputs, index, str(ROOT))
    if is_current(STAMP, key):
        return
    python = VENV / "bin" / "python"
    print(
        f"Python {sys.version.split()[0]}: installing requirements.lock into .venv (torch is large)",
        flush=True,
    )
    # Also over an existing one: the last attempt may have been interrupted half-way.
    subprocess.run([sys.executable, "-m", "venv", str(VENV)], check=True)
    pip = [str(python), "-m", "pip", "install", *QUIET]
    extra = ["--extra-index-url", index] if index else []
    # With dependencies, though all are pinned: which extra packages torch needs differs by platform.
    subprocess.run([*pip, *extra, "-r", str(LOCK)], check=True)
    # setuptools is locked too, so the project's own install downloads nothing. What it says is
    # for people who do not know that `app/` is renamed; it matters only when it fails.
    own = [*pip, "--no-build-isolation", "--no-deps", "-e", str(ROOT)]
    answer = subprocess.run(own, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if answer.returncode != 0:
        raise SystemExit(answer.stdout)
    mark(STAMP, key)


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as error:
        raise SystemExit(f"This failed, see above: {' '.join(map(str, error.cmd))}") from None
