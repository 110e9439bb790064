"""A server looks through everything it holds when nobody waits; meanwhile it looks at what is new."""

import asyncio
import gc
import weakref
from collections.abc import Callable, Iterator

import pytest
from tensor_anatomy import tidying
from tensor_anatomy.tidying import look, look_at_new, tidied


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    yield
    gc.unfreeze()
    gc.collect()


class Circle:
    """Garbage that refers to itself."""

    def __init__(self) -> None:
        self.own = self


def aside() -> "weakref.ref[Circle]":
    """A circle that was alive when everything was set aside, and is garbage now."""
    circle = Circle()
    gone = weakref.ref(circle)
    gc.freeze()
    del circle
    assert gone() is not None
    return gone


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not true():
            await asyncio.sleep(0.002)


async def test_a_server_looks_through_everything_only_when_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []
    monkeypatch.setattr(tidying, "_EVERY_S", 0.001)
    monkeypatch.setattr(tidying, "_LATEST", 10_000_000)
    monkeypatch.setattr(tidying, "_IDLE", 1e9)
    monkeypatch.setattr(tidying, "look", lambda: looked.append("all"))
    monkeypatch.setattr(tidying, "look_at_new", lambda: looked.append("new"))
    may = False
    async with tidied(lambda: may):
        await until(lambda: len(looked) > 5)
        assert set(looked[1:]) == {"new"}
        may = True
        await until(lambda: looked[-1] == "all")
        at_rest = len(looked)
        for _ in range(20):
            await asyncio.sleep(0.002)
        assert len(looked) == at_rest  # nothing has come since


async def test_a_server_that_is_never_idle_looks_through_everything_at_last(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked: list[str] = []
    monkeypatch.setattr(tidying, "_EVERY_S", 0.001)
    monkeypatch.setattr(tidying, "_LATEST", 3)
    monkeypatch.setattr(tidying, "look", lambda: looked.append("all"))
    monkeypatch.setattr(tidying, "look_at_new", lambda: looked.append("new"))
    async with tidied(lambda: False):
        await until(lambda: len(looked) > 9)
    assert looked[:9] == ["all", *["new"] * 3, "all", *["new"] * 3, "all"]


def test_what_a_busy_server_has_looked_at_it_does_not_look_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tidying, "MOST_NEW", 10_000_000)
    held = [[number] for number in range(200_000)]
    assert len(gc.get_objects()) > len(held)
    look_at_new()
    assert len(gc.get_objects()) < 1_000
    new = weakref.ref(Circle())
    look_at_new()
    assert new() is None
    assert held[-1] == [199_999]


def test_much_that_is_new_is_not_looked_at_while_others_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[int] = []
    monkeypatch.setattr(tidying.gc, "collect", lambda: looked.append(1))
    gc.freeze()
    look_at_new()
    assert looked == [1]
    held = [[number] for number in range(tidying.MOST_NEW + 10)]
    look_at_new()
    assert looked == [1]
    assert len(gc.get_objects()) < 1_000
    assert held


def test_what_was_set_aside_is_found_once_the_server_is_idle() -> None:
    gone = aside()
    look()
    assert gone() is not None
    gc.unfreeze()
    look()
    assert gone() is None
