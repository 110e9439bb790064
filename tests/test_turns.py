"""Clients take turns: nobody takes all slots or all of the queue, and nothing idles while somebody waits."""

import asyncio
from contextlib import AsyncExitStack

import pytest
from tensor_anatomy.errors import PoolBusy, SandboxRestarting
from tensor_anatomy.execution import Turns


class Client:
    """Asks for slots under a name, and notes in which order clients get them."""

    def __init__(self, turns: Turns, name: str, order: list[str]) -> None:
        self._turns, self._name, self._order = turns, name, order
        self._may_end = asyncio.Event()
        self.slots: list[int] = []
        self.tasks: list[asyncio.Task[None]] = []

    async def asks(self, times: int = 1) -> "Client":
        for _ in range(times):
            self.tasks.append(asyncio.create_task(self._hold()))
            await asyncio.sleep(0)
        await settled()
        return self

    async def _hold(self) -> None:
        async with self._turns.turn(self._name) as slot:
            self._order.append(self._name)
            self.slots.append(slot)
            await self._may_end.wait()

    async def ends(self) -> None:
        self._may_end.set()
        await settled()

    @property
    def refused(self) -> list[BaseException]:
        return [e for task in self.tasks if task.done() and (e := task.exception()) is not None]


async def settled() -> None:
    for _ in range(8):
        await asyncio.sleep(0)


@pytest.fixture
def order() -> list[str]:
    return []


async def test_turns_go_round_between_clients(order):
    turns = Turns(1, 9)
    clients = {name: Client(turns, name, order) for name in ("first", "a", "b", "c")}
    await clients["first"].asks()
    for name, times in (("a", 3), ("b", 2), ("c", 1)):
        await clients[name].asks(times)
    for client in clients.values():
        client._may_end.set()
    await asyncio.gather(*(task for client in clients.values() for task in client.tasks))
    assert order == ["first", "a", "b", "c", "a", "b", "a"]
    assert (turns.running, turns.waiting) == (0, 0)


async def test_the_client_with_less_running_is_next(order):
    turns = Turns(2, 9)
    greedy, modest = Client(turns, "greedy", order), Client(turns, "modest", order)
    await greedy.asks(4)
    await modest.asks()
    assert order == ["greedy", "greedy"]
    async with AsyncExitStack() as stack:
        stack.push_async_callback(modest.ends)
        greedy.tasks[0].cancel()
        await settled()
        assert order[2:] == ["modest"]
    await greedy.ends()


async def test_a_client_may_use_every_slot_while_nobody_else_asks(order):
    turns = Turns(3, 9, reserve=True)
    client = await Client(turns, "a", order).asks(5)
    assert (turns.running, turns.waiting, sorted(client.slots)) == (3, 2, [0, 1, 2])
    await client.ends()
    assert turns.running == 0


async def test_another_client_does_not_wait_for_one_that_holds_every_slot(order):
    turns = Turns(2, 9, reserve=True)
    greedy = await Client(turns, "greedy", order).asks(6)
    other = await Client(turns, "other", order).asks()
    assert other.slots == [2]
    # once only: the reserve is one slot, and not for who runs already
    await other.asks()
    third = await Client(turns, "third", order).asks()
    assert (other.slots, third.slots, turns.running) == ([2], [], 3)
    await other.ends()
    await third.ends()
    await greedy.ends()
    assert (turns.running, turns.waiting) == (0, 0)
    assert await Client(turns, "greedy", order).asks(3)
    assert turns.running == 2  # and the reserve has gone back to where it was


@pytest.mark.parametrize("places", [0, 1, 4])
async def test_who_finds_no_place_is_refused_every_time_and_takes_nothing(order, places):
    turns = Turns(1, places)
    client = await Client(turns, "a", order).asks(1 + places)
    for n in range(1, 4):
        await client.asks()
        assert [type(e) for e in client.refused] == [PoolBusy] * n
    await client.ends()
    assert (turns.running, turns.waiting) == (0, 0)
    assert len(order) == 1 + places


