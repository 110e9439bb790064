"""Every attack is contained, and the checks that say so can fail.

One configuration whole, samples of the others; `make attacks` runs the whole matrix.
"""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from ..weakened import LAYER_CLASSES
from .__main__ import PLACES
from .campaign import Report, campaign
from .items import CANARY, Attack, attacks, class_of, faults
from .places import Place, standing

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

ALL = attacks()

_SAMPLE = """
    cpu-02 cpu-13 mem-02 mem-06 out-01 out-07 proc-04 proc-07 proc-16 proc-19
    corr-05 corr-06 fs-01 fs-03 fs-12 net-05 kern-01 kern-06 kern-11 kern-14
    tamper-01 tamper-12 tamper-13 torch-07 src-06 forge-01 hook-06 sig-03 end-01 bomb-08
    fd-01 fd-03 fd-07 fd-12 pickle-01 left-01 left-02 honest-01
"""

SAMPLE = [each for each in ALL if each.id in _SAMPLE]


def said(report: Report) -> str:
    return "\n".join(f"{who}: {'; '.join(what)}" for who, what in report.wrong.items())


def test_the_attacks_are_those_of_the_list_and_as_many_of_our_own() -> None:
    ids = [each.id for each in ALL]
    assert len(ids) == len(set(ids))
    assert len(ids) >= 150
    assert len(SAMPLE) == 38
    words = {"ok", "error", "denied", "timeout", "memory_limit", "output_limit", "crashed"}
    assert all(set(each.expected) <= words and each.expected for each in ALL)


def whole() -> Place:
    """The first ordinary user that can be had here."""
    wanted = ("nobody", "ordinary user")
    return next(place for place in PLACES if place.name in wanted and place.missing() is None)


async def test_every_attack_is_contained() -> None:
    with standing(whole()) as server:
        report = await campaign(server, ALL)
    assert report.ran == len(ALL)
    assert not report.wrong, said(report)


_SAMPLED = (
    "root, a uid per slot",
    "nobody + bubblewrap",
    "nobody, sealed",
    "nobody, compared runs",
    "ordinary user + bubblewrap",
    "ordinary user, sealed",
)
"""Those that differ most; `make attacks` goes through all of them."""


@pytest.mark.parametrize(
    "place", [each for each in PLACES if each.name in _SAMPLED], ids=lambda place: place.name
)
async def test_a_sample_is_contained_in_every_place(place: Place) -> None:
    reason = place.missing()
    if reason is not None:
        pytest.skip(f"{place.name}: {reason}")
    with standing(place) as server:
        assert server.health()["sandbox"]["profile"] == place.profile
        report = await campaign(server, SAMPLE)
    assert report.ran == len(SAMPLE)
    assert not report.wrong, said(report)


# -- the checks can fail ---------------------------------------------------------------------------

SEEN_WITHOUT = {
    # Harmless where they get through: they read, ask, or take and drop what is their own.
    "landlock": ["fs-01", "fs-06", "fs-07"],
    "seccomp": ["net-05", "kern-09", "kern-14"],
    "rlimits": ["bomb-08"],
    "descriptors": ["fd-01"],
}


@pytest.mark.parametrize("layer", SEEN_WITHOUT)
async def test_with_a_layer_taken_away_the_attacks_get_through(layer: str) -> None:
    place = whole()
    weak = Place(f"{place.name} without {layer}", place.user, "strict", weakness=f"without: {layer}")
    chosen: Sequence[Attack] = [each for each in ALL if each.id in SEEN_WITHOUT[layer]]
    with standing(weak) as server:
        report = await campaign(server, chosen)
    assert {who for who in report.wrong if "+" not in who} >= {each.id for each in chosen}, said(report)


def test_what_no_attack_can_see_is_tested_elsewhere() -> None:
    # The environment is emptied in the zygote already, courtesy is no wall, a parent that died is in
    # test_confinement, and without no-new-privileges the filter cannot be installed at all.
    assert set(LAYER_CLASSES) - set(SEEN_WITHOUT) == {"environment", "courtesy", "lifetime", "privileges"}


def answer(kind: str, reason: str | None = None, message: str = "") -> bytes:
    return json.dumps(
        {"source": "", "outcome": {"kind": kind, "reason": reason, "message": message}}
    ).encode()


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (200, answer("finished"), "ended ok"),
        (200, answer("raised", "denied", f"{CANARY}"), "secret"),
        (200, answer("raised", "denied", "AssertionError: ESCAPED"), "got through"),
        (500, b'{"message": "fault"}', "http-500"),
        (200, b"<html>", "not JSON"),
    ],
)
def test_the_judge_sees(status: int, body: bytes, words: str) -> None:
    attack = Attack("x", "x", ("denied",), "")
    assert any(words in each for each in faults(attack, status, body))
    assert faults(attack, 200, answer("raised", "denied", "no")) == []


def test_the_judge_does_not_take_the_source_for_an_answer() -> None:
    body = json.dumps({"source": "ESCAPED", "outcome": {"kind": "raised", "reason": "denied", "message": ""}})
    assert faults(Attack("x", "x", ("denied",), ""), 200, body.encode()) == []
    assert class_of(422, {}) == "error"


async def test_the_campaign_sees_what_is_left_behind() -> None:
    with standing(whole()) as server:
        belongings = server.belongings
        async with asyncio.timeout(60):  # those that wait for programs are counted before they are there
            while belongings()["runs"] != 0:
                await asyncio.sleep(0.1)
        if belongings()["/tmp"] is not None:
            left = Path(f"/proc/{server.process.pid}/root/tmp/left-by-test")
            left.touch()
            assert "left-by-test" in belongings()["/tmp"]
            left.unlink()
        counter = iter(range(100))
        server.belongings = lambda: {**belongings(), "descriptors of the server": next(counter)}  # type: ignore[method-assign]
        report = await campaign(server, [each for each in ALL if each.id == "honest-02"])
    assert "descriptors of the server" in said(report)
