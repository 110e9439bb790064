"""Children that were forked and confined before there is a program for them, some for each slot.

A run that finds one does not wait for fork, walls and first page faults; that is most of a small program's
time. They are made while the pool is idle only: on a busy machine they would cost what they save. One
serves once. It is thrown away when it is old, when its zygote has gone, or when the limits asked for are
others. Nothing of a program reaches one before it has said that it is confined.
"""

import asyncio
import os
import socket
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Protocol

from .child import Child
from .order import Order

OLDEST_S = 60.0
"""Memory laid out alike for many runs is a help for attackers; and an idle server should be still."""

IDLE_S = 0.1
"""After the last run. Who asks again at once is served by a fork, as on a busy machine: to make a child ready
then would take the processor from that run, and on two busy cores cost it a quarter of its time."""


@dataclass
class Prepared:
    """A child that waits, and the pipe on which it waits."""

    child: Child
    request: int
    order: Order
    made_by: socket.socket
    made_s: float = field(default_factory=lambda: asyncio.get_running_loop().time())

    def __post_init__(self) -> None:
        self.child.attend()

    def given(self, request: bytes) -> Child:
        """The child, with its request, which it gets when it has said that it is confined."""
        self.child.give(self.request, request)
        return self.child

    def throw_away(self) -> None:
        """End it."""
        os.close(self.request)
        self.child.close()


class Forks(Protocol):
    """Has children forked."""

    def prepare(self, order: Order) -> Prepared | None:
        """Have a child forked that waits, confined, for a request; None where that cannot be just now."""
        ...

    def is_of_this_zygote(self, prepared: Prepared) -> bool:
        """Whether the zygote that forked it still lives."""
        ...


class Preparing:
    """Keeps a child ready for each slot while nothing runs.

    Args:
        zygote: Forks them.
        order: What a child is bounded by; its slot is set here.
        slots: How many slots.
        each: How many children for each slot: what a request needs, one after the other.
        is_idle: Whether nothing runs and nobody waits.
    """

    def __init__(
        self, zygote: Forks, order: Order, *, slots: int, each: int, is_idle: Callable[[], bool]
    ) -> None:
        self._zygote = zygote
        self._order = replace(order, waits=True)
        self._is_idle = is_idle
        self._each = each
        self._ready: dict[int, list[Prepared]] = {slot: [] for slot in range(slots)}
        self._next: asyncio.TimerHandle | None = None
        self._closed = False
        self.used = 0
        """Runs that found one."""

    @property
    def ready(self) -> int:
        """Children that wait; one that the system has ended meanwhile is not counted."""
        return sum(each.child.may_wait for children in self._ready.values() for each in children)

    def take(self, order: Order, request: bytes) -> Child | None:
        """A child of this slot, given this request; None where there is none fit for it."""
        children = self._ready.get(order.slot)
        while children:
            prepared = children.pop()
            if prepared.order == replace(order, waits=True) and self._is_fit(prepared):
                self.used += 1
                return prepared.given(request)
            prepared.throw_away()
        return None

    def idle(self) -> None:
        """Something ended: make ready what is missing, if nothing else comes."""
        if self._next is not None:
            self._next.cancel()
        if not self._closed:
            self._next = asyncio.get_running_loop().call_later(IDLE_S, self._fill)

    def close(self) -> None:
        """Throw all away."""
        self._closed = True
        if self._next is not None:
            self._next.cancel()
        for children in self._ready.values():
            while children:
                children.pop().throw_away()

    def _fill(self) -> None:
        loop = asyncio.get_running_loop()
        self._next = loop.call_later(OLDEST_S / 4, self._fill)
        for slot, children in self._ready.items():
            for prepared in list(children):
                if not self._is_fit(prepared):
                    children.remove(prepared)
                    prepared.throw_away()
            while self._is_idle() and len(children) < self._each:
                made = self._zygote.prepare(replace(self._order, slot=slot))
                if made is None:
                    return
                children.append(made)

    def _is_fresh(self, prepared: Prepared) -> bool:
        age_s = asyncio.get_running_loop().time() - prepared.made_s
        return self._zygote.is_of_this_zygote(prepared) and age_s < OLDEST_S

    def _is_fit(self, prepared: Prepared) -> bool:
        return prepared.child.may_wait and self._is_fresh(prepared)
