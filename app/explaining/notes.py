"""Quiet mistakes: programs that run and do something else than was meant."""

from ..schema import Note
from .circumstances import counted_references, unwatched
from .compiler import compiled_for_nothing
from .moment import Moments
from .program import Program
from .quiet_autograd import (
    crossed_differences,
    forgotten_zero_grads,
    kept_graphs,
    repeated_scatters,
    stale_optimizers,
    warned,
)
from .quiet_data import (
    alias_writes,
    dropped_results,
    kept_storages,
    lost_writes,
    overlapping_writes,
    repeated_modules,
)
from .quiet_devices import device_ping_pong

_SEARCHES = (
    alias_writes,
    lost_writes,
    overlapping_writes,
    kept_storages,
    repeated_modules,
    dropped_results,
    warned,
    crossed_differences,
    forgotten_zero_grads,
    kept_graphs,
    repeated_scatters,
    stale_optimizers,
    device_ping_pong,
    unwatched,
    counted_references,
    compiled_for_nothing,
)


def find_notes(moments: Moments) -> tuple[Note, ...]:
    """Look for quiet mistakes.

    Args:
        moments: The steps of the trace.

    Returns:
        Notes in the order of their lines, each class once per line.
    """
    program = Program(moments)
    found: dict[tuple[int, str], Note] = {}
    for search in _SEARCHES:
        for note in search(program):
            found.setdefault((note.line, note.class_), note)
    return tuple(found[key] for key in sorted(found))
