"""What folding costs: the passes over what is kept, counted, since time would not be a test."""

from collections.abc import Callable

import pytest
from tensor_anatomy.schema import Trace
from tensor_anatomy.tracing import observer
from tensor_anatomy.tracing.folding import Event, Folded, compact

from ..conftest import LIMITS


def test_a_folded_loop_that_grows_a_graph_is_not_gone_through_at_every_step(
    trace_of: Callable[..., Trace], monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []

    def counted(events: list[Event]) -> list[Event]:
        sizes.append(len(events))
        return compact(events)

    monkeypatch.setattr(observer, "compact", counted)
    monkeypatch.setattr(Folded, "MOST_EVENTS", 100)
    source = """
        import torch
        w = torch.ones(3, requires_grad=True)
        y = w
        for i in range(300):
            y = y * w
    """
    trace = trace_of(source, limits=LIMITS.model_copy(update={"steps_kept": 20}))

    nodes = [event for step in trace.steps for event in step.events if event.kind == "node"]
    assert len(nodes) >= 300
    assert 3 < len(sizes) < 15
    assert sum(step.executions for step in trace.steps) == 3 + 1 + 300 * 2
