"""Which visit of a `with` header enters its block and which leaves it: read off the bytecode.

Python reports the header's line twice, and again for each round of a loop. Whether a visit enters can be
told by what runs next on the header: evaluating it ends in the instruction that enters the block.
"""

import dis
from typing import Any

_ENTERS = frozenset(
    dis.opmap[name] for name in ("BEFORE_WITH", "BEFORE_ASYNC_WITH", "LOAD_SPECIAL") if name in dis.opmap
)


def leaves_block(code: Any, lasti: int, first: int, last: int) -> bool:
    """The instructions from `lasti` on leave the block of the `with` statement on lines `first` to `last`."""
    instructions = code.co_code
    for index, (line, *_) in enumerate(code.co_positions()):
        if 2 * index < lasti:
            continue
        if line is not None and not first <= line <= last:
            return True
        if instructions[2 * index] in _ENTERS:
            return False
    return True
