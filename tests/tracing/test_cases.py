"""Real users' situations: the state document says what plain PyTorch gave."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch._dynamo  # the forked children need it; importing it in each would cost a second  # noqa: F401
from tensor_anatomy.schema.replay import state_document

from ..conftest import record
from .children import in_child
from .facts import differences

CASES = [
    json.loads(line)
    for line in (Path(__file__).parent.parent / "data" / "cases.jsonl").read_text("utf-8").splitlines()
]
UNBOUNDED = ("never_ends", "rlimit_as")
"""Cases that need the sandbox to stop them; they are run through it elsewhere."""


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=case["id"])
        for case in CASES
        if not any(limit in case["expect"].get("limits", {}) for limit in UNBOUNDED)
    ],
)
def test_the_state_says_what_pytorch_gave(case: dict[str, Any]) -> None:
    def work() -> list[str]:
        state = state_document(record(case["source"])).model_dump(mode="json", by_alias=True)
        return differences(json.loads(json.dumps(state)), case["expect"], case["source"])

    assert in_child(work) == []
