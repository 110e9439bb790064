"""What was observed, on its way out: events, tables, steps, chunks.

Events are plain dictionaries shaped like the records of `schema` (every trace in the tests is validated
against it) because a record per event would cost more than the watching. Chunks leave early and often,
so that a kill or a segfault leaves the steps before it.
"""

import time
from collections.abc import Callable
from typing import Any

import msgspec

Event = dict[str, Any]

Key = tuple[Any, ...] | int
"""The fields of a table's row, or its index. Rows are made when an event is sent: many are folded away."""

_FLUSHES_PER_S = 250.0
_BURST = 120.0
_CHUNK_EVENTS = 400
_RESERVED_BYTES = 512 << 10


class Stream:
    """Collects events into steps and sends them in chunks.

    Args:
        send: Takes the bytes of one chunk.
        trace_bytes: Size of all chunks after which steps are folded.
    """

    def __init__(self, send: Callable[[bytes], None], trace_bytes: int) -> None:
        self._send = send
        self._encode = _encoded
        self._trace_bytes = trace_bytes
        self.sent_bytes = 0
        self.events: list[Event] = []
        """Since the last step ended."""
        self.event_count = 0
        """Events in steps that ended."""
        self.steps_ended = 0
        self._steps: list[Event] = []
        self._pending_events = 0
        self._names: dict[str, int] = {}
        self._views: dict[tuple[Any, ...], int] = {}
        self._ranges: dict[tuple[int, int, int, int], int] = {}
        self.stdout_crc = 0
        self._name_rows: list[str] = []
        self._range_rows: list[tuple[int, int, int, int]] = []
        self._sites: dict[tuple[Any, ...], int] = {}
        self._routes: dict[tuple[Any, ...], int] = {}
        self._new: dict[str, list[Any]] = _no_rows()
        self._credit, self._credit_at = _BURST, time.monotonic()

    # -- tables

    def name(self, text: str) -> int:
        """Index of `text` in the table of names."""
        index = self._names.get(text)
        if index is None:
            index = self._names[text] = len(self._names)
            self._name_rows.append(text)
            self._new["names"].append(text)
        return index

    def view(self, key: Key) -> int:
        """Index of a view in the table of views; `key` is the fields of `TensorView`, or the index."""
        if isinstance(key, int):
            return key
        index = self._views.get(key)
        if index is None:
            index = self._views[key] = len(self._views)
            self._new["views"].append(dict(zip(VIEW_FIELDS, key, strict=True)))
        return index

    def range(self, key: tuple[int, int, int, int]) -> int:
        """Index of a range (line, column, end line, end column) in the table of ranges."""
        index = self._ranges.get(key)
        if index is None:
            index = self._ranges[key] = len(self._ranges)
            self._range_rows.append(key)
            fields = ("line", "column", "end_line", "end_column")
            self._new["ranges"].append(dict(zip(fields, key, strict=True)))
        return index

    def site(self, key: Key) -> int:
        """Index of an op's site in the table of sites.

        Args:
            key: The fields of `OpSite` in order, but for views given as fields themselves, and with them the
                name of the library that the op runs inside, as an index or None. Or the index of the site.
        """
        if isinstance(key, int):
            return key
        index = self._sites.get(key)
        if index is None:
            index = self._sites[key] = len(self._sites)
            fields, inside = key
            row = dict(zip(SITE_FIELDS, fields, strict=True))
            row["views"] = [self.view(view) for view in row["views"]]
            self._new["sites"].append(row)
            if inside is not None:
                self.events.append({"kind": "inside", "site": index, "module": self._name_rows[inside]})
        return index

    def route(self, key: tuple[Any, ...]) -> int:
        """Index of a way through the dispatcher: op, stops, composite, its stops, thread seen."""
        index = self._routes.get(key)
        if index is None:
            index = self._routes[key] = len(self._routes)
            op, stops, composite, outer, seen = key
            self._new["routes"].append(
                {
                    "op": self.name(op),
                    "stops": _stops(stops),
                    "composite": composite,
                    "outer": _stops(outer),
                    "thread_seen": seen,
                }
            )
        return index

    def name_row(self, index: int) -> str:
        """The row of a name."""
        return self._name_rows[index]

    def range_row(self, index: int) -> tuple[int, int, int, int]:
        """The row of a range: line, column, end line, end column."""
        return self._range_rows[index]

    # -- events and steps

    def tell(self, event: Event) -> None:
        """Something was observed in the running statement."""
        self.events.append(event)

    def put(self, step: Event) -> None:
        """A statement's execution ended, with what was observed in it."""
        events = step["events"]
        self._index(events)
        self.event_count += len(events)
        self._pending_events += len(events)
        self.steps_ended += 1
        del step["again"]
        self._steps.append(step)

    def _index(self, events: list[Event]) -> None:
        """Put views and sites into their tables, now that the events are to be sent."""
        for event in events:
            kind = event["kind"]
            if kind == "tensor":
                event["view"] = self.view(event["view"])
            elif kind == "op":
                event["site"] = self.site(event["site"])

    def full(self) -> bool:
        """The trace has reached its size, but for the last iterations of its loops."""
        return self.sent_bytes >= self._trace_bytes - min(_RESERVED_BYTES, self._trace_bytes // 4)

    def has_room_for(self, steps: list[Event]) -> bool:
        """Steps not put yet fit into what is left."""
        if not self.full():
            return True
        encode, room = self._encode, self._trace_bytes - self.sent_bytes
        return sum(len(encode(step)) for step in steps) <= room

    # -- chunks

    def open(self, environment: Event, statements: list[Event]) -> None:
        """Send the opening."""
        self._send_chunk({"kind": "opening", "environment": environment, "statements": statements})

    def breathe(self, running: int) -> None:
        """Before a statement runs: send what there is, unless that was done a moment ago."""
        now = time.monotonic()
        self._credit = min(_BURST, self._credit + (now - self._credit_at) * _FLUSHES_PER_S)
        self._credit_at = now
        if self._credit >= 1.0 or self._pending_events > _CHUNK_EVENTS:
            self._credit -= 1.0
            self.flush(running)

    def flush(self, running: int | None) -> None:
        """Send the steps that ended."""
        self._send_chunk({"kind": "steps", **self._new, "steps": self._steps, "running": running})
        self._steps = []
        self._pending_events = 0
        self._new = _no_rows()

    def close(self, outcome: Event, fingerprint: Event | None) -> None:
        """Send what is left and the closing. Events after the last step travel with it."""
        self._index(self.events)
        self.flush(None)
        self._send_chunk(
            {
                "kind": "closing",
                "events": self.events,
                "outcome": outcome,
                "fingerprint": fingerprint,
            }
        )
        self.events = []

    def mute(self) -> None:
        """Send nothing from now on: this process is a copy of the one that is watched."""
        self._send = lambda payload: None

    def _send_chunk(self, chunk: Event) -> None:
        payload = self._encode(chunk)
        self.sent_bytes += len(payload)
        self._send(payload)


VIEW_FIELDS = (
    "shape",
    "stride",
    "storage_offset",
    "dtype",
    "layout",
    "device",
    "is_contiguous",
    "is_conj",
    "is_neg",
    "requires_grad",
    "is_leaf",
)

SITE_FIELDS = ("op", "api", "range", "views", "verdicts", "writes", "node", "failed", "route")


_encode = msgspec.json.Encoder().encode


def _encoded(record: Event) -> bytes:
    """JSON of what was observed."""
    try:
        return _encode(record)
    except UnicodeEncodeError:  # a name or a key with half of a character, which no JSON can hold
        return _encode(_whole(record))


def _whole(value: Any) -> Any:
    """The same with lone surrogates escaped, as in what the program prints."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {_whole(key): _whole(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_whole(each) for each in value]
    return value


def _stops(pairs: tuple[tuple[str, str], ...]) -> list[dict[str, str]]:
    return [{"key": name, "kernel": kernel} for name, kernel in pairs]


def _no_rows() -> dict[str, list[Any]]:
    return {"names": [], "views": [], "ranges": [], "sites": [], "routes": []}