async def test_a_client_has_its_share_of_the_queue_and_is_told_so(order):
    turns = Turns(1, 8, per_client=3)
    greedy = await Client(turns, "greedy", order).asks(10)
    assert (turns.waiting, len(greedy.refused)) == (3, 6)
    refusal = greedy.refused[0]
    assert isinstance(refusal, PoolBusy) and refusal.limit == 3 and "your address" in refusal.message
    assert 1 <= refusal.retry_after_s <= 30
    other = await Client(turns, "other", order).asks(2)
    assert (turns.waiting, other.refused) == (5, [])
    await greedy.ends()
    await other.ends()


async def test_a_full_queue_makes_room_for_a_client_that_has_nothing_in_it(order):
    turns = Turns(1, 4, per_client=3)
    a, b = await Client(turns, "a", order).asks(3), await Client(turns, "b", order).asks(2)
    assert turns.waiting == 4
    c = await Client(turns, "c", order).asks(2)
    assert (c.refused, turns.waiting, turns.evicted) == ([], 4, 2) or len(c.refused) == 1
    assert len(a.refused) + len(b.refused) == turns.evicted >= 1
    assert all("your address" in str(e) for e in a.refused + b.refused)
    for client in (a, b, c):
        await client.ends()
    assert {"a", "b", "c"} == set(order)
    assert (turns.running, turns.waiting) == (0, 0)


async def test_who_leaves_the_queue_gives_the_place_back_even_in_the_moment_of_the_turn(order):
    turns = Turns(1, 2)
    first, second, third = [await Client(turns, name, order).asks() for name in ("a", "b", "c")]
    first._may_end.set()
    await asyncio.sleep(0)  # the turn is b's now, and b has not woken
    second.tasks[0].cancel()
    await settled()
    assert order == ["a", "c"]
    await third.ends()
    assert (turns.running, turns.waiting) == (0, 0)


async def test_when_it_closes_who_waits_is_told_and_who_runs_goes_on(order):
    turns = Turns(1, 4)
    client = await Client(turns, "a", order).asks(3)
    turns.close(SandboxRestarting())
    await settled()
    assert [type(e) for e in client.refused] == [SandboxRestarting] * 2
    with pytest.raises(SandboxRestarting):
        async with turns.turn("b"):
            pass
    assert turns.running == 1
    await client.ends()
    assert turns.running == 0


async def test_when_to_come_again_follows_how_long_runs_take(monkeypatch, order):
    now = 0.0
    loop = asyncio.get_running_loop()
    monkeypatch.setattr(loop, "time", lambda: now)
    turns = Turns(1, 1)
    asked = []
    for _ in range(40):
        async with turns.turn("a"):
            now += 5.0
    async with turns.turn("a"):
        waits = asyncio.create_task(turns._taken("b"))
        await asyncio.sleep(0)
        with pytest.raises(PoolBusy) as refusal:
            await turns._taken("c")
        asked.append(refusal.value.retry_after_s)
        waits.cancel()
        await asyncio.gather(waits, return_exceptions=True)
    assert asked == [5]


async def test_a_thousand_requests_of_ten_clients_all_end_and_leave_nothing(order):
    turns = Turns(3, 40, per_client=20, reserve=True)
    ends: list[str] = []
    most = 0

    async def ask(name: str, number: int) -> None:
        nonlocal most
        await asyncio.sleep(number % 7 / 500)
        try:
            async with asyncio.timeout(0.002 if number % 5 == 0 else 10), turns.turn(name):
                most = max(most, turns.running)
                await asyncio.sleep(0.001)
                ends.append("ran")
        except PoolBusy:
            ends.append("refused")
        except TimeoutError:
            ends.append("left")

    await asyncio.gather(*(ask(str(i % 10), i) for i in range(1000)))
    assert len(ends) == 1000 and ends.count("ran") > 10
    assert most <= 4
    assert (turns.running, turns.waiting) == (0, 0)
    assert (sorted(turns._free), turns._in_reserve) == ([0, 1, 2], [3])
