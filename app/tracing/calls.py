"""What a statement calls: hears the two modes, writes down API calls, ops and transfers.

It remembers by row, never by tensor, what the end of the statement must look at again: tensors touched,
storages written, tensors born with what they were made from. It does not read states (`storage`).
"""

import sys
from collections.abc import Callable
from typing import Any

from . import reading, torch_private
from .autograd import Graph
from .failures import FailureNotes
from .libraries import library_called
from .ops import (
    OpSchema,
    schema_of,
    tensors_among,
    tensors_returned,
    written_tensors,
)
from .rows import StorageRow, TensorRow
from .statements import StatementMap
from .storage import Ledger
from .stream import Stream

_EXPORTS = frozenset(
    {
        "numpy",
        "__array__",
        "from_numpy",
        "as_tensor",
        "asarray",
        "frombuffer",
        "from_dlpack",
        "__dlpack__",
        "share_memory_",
        "from_file",
        "untyped_storage",
        "data_ptr",
    }
)
_BACKWARD = frozenset({"backward", "grad"})
_NOT_AN_API = frozenset({"__get__", "__set__", "__delete__"})

Place = tuple[int | None, int | None]
"""Range of a sub-expression of the program, and name of the library it runs inside, both as indices."""

Origin = tuple[Any, int | None] | None
"""View key and storage id of the tensor a new one was made from; None: made from nothing."""


def _nothing() -> None:
    """Do nothing."""


def leave_recording() -> Any:
    """Make `torch.jit.trace` record nothing: even the size of a tensor would become an op of its graph.

    Returns:
        What to put back with `set_recording_state`; None when it was not recording.
    """
    state: Any = torch_private.recording_state()
    if state is not None:
        torch_private.set_recording_state(None)
    return state


class _Api:
    """An API call that is open."""

    __slots__ = ("events", "name", "name_before", "place", "place_before", "serial_before")

    def __init__(self, name: str, where: Place, events: int, calls: "Calls") -> None:
        self.name = name
        self.place = where
        self.events = events
        self.name_before = calls.api
        self.place_before = calls.place
        self.serial_before = calls.range_serial


class _Op:
    """An op that is running. Its operands are held by the call itself as long as this is."""

    __slots__ = ("api", "event", "given", "newcomers", "node", "place", "rows", "schema")

    def __init__(self, schema: OpSchema, given: list[Any]) -> None:
        self.schema = schema
        self.node: int | None = None
        self.api: int | None = None
        self.place: Place = (None, None)
        self.given = given
        self.rows: list[TensorRow] = []
        self.newcomers: list[TensorRow] = []
        """Operands that no op returned before."""
        self.event: dict[str, Any] | None = None
        """Its event; None in a step that is folded."""


