"""The attacks, as data, and the rule by which an answer to one is judged."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DATA = Path(__file__).resolve().parent.parent / "data"

CANARY = "SBX-CANARY-7c1f"
"""Stands in the environment of the server; no answer may hold it."""

MARK = "ESCAPED"
"""A program says this where it got through."""

_HEAD = re.compile(r"^### (\S+) \| (.+) \| (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Attack:
    """A program that tries something, and the ways to end that are right."""

    id: str
    title: str
    expected: tuple[str, ...]
    program: str


def attacks() -> list[Attack]:
    """All of them, in the order in which some depend on each other."""
    lines = (DATA / "attacks.jsonl").read_text(encoding="utf-8").splitlines()
    listed = [json.loads(line) for line in lines]
    found = [
        Attack(each["id"], each["title"], tuple(each["expected"]), _importing(each["program"]))
        for each in listed
    ]
    parts = _HEAD.split((DATA / "attacks.txt").read_text(encoding="utf-8"))[1:]
    for name, title, expected, program in zip(*(parts[i::4] for i in range(4)), strict=True):
        found.append(Attack(name, title, tuple(re.split(r",\s*", expected)), _importing(program.strip("\n"))))
    return found


def _importing(program: str) -> str:
    return f"import torch\n{program}"


def class_of(status: int, answer: dict[str, Any]) -> str:
    """The one word for how a program ended."""
    if status == 422:
        return "error"
    if status != 200:
        return f"http-{status}"
    outcome = answer["outcome"]
    kind, reason = outcome["kind"], outcome["reason"]
    if reason in ("memory-limit", "output-limit", "time-limit", "denied"):
        return {"memory-limit": "memory_limit", "output-limit": "output_limit", "time-limit": "timeout"}.get(
            reason, "denied"
        )
    return {"finished": "ok", "raised": "error", "crashed": "crashed", "stopped": "stopped"}[kind]


def faults(attack: Attack, status: int, body: bytes) -> list[str]:
    """What is wrong with an answer; empty if it is as it must be."""
    found = []
    if CANARY.encode() in body:
        found.append("the answer holds a secret of the server")
    try:
        answer = json.loads(body)
    except ValueError:
        return [*found, f"the answer ({status}) is not JSON"]
    got = class_of(status, answer)
    if got not in attack.expected:
        message = str((answer.get("outcome") or {}).get("message", answer.get("message")))
        found.append(f"ended {got} instead of {' or '.join(attack.expected)}: {message[:200]}")
    if MARK in json.dumps({**answer, "source": ""}):
        found.append("it got through: the answer says " + MARK)
    return found
