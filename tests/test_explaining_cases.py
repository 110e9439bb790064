"""Real users' situations: the class, the guilty line and the names are those a person found, and no more
mistakes are noticed than there are."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import torch._dynamo  # the forked children need it; importing it in each would cost a second  # noqa: F401
from tensor_anatomy.explaining.chronicle import Chronicle
from tensor_anatomy.explaining.errors import explain_failure
from tensor_anatomy.explaining.moment import Moments
from tensor_anatomy.explaining.notes import find_notes
from tensor_anatomy.explaining.sentences import step_sentences
from tensor_anatomy.messages import LANGUAGES, catalogue, text_of

from .conftest import record
from .tracing.children import in_child

CASES = [
    json.loads(line)
    for line in (Path(__file__).parent / "data" / "cases.jsonl").read_text("utf-8").splitlines()
]
BOUNDED = [case for case in CASES if "never_ends" not in case["expect"].get("limits", {})]
ALSO_TRUE = {"c014": [{"class": "overlapping-write", "line": 3}]}
"""Mistakes that a case's text describes although it lists none."""


def found(source: str) -> dict[str, Any]:
    """Explanation, notes and everything that is said, of a traced program."""
    trace = record(source)
    chronicle = Chronicle(trace)
    why = explain_failure(trace, chronicle)
    moments = Moments(chronicle)
    notes = find_notes(moments)
    steps = [step_sentences(moments.of(number)) for number in range(1, len(trace.steps) + 1)]
    every = [s for step in steps for s in step] + [n.sentence for n in notes]
    every += why.sentences if why else ()
    texts = {f"{s.id}: {text_of(lang, s.id, s.args)}" for s in every for lang in LANGUAGES}
    ids = {s.id for s in every}
    return {
        "explanation": why
        and {
            "class": why.class_,
            "line": why.line,
            "caused_by": why.caused_by,
            "operands": list(why.operands),
        },
        "notes": [{"class": n.class_, "line": n.line} for n in notes],
        "layers": [sorted({s.layer for s in step if s.layer}) for step in steps],
        "unknown": sorted(ids - set(catalogue("en"))),
        "unfilled": sorted(text for text in texts if re.search(r"\{[a-z_]+\}", text)),
    }


@pytest.mark.parametrize("case", [pytest.param(case, id=case["id"]) for case in BOUNDED])
def test_a_case_is_explained(case: dict[str, Any]) -> None:
    result = in_child(lambda: found(case["source"]))

    if "explain" in case or not case["expect"].get("error"):
        assert result["explanation"] == case.get("explain")
    else:
        assert result["explanation"]["line"] == case["expect"]["error"]["line"]
    assert result["notes"] == case.get("notes_expected", ALSO_TRUE.get(case["id"], []))
    assert all(layers == ["autograd", "data", "device", "metadata"] for layers in result["layers"])
    assert result["unknown"] == []
    assert result["unfilled"] == []


def test_the_cases_cover_what_is_claimed() -> None:
    assert sum("explain" in case for case in CASES) == 42
    assert sum("notes_expected" in case for case in CASES) == 17
