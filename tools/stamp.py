"""Remembers what a set-up step was made from, so that the second time it does nothing.

A stamp is a file with a hash of a step's inputs: contents, not times, since a fresh clone gives
every file a new time. It lies inside what the step makes (`.venv/`, `node_modules/`,
`static/dist/`), so that removing the product removes the stamp.

It does not know any step; standard library only, because it runs before anything is installed.
"""

import hashlib
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def digest(paths: Iterable[Path], *extra: str) -> str:
    """Hash names and contents of files, all files below folders, and plain strings."""
    total = hashlib.sha256()
    for text in extra:
        total.update(f"{text}\0".encode())
    for path in sorted(_files(paths)):
        content = path.read_bytes()
        total.update(f"{path.relative_to(ROOT)}\0{len(content)}\0".encode())
        total.update(content)
    return total.hexdigest()


def is_current(stamp: Path, key: str) -> bool:
    """Say whether the step behind `stamp` was last done with the inputs of `key`."""
    return stamp.is_file() and stamp.read_text() == key


def mark(stamp: Path, key: str) -> None:
    """Record that the step is done. Call it last: a step that failed must run again."""
    stamp.write_text(key)


def _files(paths: Iterable[Path]) -> set[Path]:
    found: set[Path] = set()
    for path in paths:
        if path.is_dir():
            found.update(p for p in path.rglob("*") if p.is_file() and p.name[0] != ".")
        elif path.is_file():
            found.add(path)
    return found
