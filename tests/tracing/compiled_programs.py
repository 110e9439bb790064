"""Programs that compile: functions and modules, breaks of each common kind, reasons to compile again.

Each says what PyTorch is expected to do in it. Backends are those that need no C++ compiler.
"""

import json
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Program:
    """A program and what is told of it."""

    title: str
    source: str
    graphs: int
    """Graphs captured, recompilations included."""

    breaks: list[list[int | str]]
    """Line and kind of each graph break."""

    again: list[list[str]]
    """What differed, and of which variable, for each recompilation."""

    outcomes: list[str]
    """What became of each compilation."""

    error: str | None
    """Class of the error the program ends with."""

    slow: bool


FILE = Path(__file__).parent.parent / "data" / "compiled.jsonl"
PROGRAMS = {
    row["title"]: Program(**row) for row in map(json.loads, FILE.read_text(encoding="utf-8").splitlines())
}


def eager(body: str) -> str:
    """A program whose functions marked with `@c` are compiled eagerly."""
    return f'import torch\nc = torch.compile(backend="eager")\n{body}'
