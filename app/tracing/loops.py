"""Which iteration of which loop runs: in every frame, and of calls that one statement makes again and again.

A `for` header runs before each iteration, a `while` header too, at the foot of the loop; the header of
`while True` may run once. Within a frame an iteration therefore begins with the header further on in the
bytecode than at first, or with the first line of the body once more. Past the limit each new iteration after
the third is handed to `Folding`. What a loop does is not known here.
"""

from typing import TYPE_CHECKING

from .folding import KEPT_ITERATIONS, Folding, Region

if TYPE_CHECKING:
    from .lines import OpenStep


class Loop:
    """A loop that runs.

    Args:
        header: Its statement; None for calls made by one execution of a statement.
        lasti: Where its first header stands in the bytecode.
    """

    __slots__ = ("body_lasti", "entry_lasti", "header", "header_ran", "iteration", "region")

    def __init__(self, header: int | None, lasti: int) -> None:
        self.header = header
        self.entry_lasti = lasti
        self.body_lasti = -1
        self.header_ran = True
        self.iteration = 1
        self.region: Region | None = None


class Loops:
    """Follows loops.

    Args:
        loops_of: Per statement the headers of the loops around it.
        folding: Takes iterations past the limit.
    """

    def __init__(self, loops_of: list[tuple[int, ...]], folding: Folding) -> None:
        self._loops_of = loops_of
        self._folding = folding

    def arrive(self, active: list[Loop], statement: int, lasti: int) -> None:
        """A statement of a frame begins; `active` are the frame's loops, outermost first."""
        chain = self._loops_of[statement]
        for i, header in enumerate(chain):
            if i < len(active) and active[i].header == header:
                loop = active[i]
                if header == statement:
                    if lasti > loop.entry_lasti:
                        self.leave(active, i + 1)
                        self._next(loop)
                        loop.header_ran = True
                    else:
                        self.leave(active, i)
                        active.append(Loop(header, lasti))
                elif lasti == loop.body_lasti:
                    if not loop.header_ran:
                        self.leave(active, i + 1)
                        self._next(loop)
                    loop.header_ran = False
                elif loop.body_lasti < 0:
                    loop.body_lasti = lasti
                    loop.header_ran = False
            else:
                self.leave(active, i)
                active.append(Loop(header, lasti))
        if len(active) > len(chain):
            self.leave(active, len(chain))

    def called(self, step: "OpenStep", code: object) -> None:
        """A function of the program is entered, or a generator goes on, while a statement runs."""
        calls = step.calls
        if calls is None:
            calls = step.calls = Loop(None, -1)
            step.called = {code}
        elif code in step.called:
            step.called = {code}
            self._next(calls)
        else:
            step.called.add(code)

    def ended(self, step: "OpenStep") -> None:
        """A statement is about to end."""
        if step.calls is not None and step.calls.region is not None:
            self._folding.close(step.calls.region)

    def leave(self, active: list[Loop], depth: int = 0) -> None:
        """Loops are over: those of a frame from `depth` on."""
        if len(active) > depth:
            for loop in active[depth:]:
                if loop.region is not None:
                    self._folding.close(loop.region)
                    break
            del active[depth:]

    def _next(self, loop: Loop) -> None:
        loop.iteration += 1
        if loop.region is not None:
            self._folding.next(loop.region)
        elif loop.iteration > KEPT_ITERATIONS and self._folding.wanted:
            loop.region = self._folding.open(loop.header, loop.iteration)
