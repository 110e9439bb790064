"""Whose turn it is: slots for programs that run, places for those that wait, shared fairly between clients.

Turns go round: of the clients that wait, the one with the fewest programs running is next, then the one that
has waited longest for a turn. When the queue is full, a newcomer takes the last place of a client that holds
several. One slot in reserve is for a client that has nothing running while another one holds every slot, so
that no client keeps all others out, not even for the length of a run. Who a client is, is not known here.
"""

import asyncio
import heapq
import math
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from ..errors import PoolBusy

MOST_RETRY_S = 30

_FIRST_GUESS_S = 0.1
_WEIGHT = 0.1

_Turn = asyncio.Future[int]


class Turns:
    """Gives out slots, numbered from 0.

    Args:
        slots: Programs that run at the same time.
        places: Requests that may wait.
        per_client: Requests of one client that may wait.
        reserve: One slot more, for a client that would have to wait for one other client alone.
    """

    def __init__(
        self, slots: int, places: int, *, per_client: int | None = None, reserve: bool = False
    ) -> None:
        self.slots = slots
        self.places = places
        self.per_client = places if per_client is None else min(per_client, places)
        self.evicted = 0
        """Requests that gave up their place in the queue to another client."""
        self._free = list(range(slots))
        self._in_reserve = [slots] if reserve else []
        self._running: Counter[str] = Counter()
        self._queues: OrderedDict[str, list[_Turn]] = OrderedDict()
        self._takes_s = _FIRST_GUESS_S
        self._closed: BaseException | None = None

    @property
    def running(self) -> int:
        """Slots that are taken."""
        return self._running.total()

    @property
    def waiting(self) -> int:
        """Requests that wait."""
        return sum(len(queue) for queue in self._queues.values())

    def close(self, error: BaseException) -> None:
        """Refuse who waits, and who comes from now on; who has a slot keeps it."""
        self._closed = error
        for queue in self._queues.values():
            for turn in queue:
                _refuse(turn, error)
        self._queues.clear()

    @asynccontextmanager
    async def turn(self, client: str) -> AsyncIterator[int]:
        """Wait for a slot and hold it.

        Raises:
            PoolBusy: The queue is full, or this client's share of it.
        """
        slot = await self._taken(client)
        began = asyncio.get_running_loop().time()
        try:
            yield slot
        finally:
            self._takes_s += _WEIGHT * (asyncio.get_running_loop().time() - began - self._takes_s)
            self._give_back(slot, client)

    async def _taken(self, client: str) -> int:
        if self._closed is not None:
            raise self._closed
        mine = self._running[client]
        if all(self._running[other] > mine for other in self._queues):
            slot = self._slot_for(client)
            if slot is not None:
                return self._take(slot, client)
        turn = self._queue_up(client)
        self._hand_out()
        try:
            return await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled() and turn.exception() is None:
                self._give_back(turn.result(), client)  # it was given in the moment its client left
            raise
        finally:
            self._forget(client, turn)

    def _queue_up(self, client: str) -> _Turn:
        mine = len(self._queues.get(client, ()))
        # Nothing has been taken yet, so a refusal has nothing to give back.
        if self.places and mine >= self.per_client and self.per_client < self.places:
            raise PoolBusy(mine, self._retry_s(), of_yours=self.per_client)
        if self.waiting >= self.places:
            longest = max(self._queues, key=lambda name: len(self._queues[name]), default=client)
            if longest == client or len(self._queues[longest]) < mine + 2:
                raise PoolBusy(self.waiting, self._retry_s())
            self.evicted += 1
            last = self._queues[longest][-1]
            _refuse(last, PoolBusy(self.waiting, self._retry_s(), of_yours=len(self._queues[longest])))
            self._forget(longest, last)
        turn: _Turn = asyncio.get_running_loop().create_future()
        self._queues.setdefault(client, []).append(turn)
        return turn

    def _hand_out(self) -> None:
        """Give what is free to who is next."""
        while self._queues:
            client = min(self._queues, key=lambda name: self._running[name])  # the first of equals
            slot = self._slot_for(client)
            if slot is None:
                return
            turn = self._queues[client][0]
            self._forget(client, turn)
            if client in self._queues:
                self._queues.move_to_end(client)
            if turn.done():
                heapq.heappush(self._free if slot < self.slots else self._in_reserve, slot)
                continue
            turn.set_result(self._take(slot, client))

    def _slot_for(self, client: str) -> int | None:
        """A slot that this client may have now, taken off the free ones."""
        if self._free:
            return heapq.heappop(self._free)
        alone = len(+self._running) == 1 and not self._running[client]
        return self._in_reserve.pop() if alone and self._in_reserve else None

    def _take(self, slot: int, client: str) -> int:
        self._running[client] += 1
        return slot

    def _give_back(self, slot: int, client: str) -> None:
        self._running[client] -= 1
        if not self._running[client]:
            del self._running[client]
        heapq.heappush(self._free if slot < self.slots else self._in_reserve, slot)
        self._hand_out()

    def _forget(self, client: str, turn: _Turn) -> None:
        queue = self._queues.get(client)
        if queue is not None and turn in queue:
            queue.remove(turn)
            if not queue:
                del self._queues[client]

    def _retry_s(self) -> int:
        """When there should be room: as long as those who wait will take, at the pace of late."""
        return max(1, min(MOST_RETRY_S, math.ceil(self.waiting * self._takes_s / self.slots)))


def _refuse(turn: _Turn, error: BaseException) -> None:
    if not turn.done():
        turn.set_exception(error)
