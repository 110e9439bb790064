"""Checks that what a chunk refers to exists.

A chunk that parses can still point past a table or at a storage never mentioned.
The tracer does not write such chunks, but a program may forge one; all later code
(replay, explanations, drawings) may then rely on every reference.
"""

import base64
import re
from collections.abc import Sequence

from ..errors import ReplyInvalid
from ..schema import (
    Closing,
    Compilation,
    Event,
    Fingerprint,
    OpSite,
    Outcome,
    SourceRange,
    Statement,
    Step,
    Steps,
    TensorView,
    TileGrid,
    UntypedStorage,
)
from ..schema.comparison import FACTS, MOST_CONTENTS, MOST_NODES, MOST_TENSORS
from ..schema.replay import World
from ..schema.tiles import MOST_TILES, TILE_BYTES, tiles_across, tiles_down

_MOST_DIMENSIONS = 128
"""Most PyTorch ops end at 64, but larger tensors can be made; nested lists of many more exhaust the stack."""

_MOST_BYTES = 1 << 63
"""More than any storage has; what is computed from it stays a number that everybody can read."""

_LAST_LINE = 1 << 31
"""A program may make code that claims any line, but not more than this."""

_MOST_GENERATORS = 16
"""Random generators whose states are compared: those of three libraries, today."""

_ADDRESS = re.compile(r"0x[0-9a-f]{1,16}")


class References:
    """The tables of one trace so far, and the world its events describe."""

    def __init__(self, source: str, statements: Sequence[Statement]) -> None:
        """Take the first chunk into account. Raises as `check` does."""
        lines = len(re.split(r"\r\n|[\r\n\f]", source)) + 1
        for statement in statements:
            _require(_is_place(statement.range, lines), "a statement of the program")
        self._statements = len(statements)
        self._names = self._views = self._ranges = self._routes = 0
        self._sites: list[OpSite] = []
        self._steps = self._events = 0
        self._world = World()

    def check(self, chunk: Steps) -> None:
        """Take the next steps into account.

        Raises:
            ReplyInvalid: A reference leads nowhere. The chunk must then be dropped whole.
        """
        self._names += len(chunk.names)
        for place in chunk.ranges:
            _require(_is_place(place), "a place")
        self._ranges += len(chunk.ranges)
        for view in chunk.views:
            _require(_is_plausible(view), "a view")
        self._views += len(chunk.views)
        for route in chunk.routes:
            self._name(route.op)
        self._routes += len(chunk.routes)
        for site in chunk.sites:
            self._check_site(site)
        self._sites += chunk.sites
        for step in chunk.steps:
            self._check_step(step)
        _require(chunk.running is None or 0 <= chunk.running < self._statements, "a statement")

    def check_last(self, chunk: Closing) -> None:
        """Take the events of the last chunk into account. Raises as `check` does."""
        self._check_events(chunk.events)
        self._check_outcome(chunk.outcome)
        if chunk.fingerprint is not None and not _is_fingerprint(chunk.fingerprint):
            raise ReplyInvalid("its final state holds more than is ever told")

    def _check_outcome(self, outcome: Outcome) -> None:
        _require(outcome.range is None or _is_place(outcome.range), "a place")
        self._line(outcome.line, *outcome.traceback)

    def _check_step(self, step: Step) -> None:
        _require(0 <= step.statement < self._statements, "a statement")
        _require(0 <= step.began <= self._steps, "a step")
        _require(step.executions >= 1, "an execution")
        _require(all(0 <= n < _MOST_BYTES for n in step.peak_bytes.values()), "a number of bytes")
        loop = None if step.fold is None else step.fold.loop
        _require(loop is None or 0 <= loop < self._statements, "a loop")
        self._check_events(step.events)
        _require(0 <= step.first_event <= self._events, "an event")
        self._steps += 1

    def _check_events(self, events: Sequence[Event]) -> None:
        for event in events:
            self._check_event(event)
        self._events += len(events)
        # Now, not event by event: a tensor may be told before its storage in the same step.
        for event in events:
            if event.kind == "tensor" and event.storage is not None:
                _require(event.storage in self._world.storages, "a storage")

    def _check_site(self, site: OpSite) -> None:
        self._name(site.op, site.api, site.node)
        _require(site.route is None or 0 <= site.route < self._routes, "a route")
        self._range(site.range)
        _require(all(0 <= view < self._views for view in site.views), "a view")
        _require(len(site.views) == len(site.verdicts), "an output")
        _require(all(i >= 0 for i in site.writes), "an input")

    def _check_event(self, event: Event) -> None:
        match event.kind:
            case "storage":
                _require(_is_storage(event) and _are_ids(event.id), "a storage")
            case "freed":
                self._line(event.line)
                _require(_are_ids(*event.storages), "a storage")
            case "bytes":
                _require(_are_ids(event.storage), "a storage")
            case "tiles":
                _require(_are_ids(event.storage), "a storage")
                _require(event.grid is None or _is_grid(event.grid), "a tile")
            case "gone":
                _require(_are_ids(*event.tensors), "a tensor")
            case "values" | "traits" | "gradient":
                _require(_are_ids(event.tensor), "a tensor")
            case "saved-freed":
                _require(_are_ids(*event.nodes), "a node")
            case "op":
                _require(0 <= event.site < len(self._sites), "a site")
                site = self._sites[event.site]
                _require(len(event.outputs) == len(site.views), "an output")
                _require(all(i < len(event.inputs) for i in site.writes), "an input")
                _require(_are_ids(*event.inputs, *event.outputs), "a tensor")
            case "api":
                _require(_are_ids(*event.inputs, *event.outputs), "a tensor")
                self._name(event.api)
                self._range(event.range)
            case "node":
                self._name(event.name, *event.modules)
                self._line(event.line)
                _require(
                    _are_ids(event.id, event.variable, *(node for node, _ in event.next_functions)), "a node"
                )
                _require(
                    _are_ids(*(id for slot in event.saved for id in (slot.tensor, slot.storage))), "a tensor"
                )
            case "saved" | "ran":
                _require(_are_ids(event.node), "a node")
            case "transfer":
                _require(_are_ids(event.source, event.target), "a tensor")
            case "names":
                _require(_are_ids(*event.paths.values()), "a tensor")
            case "exception":
                self._range(event.range)
            case "compiled":
                self._check_compilation(event)
            case "inside":
                _require(0 <= event.site < len(self._sites), "a site")
            case "tensor":
                _require(0 <= event.view < self._views, "a view")
                _require(_are_ids(event.id, event.grad_fn, event.grad), "a tensor")
            case _:
                pass
        try:
            self._world.apply(event)
        except (LookupError, ValueError) as e:
            raise ReplyInvalid(f"an event of kind {event.kind!r} cannot be replayed") from e

    def _check_compilation(self, event: Compilation) -> None:
        self._line(event.line, *(each.line for each in event.breaks))
        _require(event.outcome != "graph" or len(event.graphs) > 0, "a graph")
        for graph in event.graphs:
            for number, node in enumerate(graph.nodes):
                self._line(node.line)
                # A node comes after what it uses: the graph can be drawn from left to right.
                _require(all(0 <= each < number for each in node.inputs), "a node")

    def _name(self, *indices: int | None) -> None:
        for index in indices:
            _require(index is None or 0 <= index < self._names, "a name")

    def _line(self, *lines: int | None) -> None:
        for line in lines:
            _require(line is None or 1 <= line <= _LAST_LINE, "a line")

    def _range(self, index: int | None) -> None:
        _require(index is None or 0 <= index < self._ranges, "a range")


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise ReplyInvalid(f"it refers to {what} that is not there")


