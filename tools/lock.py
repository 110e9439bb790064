"""Writes requirements.lock: one exact version for every Python package, those of tests too.

    make lock

asks pip what it would install for pyproject.toml's dependencies in an empty environment on
Python 3.11, the oldest we support. It does not install. Left out are the packages that torch's
CUDA build needs on Linux: which of them depends on the machine, and torch itself pins them.
The lock has no hashes and no addresses, so that it also works beside a mirror or a local wheel.
"""

import json
import subprocess
import sys
import tomllib

from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from stamp import ROOT

LOCK = ROOT / "requirements.lock"

TORCH = "torch==2.13.0"
"""The release whose behaviour lessons and tests are checked on."""

TORCHS_OWN = ("nvidia-", "cuda-", "triton")

HEADER = f"""\
# Every Python package of the project at one exact version. Written by `make lock`; do not edit.
# Installed with dependencies (no --no-deps): {TORCH} adds what its build needs on this platform.
"""


def wanted() -> list[Requirement]:
    """Return the direct dependencies, for running and for tests."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return [
        Requirement(line) for line in (*project["dependencies"], *project["optional-dependencies"]["dev"])
    ]


def resolved(requirements: list[Requirement]) -> dict[str, str]:
    """Return the version of each package pip would install, by normalised name."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    command += ["--dry-run", "--ignore-installed", "--report", "-", TORCH]
    command += [str(requirement) for requirement in requirements]
    report = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    packages = (item["metadata"] for item in report["install"])
    return {str(canonicalize_name(package["name"])): package["version"] for package in packages}


def locked(requirements: list[Requirement], versions: dict[str, str]) -> list[str]:
    """Return the lock's lines; a dependency that is for one platform only stays so."""
    markers = {str(canonicalize_name(r.name)): str(r.marker) for r in requirements if r.marker}
    return [
        # A local label (2.13.0+cpu) names one index's build; the plain version matches all of them.
        f"{name}=={version.partition('+')[0]}" + (f"; {markers[name]}" if name in markers else "")
        for name, version in sorted(versions.items())
        if not name.startswith(TORCHS_OWN)
    ]


def main() -> None:
    """Write the lock."""
    if default_environment()["python_version"] != "3.11" or sys.platform != "linux":
        raise SystemExit("Lock on Linux with Python 3.11, the oldest we support.")
    requirements = wanted()
    LOCK.write_text(HEADER + "\n".join(locked(requirements, resolved(requirements))) + "\n")
    print(f"wrote {LOCK.name}; `make setup` installs it")


if __name__ == "__main__":
    main()
