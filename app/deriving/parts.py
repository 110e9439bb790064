"""What a worker finds out about a trace, in the three parts in which it is found out, and how it is sent."""

import struct

from ..schema import Explanation, FxDrawing, GraphDrawing, Note, Sentence
from ..schema.base import Record
from ..schema.comparison import Comparison

EXPLAINING_S = 0.6
"""Processor time after which the rest of the steps of a light trace is not put into words."""

PATIENTLY_EXPLAINING_S = 2.5
"""The same in a worker: a long loop of honest training takes 1.5 s."""

LENGTH = struct.Struct("<I")
"""What goes before a trace and before each part: its length in bytes."""


class Meaning(Record):
    """What `explain` adds to a trace."""

    explanation: Explanation | None
    notes: tuple[Note, ...]
    sentences: tuple[Sentence, ...]
    said: tuple[tuple[int, ...], ...]
    comparison: Comparison


class Compiled(Record):
    """Where the graphs of `torch.compile` are drawn."""

    fx_graphs: tuple[FxDrawing, ...]


class Graph(Record):
    """Where the graph of autograd is drawn."""

    graph: GraphDrawing | None


PARTS: tuple[type[Record], ...] = (Meaning, Compiled, Graph)
