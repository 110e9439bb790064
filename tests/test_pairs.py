"""The pairs that the playground offers to compare: each shows a difference, told in both languages."""

import pytest
from tensor_anatomy.lessons.catalog import ProgramPair, load
from tensor_anatomy.messages import LANGUAGES
from tensor_anatomy.schema import Trace
from tensor_anatomy.schema.replay import state_document

from .conftest import record
from .tracing.children import in_child

PAIRS = load().pairs


@pytest.mark.parametrize("pair", PAIRS, ids=[pair.id for pair in PAIRS])
def test_both_programs_run_and_the_difference_is_in_what_they_leave(pair: ProgramPair) -> None:
    def leaves() -> list[object]:
        return [seen(record(each.source, device="auto")) for each in (pair.left, pair.right)]

    left, right = in_child(leaves)

    assert left != right
    assert all(pair.titles[language].strip() for language in LANGUAGES)


def seen(trace: Trace) -> object:
    """How a run ended, and its tensors by name: who shares, which values, which node made them."""
    state = state_document(trace).model_dump(mode="json", by_alias=True)
    assert trace.outcome.kind in {"finished", "raised"}
    tensors, nodes = state["tensors"], state["nodes"]
    order = {storage: place for place, storage in enumerate(sorted({t["storage"] for t in tensors.values()}))}
    named = {
        name: [
            order[tensors[str(number)]["storage"]],
            *(tensors[str(number)][field] for field in ("values", "stride", "device", "version")),
            nodes.get(str(tensors[str(number)]["grad_fn"]), {}).get("name"),
            tensors.get(str(tensors[str(number)]["grad"]), {}).get("values"),
        ]
        for name, number in state["bindings"].items()
    }
    return [trace.outcome.kind, named, len(nodes), {k: v for k, v in state["bytes"]["alive"].items() if v}]
