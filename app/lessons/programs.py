"""A program of a lesson or of the playground, and the name under which its trace is recorded.

The name holds a hash of the source: a recorded trace of an older program is not found, so it can't be
shown beside the new one.
"""

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from ..schema import Trace

HASH_CHARACTERS = 12


class TraceMissing(LookupError):
    """A program has no recorded trace, or only one of an older version. `make record` writes it."""


@dataclass(frozen=True)
class Program:
    """A program whose trace is recorded."""

    lesson: str
    """Slug of its lesson; `examples` for the playground's."""

    name: str
    """Its own slug."""

    source: str
    """Python."""

    @property
    def key(self) -> str:
        """`one-storage.transpose`: how addresses name it."""
        return f"{self.lesson}.{self.name}"

    @property
    def file_name(self) -> str:
        """Name of the file with its trace, the same in addresses.

        >>> Program("one-storage", "slice", "x = 1").file_name
        'one-storage.slice.8ff436def145.json'
        """
        digest = hashlib.sha256(self.source.encode()).hexdigest()[:HASH_CHARACTERS]
        return f"{self.key}.{digest}.json"


@dataclass(frozen=True)
class Recordings:
    """The folder of recorded traces."""

    folder: Path

    def read(self, program: Program) -> Trace:
        """The trace of a program.

        Raises:
            TraceMissing: It was not recorded since the program changed.
        """
        path = self.folder / program.file_name
        if not path.is_file():
            raise TraceMissing(f"{program.file_name} is missing: run `make record`")
        return _read(path, path.stat().st_mtime_ns)

    def write(self, program: Program, trace: Trace) -> Path:
        """Write the trace of a program, and remove older ones of it."""
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / program.file_name
        for old in self.folder.glob(f"{program.key}.*.json"):
            if old != path:
                old.unlink()
        path.write_text(trace.model_dump_json(by_alias=True) + "\n", encoding="utf-8")
        return path


def comparable(trace: Trace) -> dict[str, Any]:
    """A trace without what differs from run to run: the addresses of its storages."""
    plain = trace.model_dump(by_alias=True)
    for step in plain["steps"]:
        for event in step["events"]:
            if event["kind"] == "storage" and event["address"] != "0x0":
                event["address"] = "somewhere"
    return plain


@lru_cache(maxsize=256)
def _read(path: Path, _modified_ns: int) -> Trace:
    return Trace.model_validate_json(path.read_bytes())
