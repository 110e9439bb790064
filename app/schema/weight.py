"""How much there is in a trace, to tell at once what will take time. What it means is not looked at."""

from .trace import Event, Trace

_OF_AN_EVENT = 6
"""What an event weighs; an id in one of its lists weighs 1."""


def weight_of(trace: Trace, most: int) -> int:
    """About how much a trace holds.

    Args:
        trace: The trace.
        most: When it holds more, counting ends.

    Returns:
        Ids, edges, names and the like, events counted six times; when there are more, some number above
        `most`.
    """
    weight = 0
    for table in (trace.names, trace.views, trace.ranges, trace.sites, trace.routes, trace.steps):
        weight += _OF_AN_EVENT * len(table)
    for step in trace.steps:
        weight += len(step.changed)
        for event in step.events:
            weight += _OF_AN_EVENT + _listed(event)
        if weight > most:
            break
    return weight


def _listed(event: Event) -> int:
    match event.kind:
        case "node":
            return len(event.next_functions) + 4 * len(event.saved) + len(event.modules)
        case "compiled":
            inside = sum(8 + len(node.inputs) for graph in event.graphs for node in graph.nodes)
            return inside + 4 * (len(event.breaks) + len(event.guards) + len(event.recompiled))
        case "names":
            return len(event.paths)
        case "op" | "api":
            return len(event.inputs) + len(event.outputs)
        case "gone":
            return len(event.tensors)
        case "freed":
            return len(event.storages)
        case "saved-freed":
            return len(event.nodes)
        case _:
            return 0
