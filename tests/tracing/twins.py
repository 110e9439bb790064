"""Runs a program watched and not, in forked children of this one process, and says what differs.

As the server does: a difference counts only if a second unobserved run agrees with the first.
"""

import json
from typing import Any

from tensor_anatomy.execution.comparison import Ended, Facts, Place, differing, facts_of, names_to_report
from tensor_anatomy.schema import Fingerprint, Outcome, RunRequest
from tensor_anatomy.tracing.session import record_program

from ..conftest import LIMITS
from .children import in_child

SEED = 7


class NoEnd(AssertionError):
    """A run did not come to its end, so that there is nothing to compare."""


def ended(source: str, *, observed: bool, reports: tuple[str, ...] | None = None) -> Ended:
    """The end of a run in a child of its own."""

    def run() -> dict[str, Any]:
        payloads: list[bytes] = []
        faults: list[str] = []
        request = RunRequest(
            source=source, device="cpu", seed=SEED, limits=LIMITS, observed=observed, reports=reports
        )
        record_program(request, payloads.append, faults=faults)
        chunks = [json.loads(payload) for payload in payloads]
        events = [e for chunk in chunks for step in chunk.get("steps", ()) for e in step["events"]]
        events += chunks[-1]["events"]
        return {
            "outcome": chunks[-1]["outcome"],
            "fingerprint": chunks[-1]["fingerprint"],
            "told": [e for e in events if e["kind"] in ("stdout", "warning")],
            "faults": faults,
        }

    answer = in_child(run, 120)
    assert not answer["faults"], answer["faults"]
    if answer["fingerprint"] is None:
        raise NoEnd(answer["outcome"])
    warned = [e for e in answer["told"] if e["kind"] == "warning"]
    return Ended(
        outcome=Outcome.model_validate(answer["outcome"]),
        fingerprint=Fingerprint.model_validate(answer["fingerprint"]),
        stdout="".join(e["text"] for e in answer["told"] if e["kind"] == "stdout"),
        warnings=tuple(f"{e['category']} at line {e['line']}: {e['message']}" for e in warned),
    )


def effects(source: str) -> dict[Place, tuple[str, str]]:
    """What differs for certain: place → as watched, as unwatched."""
    watched = facts_of(ended(source, observed=True))
    plain: Facts = facts_of(ended(source, observed=False))
    places = differing(watched, plain)
    if not places:
        return {}
    again = facts_of(ended(source, observed=False, reports=names_to_report(places)))
    return {
        place: (watched.get(place, "–"), plain.get(place, "–"))
        for place in places
        if plain.get(place) == again.get(place)
    }