def _is_place(place: SourceRange, last: int = _LAST_LINE) -> bool:
    return 1 <= place.line <= place.end_line <= last and place.column >= 0 and place.end_column >= 0


def _are_ids(*ids: int | None) -> bool:
    return all(id is None or id >= 0 for id in ids)


def _is_storage(event: UntypedStorage) -> bool:
    return 0 <= event.nbytes < _MOST_BYTES and _ADDRESS.fullmatch(event.address) is not None


def _is_fingerprint(prints: Fingerprint) -> bool:
    """It has no more than is ever told of a program, so that comparing takes no time."""
    most = 2 * MOST_TENSORS  # with their gradients
    return (
        len(prints.tensors) <= most
        and all(len(facts) <= len(FACTS) for facts in prints.tensors.values())
        and len(prints.graph) <= MOST_NODES + most
        and sum(1 + len(group) for group in prints.sharing) <= 2 * most
        and len(prints.generators) <= _MOST_GENERATORS
        and len(prints.contents) <= MOST_CONTENTS
    )


def _is_grid(grid: TileGrid) -> bool:
    """Its tiles cover its cells, and it has figures of each."""
    if not 0 < grid.columns <= grid.cells < _MOST_BYTES or grid.height < 1 or grid.width < 1:
        return False
    count = tiles_down(grid) * tiles_across(grid)
    runs = all(min(run) >= 0 and run[0] + run[1] <= count for run in grid.odd)
    if not runs or count > MOST_TILES:
        return False
    try:
        return len(base64.b64decode(grid.figures, validate=True)) == count * TILE_BYTES
    except ValueError:
        return False


def _is_plausible(view: TensorView) -> bool:
    shape, stride = view.shape, view.stride
    if shape is not None and (len(shape) > _MOST_DIMENSIONS or any(size < 0 for size in shape)):
        return False
    if stride is not None and (shape is None or len(stride) != len(shape) or any(s < 0 for s in stride)):
        return False
    return view.storage_offset is None or view.storage_offset >= 0