class Calls:
    """Listens to the modes.

    Args:
        stream: Takes the events.
        ledger: Knows tensors and storages.
        graph: Knows graph nodes.
        statements: Of the program, to turn positions into characters.
    """

    def __init__(self, stream: Stream, ledger: Ledger, graph: Graph, statements: StatementMap) -> None:
        self._stream = stream
        self._ledger = ledger
        self._graph = graph
        self._positions: dict[Any, list[Any]] = {}
        self._places: dict[tuple[int, int, int], Place] = {}
        self._columns = columns = statements.columns
        self._program = statements.filename
        self.failures = FailureNotes(stream, ledger, columns)
        self.busy = False
        self.api: int | None = None
        self.place: Place = (None, None)
        self.serial = 0
        """Rises with each statement that begins; an open API call of another statement is not ours."""
        self.range_serial = -1
        self.ops_heard = 0
        self.telling = True
        """Calls are told: statements are heard."""
        self._torch_tensor = stream.name("tensor")
        self.trace_lines: Any = None
        """The trace function while lines are heard, unless the program sets one of its own."""
        self.trace_function: Any = None
        """Ours."""
        self.lines_heard: Any = None
        """The trace function as long as it is there, whoever sets it."""
        self.when_lost: Callable[[], None] = _nothing
        """Called when the program takes the trace function away."""
        self.minds_jit = False
        """`torch.jit.trace` may be recording: what we read must not become part of its graph."""
        self._recording: Any = None
        """Its state while we work."""
        self.hears_api = True
        """API calls are told; else writes may go unheard and more must be looked at."""
        self.touched: dict[int, TensorRow] = {}
        self.changed: dict[int, TensorRow] = {}
        """Touched, and possibly changed in any way."""
        self.births: dict[int, Origin] = {}
        self.written: dict[int, StorageRow] = {}
        self.exported: dict[int, TensorRow] = {}
        self.backward_roots_seen = True
        self._young: list[StorageRow] = []

    # -- quiet

    def _hush(self) -> Any:
        """From now on what runs is ours: not the program's calls, and no lines to hear either.

        Python calls the trace function for every frame entered, ours included: a quarter of all time.
        """
        heard = sys.gettrace()
        if heard is not self.lines_heard and not self.busy:
            self._lost(heard)
        self.busy = True
        sys.settrace(None)
        if self.minds_jit:
            self._recording = leave_recording()
        return heard

    def _lost(self, heard: Any) -> None:
        """Lines are not heard any more: the program took the trace function away, or put its own in place."""
        if heard is None and self.trace_lines is not None:
            return  # Python dropped it, at the recursion limit
        self.lines_heard = heard
        if heard is self.trace_function:
            return  # the program put it back
        sys.settrace(None)
        self.when_lost()

    def _speak(self, heard: Any) -> None:
        """What runs from now on is the program's.

        Python drops a trace function that meets the recursion limit; the program goes on, and so do we.
        """
        if self._recording is not None:
            torch_private.set_recording_state(self._recording)
            self._recording = None
        self.busy = False
        sys.settrace(self.trace_lines if heard is None else heard)

    # -- where the program is

    def where(self) -> Place:
        """Where the program is."""
        program = self._program
        frame, called = sys._getframe(1), None
        while frame is not None:
            code = frame.f_code
            if code.co_filename == program:
                key = (id(code), frame.f_lasti, id(called))
                found = self._places.get(key)
                if found is None:
                    inside = library_called(sys._getframe(1), program)
                    name = None if inside is None else self._stream.name(inside)
                    found = self._places[key] = (self._locate(code, frame.f_lasti), name)
                return found
            frame, called = frame.f_back, code  # type: ignore[assignment]
        return (None, None)

    def range_of(self, frame: Any) -> int | None:
        """Range of the sub-expression a frame of the program is at, as an index."""
        return self._locate(frame.f_code, frame.f_lasti)

    def _locate(self, code: Any, lasti: int) -> int | None:
        positions = self._positions.get(code)
        if positions is None:
            positions = self._positions[code] = list(code.co_positions())
        line, end_line, column, end_column = positions[lasti // 2]
        if line is None or end_line is None or column is None or end_column is None:
            return None
        character = self._columns.character
        return self._stream.range((line, character(line, column), end_line, character(end_line, end_column)))

    def place_now(self) -> Place:
        """Where the open API call is, if it belongs to the running statement, else where the program is."""
        if self.range_serial == self.serial:
            return self.place
        return self.where()

    # -- API calls

    def api_begins(self, func: Any, args: Any, kwargs: Any) -> _Api | None:
        """See `ops.Listener`."""
        heard = self._hush()
        try:
            return self._api_began(func)
        except Exception as error:  # a fault of ours must never be the program's
            self.failures.internal(error)
            return None
        finally:
            self._speak(heard)

    def _api_began(self, func: Any) -> _Api | None:
        name = getattr(func, "__name__", None) or str(func)
        if name in _NOT_AN_API:
            attribute = getattr(getattr(func, "__self__", None), "__name__", name)
            if name != "__get__":
                name = attribute + "="
            elif attribute == "data":
                name = attribute
            else:
                return None
        token = _Api(name, self.where(), self.ops_heard, self)
        self.api = self._stream.name(name)
        self.place, self.range_serial = token.place, self.serial
        return token

    def _restore(self, token: _Api) -> None:
        self.api, self.place = token.name_before, token.place_before
        self.range_serial = token.serial_before

    def api_ends(self, token: _Api, func: Any, args: Any, kwargs: Any, out: Any) -> None:
        """See `ops.Listener`."""
        heard = self._hush()
        try:
            with torch_private.without_functions():
                self._api_ended(token, args, kwargs, out)
        except Exception as error:  # a fault of ours must never be the program's
            self.failures.internal(error)
        finally:
            self._restore(token)
            self._speak(heard)

    def _api_ended(self, token: _Api, args: Any, kwargs: Any, out: Any) -> None:
        ledger = self._ledger
        returned = tensors_returned(out)
        if token.name in _BACKWARD:
            self.after_backward([t for t in tensors_among(args, kwargs) if ledger.known(t)])
        for t in returned:
            self._graph.node_of(t)
        quiet = token.events == self.ops_heard
        if not (quiet or token.name in _EXPORTS):
            return
        given = tensors_among(args, kwargs)
        for t in (*given[:1], *returned):
            row = ledger.tensor(t)
            self.changed[row.id] = row
        if token.name in _EXPORTS:
            for t in (*given, *returned):
                self._export(t)
        told = returned or token.name in _EXPORTS or token.name.endswith(("=", "_"))
        if quiet and told and given:
            inputs = [ledger.tensor(t).id for t in given]
            outputs = [ledger.tensor(t).id for t in returned]
            for t, row_id in zip(returned, outputs, strict=True):
                if row_id not in inputs:
                    self._born_without_op(given[0], t)
            self._stream.events.append(
                {
                    "kind": "api",
                    "api": self._stream.name(token.name),
                    "range": token.place[0],
                    "inputs": inputs,
                    "outputs": outputs,
                    "returned_input": any(o in inputs for o in outputs),
                }
            )

    def _born_without_op(self, source: Any, t: Any) -> None:
        row = self._ledger.tensor(t)
        if row.state is None and row.id not in self.births:
            storage = self._ledger.storage(source)
            place = None if storage is None else storage.id
            self.births[row.id] = (reading.view_key(source), place)

    def _export(self, t: Any) -> None:
        row = self.touch(t)
        storage = self._ledger.storage(t, row)
        if storage is not None:
            storage.versionless = True
            self.exported[row.id] = row

    def api_raised(self, token: _Api, func: Any, args: Any, kwargs: Any, error: BaseException) -> None:
        """See `ops.Listener`."""
        heard = self._hush()
        try:
            with torch_private.without_functions():
                self.failures.note(error, args, kwargs, api=token.name)
        except Exception as fault:
            self.failures.internal(fault)
        finally:
            self._restore(token)
            self._speak(heard)

    def after_backward(self, roots: list[Any]) -> None:
        """A backward pass ran from `roots`: note freed nodes and the leaves to look at."""
        self.backward_roots_seen = True
        for row in self._graph.after_backward(roots):
            self.touched[row.id] = row

    # -- ops

    def touch(self, t: Any) -> TensorRow:
        """The end of the statement will look at this tensor."""
        row = self._ledger.tensor(t)
        self.touched[row.id] = row
        return row

    def op_begins(self, func: Any, args: Any, kwargs: Any) -> "_Op | None":
        """See `ops.Listener`."""
        heard = self._hush()
        try:
            with torch_private.without_functions():
                return self._op_began(func, args, kwargs)
        except Exception as error:
            self.failures.internal(error)
            return None
        finally:
            self._speak(heard)

    def _op_began(self, func: Any, args: Any, kwargs: Any) -> "_Op":
        ledger, touched = self._ledger, self.touched
        self.ops_heard += 1
        if self._young:
            ledger.expire(self._young)
            self._young.clear()
        op = _Op(schema_of(func), tensors_among(args, kwargs))
        for t in op.given:
            row = ledger.tensor(t)
            if row.storage is None:
                newest = ledger.next_storage_id()
                storage = ledger.storage(t, row)
                if storage is not None and storage.id >= newest:
                    op.newcomers.append(row)
                if storage is not None and self.api == self._torch_tensor:
                    storage.versionless = False  # a copy; torch.as_tensor may share an array's memory
            touched[row.id] = row
            op.rows.append(row)
        if torch_private.graph_task_id() >= 0:
            current = torch_private.current_node()
            op.node = None if current is None else self._stream.name(type(current).__name__)
            self.backward_roots_seen = False
        op.api, op.place = self.api, self.place_now()
        if not self.telling:
            return op
        op.event = {
            "kind": "op",
            "site": None,
            "inputs": [row.id for row in op.rows],
            "outputs": (),
        }
        # At first without a result: steps may end within an op, and a fault may keep us from its end.
        self._settle(op, (), (), (), failed=False)
        self._stream.events.append(op.event)
        return op

    def _settle(self, op: "_Op", views: Any, verdicts: Any, writes: Any, *, failed: bool) -> None:
        """The op is over: what came of it."""
        if op.event is None:
            return
        name = self._stream.name(op.schema.name)
        where, inside = op.place
        site = (
            (name, op.api, where, tuple(views), tuple(verdicts), tuple(writes), op.node, failed),
            inside if op.node is None else None,
        )
        # A step may have ended within the op and taken the event along: then what it needs is an index.
        told = type(op.event["site"]) is int
        op.event["site"] = self._stream.site(site) if told else site

    def op_ends(self, op: "_Op", func: Any, args: Any, kwargs: Any, out: Any) -> None:
        """See `ops.Listener`."""
        heard = self._hush()
        try:
            with torch_private.without_functions():
                self._op_ended(op, args, kwargs, out)
        except Exception as error:
            self.failures.internal(error)
        finally:
            self._speak(heard)

    def _op_ended(self, op: "_Op", args: Any, kwargs: Any, out: Any) -> None:
        ledger = self._ledger
        writes: list[TensorRow] = []
        if op.schema.written:
            writes = [ledger.tensor(t) for t in written_tensors(op.schema, args, kwargs)]
            for row in writes:
                if row.storage is not None:
                    self.written[row.storage.id] = row.storage
        newest = ledger.next_storage_id()
        outputs, views, verdicts = [], [], []
        for t in tensors_returned(out):
            row = ledger.tensor(t)
            storage = ledger.storage(t, row)
            self.touched[row.id] = row
            outputs.append(row.id)
            if op.event is not None:
                row.look = key = reading.view_key(t)
                views.append(key)
            if row in op.rows:
                made = op.schema.name == "aten::lift_fresh" and row in op.newcomers
                verdicts.append("in-place" if row in writes else "fresh" if made else "same")
                continue
            if storage is not None and storage.id >= newest:
                storage.versionless = False
                self._young.append(storage)
            shares = storage is not None and any(r.storage is storage for r in op.rows)
            verdicts.append("view" if shares else "fresh")
            if row.state is None:
                self.births.setdefault(row.id, self._origin(op))
                if len(op.given) == 1:
                    self._transfer(op.given[0], t, row)
        if op.event is not None:
            op.event["outputs"] = outputs
        written = sorted({op.rows.index(row) for row in writes})
        self._settle(op, views, verdicts, written, failed=False)
        self.failures.made(outputs, op.place[0])

    def _origin(self, op: "_Op") -> Origin:
        """The first operand, as it looked when last read; what that was made from, if in this statement."""
        if not op.rows:
            return None
        row = op.rows[0]
        if row.id in self.births and row.state is None:
            return self.births[row.id]
        key = row.state[0] if row.state is not None else row.look
        if key is None:
            key = reading.view_key(op.given[0])
        return (key, None if row.storage is None else row.storage.id)

    def _transfer(self, source: Any, t: Any, row: TensorRow) -> None:
        """A copy to another device, when the op made its output from a tensor elsewhere."""
        there, here = reading.get_device(source), reading.get_device(t)
        if there != here and "meta" not in (there.type, here.type):
            self._stream.events.append(
                {
                    "kind": "transfer",
                    "source": self._ledger.tensor(source).id,
                    "target": row.id,
                    "nbytes": reading.numel(t) * reading.element_size(t),
                }
            )

    def op_raised(self, op: "_Op", func: Any, args: Any, kwargs: Any, error: BaseException) -> None:
        """See `ops.Listener`."""
        heard = self._hush()
        try:
            self._settle(op, (), (), (), failed=True)
            for row in op.rows:
                self.changed[row.id] = row  # it may have resized `out` before it raised
            with torch_private.without_functions():
                self.failures.note(error, args, kwargs, op=op.schema.name, node=op.node)
        except Exception as fault:
            self.failures.internal(fault)
        finally:
            self._speak(heard)
