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

_FLUSHES_PER_S = 250.0
_BURST = 120.0
_CHUNK_EVENTS = 400


class Stream:
    """Collects events into steps and sends them in chunks.

    Args:
        send: Takes the bytes of one chunk.
        trace_bytes: Size of all chunks after which steps are folded.
    """

    def __init__(self, send: Callable[[bytes], None], trace_bytes: int) -> None:
        self._send = send
        self._encode = msgspec.json.Encoder().encode
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
        self._new: dict[str, list[Any]] = {"names": [], "views": [], "ranges": [], "sites": []}
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

    def view(self, key: tuple[Any, ...]) -> int:
        """Index of a view, given as the fields of `TensorView` in order, in the table of views."""
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

    def site(self, key: tuple[Any, ...], inside: int | None) -> int:
        """Index of an op's site, given as the fields of `OpSite` in order, in the table of sites.

        Args:
            key: The fields.
            inside: Name of the library that the op runs inside, as an index.
        """
        index = self._sites.get((key, inside))
        if index is None:
            index = self._sites[key, inside] = len(self._sites)
            self._new["sites"].append(dict(zip(SITE_FIELDS, key, strict=True)))
            if inside is not None:
                self.events.append({"kind": "inside", "site": index, "module": self._name_rows[inside]})
        return index

    def name_row(self, index: int) -> str:
        """The row of a name."""
        return self._name_rows[index]

    def range_row(self, index: int) -> tuple[int, int, int, int]:
        """The row of a range: line, column, end line, end column."""
        return self._range_rows[index]

    # -- events and steps

    def position(self) -> int:
        """Index the next event will have in the trace."""
        return self.event_count + len(self.events)

    def end_step(self, step: Event) -> None:
        """A statement's execution ended; the events so far are its step's."""
        step["events"] = self.events
        self.event_count += len(self.events)
        self._pending_events += len(self.events)
        self.events = []
        self.steps_ended += 1
        self._steps.append(step)

    def full(self) -> bool:
        """The trace has reached its size."""
        return self.sent_bytes >= self._trace_bytes

    # -- chunks

    def open(self, environment: Event, statements: list[Event]) -> None:
        """Send the opening."""
        self._put({"kind": "opening", "environment": environment, "statements": statements})

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
        self._put({"kind": "steps", **self._new, "steps": self._steps, "running": running})
        self._steps = []
        self._pending_events = 0
        self._new = {"names": [], "views": [], "ranges": [], "sites": []}

    def close(self, outcome: Event, fingerprint: Event | None) -> None:
        """Send what is left and the closing. Events after the last step travel with it."""
        self.flush(None)
        self._put(
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

    def _put(self, chunk: Event) -> None:
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

SITE_FIELDS = ("op", "api", "range", "views", "verdicts", "writes", "node", "failed")
