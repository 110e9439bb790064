"""What a statement calls: hears the two modes, writes down API calls, ops and transfers.

It remembers by row, never by tensor, what the end of the statement must look at again: tensors touched,
storages written, tensors born with what they were made from. It does not read states (`storage`).
"""

import sys
import types
from typing import Any

from . import reading, torch_private
from .autograd import Graph
from .backward import BackwardPasses
from .classes import class_of, name_of
from .custom_kernels import runner_of
from .dispatch import Routes
from .failures import FailureNotes
from .libraries import library_called
from .open_calls import OpenApi, OpenOp, Origin, Place
from .ops import (
    OpSchema,
    is_built_in,
    keep_foreach_versions,
    keep_version_of_copy,
    keep_version_of_filled,
    operands,
    schema_of,
    tensors_returned,
    written_tensors,
)
from .quiet import Quiet
from .rows import Running, StorageRow, TensorRow
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
_OURS = 1
"""Dispatch modes while the program has none of its own."""
_HOOKS = frozenset({"register_hook", "register_post_accumulate_grad_hook", "retain_grad"})
_NOT_AN_API = frozenset({"__get__", "__set__", "__delete__"})


class Calls(Quiet):
    """Listens to the modes.

    Args:
        stream: Takes the events.
        now: The statement that is running.
        ledger: Knows tensors and storages.
        graph: Knows graph nodes.
        statements: Of the program, to turn positions into characters.
    """

    def __init__(
        self, stream: Stream, now: Running, ledger: Ledger, graph: Graph, statements: StatementMap
    ) -> None:
        super().__init__()
        self._stream = stream
        self._ledger = ledger
        self._graph = graph
        self._backward = BackwardPasses(stream, now, graph)
        self._positions: dict[Any, list[Any]] = {}
        self._places: dict[tuple[int, int, int], Place] = {}
        self._columns = columns = statements.columns
        self._program = statements.filename
        self.failures = FailureNotes(stream, ledger, columns, self._program)
        self.api_now: int | None = None
        self.place: Place = (None, None)
        self.serial = 0
        """Rises with each statement that begins; an open API call of another statement is not ours."""
        self.range_serial = -1
        self.ops_heard = 0
        self.telling = True
        """Calls are told: statements are heard."""
        self._torch_tensor = stream.name("tensor")
        self.hears_api = True
        """API calls are told; else writes may go unheard and more must be looked at."""
        self.touched: dict[int, TensorRow] = {}
        self.changed: dict[int, TensorRow] = {}
        """Touched, and possibly changed in any way."""
        self.births: dict[int, Origin] = {}
        self.written: dict[int, StorageRow] = {}
        self.exported: dict[int, TensorRow] = {}
        self.backward_roots_seen = True
        self.modes: tuple[Any, ...] = ()
        """The modes we hear by, the outermost first."""
        self._young: list[StorageRow] = []
        self._routes = Routes(stream)

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
                    found = (self._locate(code, frame.f_lasti), name)
                    if found[0] is not None:
                        self._places[key] = found
                if found[0] is not None:
                    return found
                # What dynamo made of a function has no columns: its graph runs for the call of it.
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

    def api(self, heard: Any, func: Any, args: Any, kwargs: Any) -> Any:
        """See `ops.Listener`."""
        self.hush(heard)
        token = None
        try:
            still = False
            try:
                token = self._api_began(func)
                if token is not None and self.may_be_still and is_built_in(func):
                    still = self._runs_no_python(args, kwargs)
            except Exception as fault:  # a fault of ours must never be the program's
                self.failures.internal(fault)
            if still:
                self.busy, self.still = False, True
            else:
                self.speak(heard)
            try:
                out = func(*args, **kwargs)
            except BaseException as error:
                heard = self._hush_again(heard, still)
                if token is not None:
                    self._raised(error, args, kwargs, api=token.name)
                raise
            heard = self._hush_again(heard, still)
            if token is not None:
                try:
                    with torch_private.without_functions():
                        self._api_ended(token, args, kwargs, out)
                except Exception as fault:
                    self.failures.internal(fault)
            return out
        finally:
            self.still = False
            if token is not None:
                self.api_now, self.place = token.name_before, token.place_before
                self.range_serial = token.serial_before
            self.speak(heard)

    def _runs_no_python(self, args: Any, kwargs: Any) -> bool:
        """What a built-in function is given has no methods of the program's, nor is anything hooked in."""
        return (
            operands(args, kwargs)[1]
            and torch_private.dispatch_modes() == _OURS
            and torch_private.saved_tensor_hooks(True) is None
        )

    def _hush_again(self, heard: Any, still: bool) -> Any:
        """A call is over. Returns the trace function that was there."""
        if still:
            self.busy, self.still = True, False
            return heard
        heard = sys.gettrace()
        sys.settrace(None)
        self.hush(heard)
        return heard

    def _raised(self, error: BaseException, args: Any, kwargs: Any, **where: Any) -> None:
        try:
            with torch_private.without_functions():
                self.failures.note(error, args, kwargs, **where)
        except Exception as fault:
            self.failures.internal(fault)

    def _api_began(self, func: Any) -> OpenApi | None:
        name = name_of(func) or class_of(func)
        if name in _NOT_AN_API:
            attribute = name_of(func.__self__) or name if type(func) is types.MethodWrapperType else name
            if name != "__get__":
                name = attribute + "="
            elif attribute == "data":
                name = attribute
            else:
                return None
        token = OpenApi(name, self.where(), self.ops_heard, self)
        self.api_now = self._stream.name(name)
        self.place, self.range_serial = token.place, self.serial
        self._routes.note_thread(token.place[0], self.api_now)
        return token

    def _api_ended(self, token: OpenApi, args: Any, kwargs: Any, out: Any) -> None:
        ledger = self._ledger
        returned = tensors_returned(out)
        if token.name in _BACKWARD:
            self.after_backward([t for t in operands(args, kwargs)[0] if ledger.known(t)])
        for t in returned:
            self._graph.node_of(t)
        quiet = token.events == self.ops_heard
        if not (quiet or token.name in _EXPORTS):
            return
        given = operands(args, kwargs)[0]
        for t in (*given[:1], *returned):
            row = ledger.tensor(t)
            self.changed[row.id] = row
        if token.name in _EXPORTS:
            for t in (*given, *returned):
                self._export(t)
        told = returned or token.name in _EXPORTS | _HOOKS or token.name.endswith(("=", "_"))
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

    def op(self, heard: Any, func: Any, args: Any, kwargs: Any) -> Any:
        """See `ops.Listener`."""
        self.hush(heard)
        try:
            schema = schema_of(func)
            if schema.profiles:
                return schema.run(*args, **kwargs)
            op = None
            try:
                with torch_private.without_functions():
                    op = self._op_began(schema, args, kwargs)
            except Exception as fault:
                self.failures.internal(fault)
            still = self.still or (
                op is not None and op.plain and self.may_be_still and not torch_private.dispatch_modes()
            )
            if not still:
                self.speak(heard)
            run = schema.run
            if op is not None and not schema.native:
                run = runner_of(func, op.given, self.modes) or run
            try:
                out = run(*args, **kwargs)
            except BaseException as error:
                if not still:
                    heard = self._hush_again(heard, still)
                if op is not None:
                    self._op_raised(op, error, args, kwargs)
                raise
            if not still:
                heard = self._hush_again(heard, still)
            if op is not None:
                if schema.bumps:
                    keep_foreach_versions(func, args, kwargs)
                elif schema.copies and self.minds_inference:
                    keep_version_of_copy(op.given, out)
                elif schema.fills:
                    keep_version_of_filled(out)
                try:
                    with torch_private.without_functions():
                        self._op_ended(op, args, kwargs, out)
                except Exception as fault:
                    self.failures.internal(fault)
            return out
        finally:
            self.speak(heard)

    def _op_began(self, schema: OpSchema, args: Any, kwargs: Any) -> OpenOp:
        ledger, touched = self._ledger, self.touched
        self.ops_heard += 1
        if self._young:
            ledger.expire(self._young)
            self._young.clear()
        given, plain = operands(args, kwargs)
        op = OpenOp(schema, given, plain and schema.native)
        rows = op.rows
        for t in given:
            row = ledger.tensor(t)
            if row.storage is None:
                newest = ledger.next_storage_id()
                storage = ledger.storage(t, row)
                if storage is not None and storage.id >= newest:
                    op.newcomers.append(row)
                if storage is not None and self.api_now == self._torch_tensor:
                    storage.versionless = False  # a copy; torch.as_tensor may share an array's memory
            touched[row.id] = row
            rows.append(row)
        task = torch_private.graph_task_id()
        if task >= 0:
            current = torch_private.current_node()
            op.node = None if current is None else self._stream.name(type(current).__name__)
            op.backward = True
            self.backward_roots_seen = False
            if self.telling:
                self._backward.runs(self.serial, task, current)
        op.api = self.api_now
        op.place = self.place if self.range_serial == self.serial else self.where()
        if self.telling:
            # At first without a result: steps may end within an op, and a fault may keep us from its end.
            op.event = {
                "kind": "op",
                "site": self._site(op, (), (), (), failed=False),
                "inputs": [row.id for row in rows],
                "outputs": (),
            }
            self._stream.events.append(op.event)
        return op

    def _site(self, op: OpenOp, views: Any, verdicts: Any, writes: Any, *, failed: bool) -> Any:
        where, inside = op.place
        return (
            (
                self._stream.name(op.schema.name),
                op.api,
                where,
                views,
                verdicts,
                writes,
                op.node,
                failed,
                op.route,
            ),
            inside if op.node is None else None,
        )

    def _settle(self, op: OpenOp, site: Any) -> None:
        """The op is over: what came of it."""
        if op.event is not None:
            # A step may have ended within the op and taken the event along: then what it needs is an index.
            told = type(op.event["site"]) is int
            op.event["site"] = self._stream.site(site) if told else site

    def _op_ended(self, op: OpenOp, args: Any, kwargs: Any, out: Any) -> None:
        ledger, schema, rows, touched = self._ledger, op.schema, op.rows, self.touched
        writes: list[TensorRow] = []
        if schema.written:
            writes = [ledger.tensor(t) for t in written_tensors(schema, args, kwargs)]
            for row in writes:
                if row.storage is not None:
                    self.written[row.storage.id] = row.storage
        newest = ledger.next_storage_id()
        outputs, views, verdicts = [], [], []
        for t in tensors_returned(out):
            row = ledger.tensor(t)
            known = row in rows
            storage = row.storage
            if storage is None or not known or schema.sets_storage:
                storage = ledger.storage(t, row)
            touched[row.id] = row
            outputs.append(row.id)
            if op.event is not None:
                row.look = key = reading.view_key(t)
                views.append(key)
            if known:
                made = schema.name == "aten::lift_fresh" and row in op.newcomers
                verdicts.append("in-place" if row in writes else "fresh" if made else "same")
                if schema.copies_into and len(rows) == 2:
                    self._transfer(op.given[1], t, row)
                continue
            verdict = "fresh"
            if storage is not None:
                if storage.id >= newest:
                    storage.versionless = False
                    self._young.append(storage)
                elif any(each.storage is storage for each in rows):
                    verdict = "view"
            verdicts.append(verdict)
            if row.state is None:
                if row.id not in self.births:
                    self.births[row.id] = self._origin(op)
                if len(rows) == 1:
                    source = rows[0].storage
                    if storage is None or source is None or storage.device != source.device:
                        self._transfer(op.given[0], t, row)
        if op.event is not None:
            op.event["outputs"] = outputs
            written = tuple(sorted({rows.index(row) for row in writes})) if writes else ()
            self._find_route(op, out)
            self._settle(op, self._site(op, tuple(views), tuple(verdicts), written, failed=False))
            if op.backward:
                self._backward.made([(t, ledger.tensor(t)) for t in tensors_returned(out)])
        self.failures.made(outputs, op.place[0])

    def _find_route(self, op: OpenOp, out: Any) -> None:
        key = (op.place[0], op.api, op.schema.name)
        if key in self._routes.known:
            op.route = self._routes.known[key]
        elif op.schema.native:
            op.route = self._routes.of(key, op.given, tensors_returned(out), backward=op.backward)

    def _op_raised(self, op: OpenOp, error: BaseException, args: Any, kwargs: Any) -> None:
        try:
            self._settle(op, self._site(op, (), (), (), failed=True))
            for row in op.rows:
                self.changed[row.id] = row  # it may have resized `out` before it raised
        except Exception as fault:
            self.failures.internal(fault)
        self._raised(error, args, kwargs, op=op.schema.name, node=op.node)

    def _origin(self, op: OpenOp) -> Origin:
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
                    "source_device": reading.device_name(there),
                    "target_device": reading.device_name(here),
                    "nbytes": reading.numel(t) * reading.element_size(t),
                }
            )
