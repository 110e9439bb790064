"""Sends attacks through HTTP, a few at a time, and looks after each few whether all is as before."""

import asyncio
import json
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx

from .items import Attack, class_of, faults
from .places import Server
from .serve import SANDBOXES, WALL_S

SLACK_S = 1.0
"""An answer may come this long after the limit on time, on a machine that is not crowded."""

FRESH = "import torch\nx = torch.arange(6.).reshape(2, 3)\ny = x.t() + 1\nprint(y.sum().item())\n"

_TRIES = 4
"""Of a program that is not ended by the limit on time, before the limit is believed to be its fault."""

_IN_ORDER = ("tamper-12", "tamper-13", "left-01", "left-02")
"""These look for what the one before left: alone, one after the other."""


@dataclass
class Report:
    """What came of a campaign."""

    ran: int = 0
    wrong: dict[str, list[str]] = field(default_factory=dict)
    """Attack, or several at once → what was wrong."""

    ends: dict[str, int] = field(default_factory=dict)
    slowest_s: float = 0.0
    took_s: float = 0.0

    def blame(self, who: str, what: Sequence[str]) -> None:
        """Note what was wrong."""
        if what:
            self.wrong.setdefault(who, []).extend(what)


async def campaign(server: Server, attacks: Sequence[Attack]) -> Report:
    """Run them all."""
    report, began = Report(), time.perf_counter()
    # A connection that is kept would be a descriptor of the server.
    limits = httpx.Limits(max_keepalive_connections=0)
    async with httpx.AsyncClient(base_url=server.url, timeout=60, limits=limits) as client:
        await _fresh(client)  # what a first run opens stays open
        before = await _settled(server, None)
        for few in _few_at_a_time(attacks):
            who = " + ".join(each.id for each in few)
            ended = await asyncio.gather(*(_one(client, each, report, last=False) for each in few))
            for each in (each for each, judged in zip(few, ended, strict=True) if not judged):
                # Perhaps the machine was busy: alone.
                for tries_left in range(_TRIES - 1, -1, -1):
                    if await _one(client, each, report, last=not tries_left):
                        break
            report.blame(who, await _fresh(client))
            after = await _settled(server, before)
            report.blame(who, [f"{k}: {before[k]} → {after[k]}" for k in before if before[k] != after[k]])
            before = after
    report.took_s = time.perf_counter() - began
    return report


def _few_at_a_time(attacks: Sequence[Attack]) -> list[list[Attack]]:
    alone = [[each] for each in attacks if each.id in _IN_ORDER]
    others = [each for each in attacks if each.id not in _IN_ORDER]
    # Those that take all their time together, so that few wait for one.
    others.sort(key=lambda each: each.expected[0] == "timeout")
    return alone + [others[i : i + SANDBOXES] for i in range(0, len(others), SANDBOXES)]


async def _one(client: httpx.AsyncClient, attack: Attack, report: Report, *, last: bool) -> bool:
    """Run one and judge it; one that had too little time is not judged, unless it is the last try."""
    began = time.perf_counter()
    source = {"source": attack.program}
    try:
        answer = await client.post("/api/trace", content=_json(source))
    except httpx.HTTPError as e:
        report.ran += 1
        report.blame(attack.id, [f"no answer: {type(e).__name__}"])
        return True
    took_s = time.perf_counter() - began
    found = faults(attack, answer.status_code, answer.content)
    late = took_s > WALL_S + SLACK_S * _crowding()
    if not last and (late or any("ended timeout" in each for each in found)):
        return False
    report.ran += 1
    report.slowest_s = max(report.slowest_s, took_s)
    end = class_of(answer.status_code, answer.json()) if answer.status_code in (200, 422) else "http"
    report.ends[end] = report.ends.get(end, 0) + 1
    report.blame(attack.id, found)
    if late:
        report.blame(attack.id, [f"the answer took {took_s:.2f} s"])
    return True


def _crowding() -> float:
    """How many processes wait for each core of this machine, whoever started them; at least 1."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def _json(body: dict[str, str]) -> bytes:
    return json.dumps(body).encode()  # a lone surrogate goes as \ud800


async def _fresh(client: httpx.AsyncClient) -> list[str]:
    """What is wrong with a run of an ordinary program; one that had too little time is run again."""
    for _ in range(_TRIES):
        found, stopped = await _fresh_once(client)
        if not stopped:
            break
    return found


async def _fresh_once(client: httpx.AsyncClient) -> tuple[list[str], bool]:
    """What is wrong, and whether the program was stopped."""
    answer = await client.post("/api/trace?format=state", json={"source": FRESH})
    if answer.status_code != 200:
        return [f"after it a fresh run got {answer.status_code}"], False
    state = answer.json()
    shape = state["tensors"][str(state["bindings"]["y"])]["shape"] if "y" in state["bindings"] else None
    seen = (state["outcome"]["kind"], state["stdout"], shape)
    right = seen == ("finished", "21.0\n", [3, 2])
    return [] if right else [f"after it a fresh run gave {seen}"], state["outcome"]["kind"] == "stopped"


async def _settled(server: Server, wanted: dict[str, Any] | None) -> dict[str, Any]:
    """Its belongings, once they are as wanted or will not be."""
    last = None
    for _ in range(40):
        now = server.belongings()
        # Without a wish: when nothing changes any more, the last connection's end included.
        if now["runs"] == 0 and now == (last if wanted is None else wanted):
            return now
        last = now
        await asyncio.sleep(0.2 if wanted is None else 0.05)
    return now
