"""Results are shared while they come and kept when they are there."""

import asyncio
import sqlite3
import threading
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from tensor_anatomy.errors import PoolBusy
from tensor_anatomy.lessons.catalog import load
from tensor_anatomy.results import Shared, Store, code_fingerprint, key_of
from tensor_anatomy.results.sharing import is_repeatable
from tensor_anatomy.schema import Outcome, Trace, TraceRequest
from tensor_anatomy.settings import Settings

LIMITS = Settings().limits


@pytest.fixture(scope="module")
def trace() -> Trace:
    catalog = load()
    program = catalog.program("one-storage.transpose")
    assert program is not None
    return catalog.recordings.read(program)


class Runs:
    """Yields two words and a trace, as fast as the test lets it."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.started = 0
        self.ended = 0
        self.may_go_on = asyncio.Event()
        self.fails: Exception | None = None

    async def stream(self, request: TraceRequest, *, client: str = "") -> AsyncGenerator[str | Trace, None]:
        self.started += 1
        try:
            yield "first"
            await self.may_go_on.wait()
            if self.fails:
                raise self.fails
            yield "second"
            yield self.trace.model_copy(update={"source": request.source})
        finally:
            self.ended += 1


def request(source: str = "x = 1", seed: int = 0) -> TraceRequest:
    return TraceRequest(source=source, device="cpu", seed=seed)


def key(asked: TraceRequest) -> str:
    return key_of(asked, LIMITS, torch="2.13.0", code="abc")


def outcome(kind: str, reason: str | None = None) -> Outcome:
    return Outcome.model_construct(kind=kind, reason=reason)


async def test_a_thousand_readers_of_one_program_cost_one_run(trace):
    runs = Runs(trace)
    runs.may_go_on.set()
    shared: Shared[str | Trace] = Shared(runs, key, None)
    traces = await asyncio.gather(*(shared.run(request()) for _ in range(1000)))
    assert runs.started == runs.ended == 1
    assert {t.source for t in traces} == {"x = 1"}


async def test_other_numbers_other_programs_and_other_devices_are_runs_of_their_own(trace):
    runs = Runs(trace)
    runs.may_go_on.set()
    shared: Shared[str | Trace] = Shared(runs, key, None)
    await asyncio.gather(*(shared.run(r) for r in (request(), request(seed=1), request("x = 2"))))
    assert runs.started == 3


async def test_who_comes_late_hears_everything_from_the_start(trace):
    runs = Runs(trace)
    shared: Shared[str | Trace] = Shared(runs, key, None)
    early = shared.stream(request())
    assert await anext(early) == "first"
    late = shared.stream(request())
    assert await anext(late) == "first"
    runs.may_go_on.set()
    assert [p if isinstance(p, str) else "trace" async for p in late] == ["second", "trace"]
    assert [p if isinstance(p, str) else "trace" async for p in early] == ["second", "trace"]
    assert runs.started == 1


async def test_a_run_outlives_the_reader_who_started_it_and_ends_with_the_last(trace):
    runs = Runs(trace)
    shared: Shared[str | Trace] = Shared(runs, key, None)
    first, second = shared.stream(request()), shared.stream(request())
    await anext(first)
    await anext(second)
    await first.aclose()
    assert runs.ended == 0
    await second.aclose()
    assert runs.ended == 1
    # and the next one gets a run of its own, not the corpse of that one
    runs.may_go_on.set()
    assert (await shared.run(request())).source == "x = 1"
    assert runs.started == 2


async def test_a_refusal_reaches_everybody_who_waits_and_is_not_kept(trace, tmp_path):
    runs = Runs(trace)
    runs.fails = PoolBusy(3, 5)
    runs.may_go_on.set()
    shared: Shared[str | Trace] = Shared(runs, key, Store.open(tmp_path, most_bytes=1 << 20))
    said = await asyncio.gather(*(shared.run(request()) for _ in range(3)), return_exceptions=True)
    assert [type(e) for e in said] == [PoolBusy] * 3
    runs.fails = None
    assert (await shared.run(request())).source == "x = 1"


async def test_what_was_kept_needs_no_run_also_after_a_restart(trace, tmp_path):
    runs = Runs(trace)
    runs.may_go_on.set()
    counted: list[str] = []
    store = Store.open(tmp_path, most_bytes=1 << 20)
    shared: Shared[str | Trace] = Shared(runs, key, store, counted.append)
    first = await shared.run(request())
    while store.read(key(request())) is None:
        await asyncio.sleep(0.01)
    store.close()
    again: Shared[str | Trace] = Shared(runs, key, Store.open(tmp_path, most_bytes=1 << 20), counted.append)
    assert await again.run(request()) == first
    assert runs.started == 1
    assert counted == ["run", "kept"]


async def test_what_is_on_its_way_to_the_disk_is_known_already(trace, tmp_path, monkeypatch):
    runs = Runs(trace)
    runs.may_go_on.set()
    store = Store.open(tmp_path, most_bytes=1 << 20)
    may_write = threading.Event()
    write = store.write
    monkeypatch.setattr(store, "write", lambda *what: (may_write.wait(5), write(*what)))
    shared: Shared[str | Trace] = Shared(runs, key, store)
    first = await shared.run(request())
    while runs.ended == 0:
        await asyncio.sleep(0)
    assert await shared.run(request()) == first
    assert runs.started == 1
    may_write.set()


async def test_without_a_name_nothing_is_shared(trace):
    runs = Runs(trace)
    runs.may_go_on.set()
    shared: Shared[str | Trace] = Shared(runs, lambda _request: None, None)
    await asyncio.gather(*(shared.run(request()) for _ in range(3)))
    assert runs.started == 3


@pytest.mark.parametrize(
    ("kind", "reason", "kept"),
    [
        ("finished", None, True),
        ("raised", None, True),
        ("raised", "denied", True),
        ("raised", "memory-limit", False),
        ("stopped", "step-limit", True),
        ("stopped", "time-limit", False),
        ("stopped", "memory-limit", False),
        ("stopped", "output-limit", False),
        ("crashed", "signal", False),
        ("crashed", "invalid-reply", False),
    ],
)
def test_what_depends_on_the_day_is_never_kept(kind, reason, kept):
    assert is_repeatable(outcome(kind, reason)) is kept


def test_the_longest_unused_are_forgotten_when_room_is_needed(trace, tmp_path):
    store = Store.open(tmp_path, most_bytes=1 << 30)
    store.write("a", trace)
    size = store.size_bytes()
    store.close()
    store = Store.open(tmp_path, most_bytes=2 * size + size // 2)
    store.write("b", trace)
    assert store.read("a") is not None  # used again, so b is now the oldest
    store.write("c", trace)
    assert (store.read("a"), store.read("b"), store.read("c")) == (trace, None, trace)
    assert store.size_bytes() <= 2 * size + size // 2


@pytest.mark.parametrize("damage", [b"", b"not zlib", b"x\x9c\x03\x00\x00\x00\x00\x01"])
def test_bytes_that_are_no_trace_are_forgotten_not_believed(trace, tmp_path, damage):
    store = Store.open(tmp_path, most_bytes=1 << 20)
    store.write("a", trace)
    with sqlite3.connect(tmp_path / "results.sqlite") as database:
        database.execute("update results set trace = ?", (damage,))
    assert store.read("a") is None
    assert store.size_bytes() == 0


def test_a_folder_that_cannot_be_written_keeps_nothing_and_breaks_nothing(tmp_path):
    (tmp_path / "file").write_text("")
    assert Store.open(tmp_path / "file" / "below", most_bytes=1 << 20) is None
    (tmp_path / "results.sqlite").write_bytes(b"this is no database" * 100)
    assert Store.open(tmp_path, most_bytes=1 << 20) is None


def test_a_store_that_breaks_later_costs_no_answer(trace, tmp_path):
    store = Store.open(tmp_path, most_bytes=1 << 20)
    store.write("a", trace)
    with sqlite3.connect(tmp_path / "results.sqlite") as database:
        database.execute("drop table results")
    assert store.read("a") is None
    store.write("a", trace)


def test_the_name_of_a_result_depends_on_all_that_it_depends_on():
    base = key(request())
    assert base != key(request(seed=1))
    assert base != key(request("x = 2"))
    assert base != key_of(request(), LIMITS, torch="2.14.0", code="abc")
    assert base != key_of(request(), LIMITS, torch="2.13.0", code="abd")
    assert base != key_of(request(), LIMITS.model_copy(update={"steps_kept": 7}), torch="2.13.0", code="abc")
    assert base == key(request())


def test_a_change_of_code_or_of_a_sentence_changes_the_fingerprint(tmp_path: Path):
    (tmp_path / "messages").mkdir()
    (tmp_path / "a.py").write_text("1")
    (tmp_path / "messages" / "en.json").write_text("{}")
    before = code_fingerprint(tmp_path)
    (tmp_path / "messages" / "en.json").write_text('{"a": "b"}')
    between = code_fingerprint(tmp_path)
    (tmp_path / "a.py").rename(tmp_path / "b.py")
    assert len({before, between, code_fingerprint(tmp_path)}) == 3
