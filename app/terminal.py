"""A trace as text for a terminal: source with lamps, what each line changed, why it failed, the tensors.

Says the same sentences as the page, from the same catalogues. Runs nothing. Everything that comes
from the program is a stranger's text: control characters are made visible, never sent on.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate, groupby, islice

from rich.cells import cell_len, chop_cells
from rich.console import Console
from rich.syntax import Syntax
from rich.text import Text

from .messages import Language, parts_of, text_of
from .schema import Fold, Layer, Op, OpCall, Sentence, SourceRange, Trace, op_of
from .schema.replay import (
    changed_lines,
    going_on,
    inside_libraries,
    own_events,
    sentences_of,
    state_document,
)
from .schema.state import StateDocument
from .terminal_memory import memory_lines
from .terminal_text import visible

LAMPS: dict[Layer, tuple[str, str]] = {
    "data": ("■", "blue"),
    "metadata": ("◆", "yellow"),
    "autograd": ("▲", "magenta"),
    "device": ("⬢", "green"),
}
"""Sign and colour of each layer. The sign alone says which it is."""

_UNLIT = "·"
_NO_CHANGE = (".none", "metadata.like")
_SAYS_THE_MESSAGE = ("error.python-error", "error.torch-error")
_LONGEST_STDOUT_LINES = 200
_MOST_OPS_INSIDE = 8
"""Ops inside a library that are told one by one."""
_MOST_FOLDS = 3
_NARROWEST = 20
_LESS_IMPORTANT = ("offset", "version", "dtype", "device", "grad_fn")
_COLUMNS = ("name", "shape", "stride", "offset", "dtype", "device", "storage", "version", "grad_fn")


@dataclass(frozen=True, kw_only=True)
class Manner:
    """How a trace is shown."""

    language: Language = "en"
    step: int | None = None
    """The step to stop at; the last one if None."""

    verbose: bool = False
    """Show the aten ops of each line too."""

    title: str | None = None
    """The program's name, if it has one."""

    output: bool = True
    """Show what the program printed; it may stand on the terminal already."""


def print_trace(trace: Trace, console: Console, manner: Manner) -> None:
    """Print a trace.

    Args:
        trace: Explained.
        console: Where to; it knows its width and whether it has colours.
        manner: How.

    Raises:
        IndexError: There is no such step.
    """
    _Printer(trace, console, manner).print()


class _Printer:
    def __init__(self, trace: Trace, console: Console, manner: Manner) -> None:
        self.trace = trace
        self.console = console
        self.language: Language = manner.language
        self.verbose = manner.verbose
        self.shows_output = manner.output
        self.title = manner.title
        self.last = len(trace.steps) if manner.step is None else manner.step
        self.state: StateDocument = state_document(trace, self.last)
        self.whole = self.last == len(trace.steps)
        self.source = Syntax("", "python", theme="ansi_dark").highlight(visible(trace.source)).split("\n")
        self.number_width = len(str(max(len(self.source), 1)))
        self.margin = self.number_width + 14

    def say(self, message_id: str, **args: object) -> Text:
        return styled(self.language, message_id, args)

    def word(self, message_id: str) -> str:
        return text_of(self.language, message_id, {})

    def print(self) -> None:
        self._header()
        self._program()
        self._outcome()
        self._notes()
        self._comparison()
        self._tensors()
        self._memory()
        if self.shows_output:
            self._stdout()
        self._warnings()

    def put(self, *pieces: str | Text, style: str = "", indent: int = 0, sign: Text | None = None) -> None:
        """Print a paragraph; the lines after its first begin where its text does, not its sign."""
        hang = indent + (0 if sign is None else sign.cell_len)
        text = Text.assemble(*pieces, style=style)
        for number, line in enumerate(text.wrap(self.console, max(self.console.width - hang, _NARROWEST))):
            line.rstrip()
            begin = (
                Text(" " * indent).append_text(sign) if sign is not None and number == 0 else Text(" " * hang)
            )
            self.console.print(begin.append_text(line), no_wrap=True, overflow="ignore", crop=False)

    def heading(self, message_id: str, **args: object) -> None:
        self.console.print()
        text = self.say(message_id, **args)
        text.stylize("bold")
        self.console.print(text)

    # ---- parts

    def _header(self) -> None:
        if not self.shows_output and self.state.stdout:
            self.console.print()  # the program's own words end here
        if self.title is not None:
            self.put(visible(self.title), style="bold")
        about = self.trace.environment
        device = about.device + (f" ({self.word('terminal.simulated')})" if about.simulated else "")
        place = self.say("terminal.step", step=self.last, steps=len(self.trace.steps))
        self.put(
            visible(f"torch {about.torch} · Python {about.python} · {device} · "),
            "" if about.seed is None else f"seed {about.seed} · ",
            place,
            style="dim",
        )
        self.console.print()

    def _program(self) -> None:
        _, lamps = changed_lines(self.trace, self.last)
        last_step: dict[int, list[int]] = {}
        """Line → its last execution, and the steps that went on with it."""
        times: dict[int, int] = {}
        ends: dict[int, list[int]] = {}
        """Line → first lines of the statements that end on it: what they changed is told there."""
        ran: set[int] = set()
        again = going_on(self.trace)
        folds: dict[int, list[Fold]] = {}
        """Line of a loop → its iterations that were folded."""
        for number, step in enumerate(self.trace.steps[: self.last], 1):
            place = self.trace.statements[step.statement].range
            if place.line not in last_step:
                ends.setdefault(place.end_line, []).append(place.line)
                ran.update(range(place.line, place.end_line + 1))
            if number in again and place.line in last_step:
                last_step[place.line].append(number)
                continue
            last_step[place.line] = [number]
            times[place.line] = times.get(place.line, 0) + step.executions
            if step.fold is not None and step.fold.loop == step.statement:
                folds.setdefault(place.line, []).append(step.fold)
        ops = self._ops() if self.verbose else {}
        current = None if self.whole else self.state.line
        for number, text in enumerate(self.source, 1):
            if number == len(self.source) and not text.plain:
                break
            first = number in last_step
            lit = lamps.get(str(number), ()) if first else None
            self._source_line(number, text, lit, ran=number in ran, current=number == current)
            for line in ends.get(number, ()):
                self._changes(last_step[line], times[line], ops)

    def _source_line(
        self, number: int, text: Text, lamps: tuple[Layer, ...] | None, *, ran: bool, current: bool
    ) -> None:
        line = Text("▶" if current else " ", style="bold yellow")
        line = Text.assemble(line, (f"{number:>{self.number_width}} ", "" if ran else "dim"))
        for layer, (sign, colour) in LAMPS.items():
            if lamps is None:
                line.append("  ")
            elif layer in lamps:
                line.append(f" {sign}", style=f"bold {colour}")
            else:
                line.append(f" {_UNLIT}", style="dim")
        failed = self._failing_range()
        pointer = self._pointer(failed, text.plain) if failed and failed.line == number else None
        for piece, marks in self._folded(text, pointer):
            line.append("  │ ", style="dim").append_text(piece)
            line.rstrip()
            self._whole(line)
            if marks.plain.strip():
                self._whole(Text(" " * self.margin).append_text(marks))
            line = Text(" " * (self.margin - 4))

    def _whole(self, line: Text) -> None:
        self.console.print(line, no_wrap=True, overflow="ignore", crop=False)

    def _folded(self, text: Text, pointer: Text | None) -> list[tuple[Text, Text]]:
        """Source in pieces that fit the terminal, each with what points at it; a file takes it whole."""
        pointer = pointer or Text()
        room = max(self.console.width - self.margin, _NARROWEST)
        if not self.console.is_terminal or cell_len(text.plain) <= room:
            return [(text, pointer)]
        lengths = [len(piece) for piece in chop_cells(text.plain, room)]
        pieces = text.divide(list(accumulate(lengths))[:-1])
        marks = pointer.divide([i * room for i in range(1, len(pieces))])
        return list(zip(pieces, marks, strict=True))

    def _pointer(self, place: SourceRange, line: str) -> Text:
        """Marks below a range of a line, where it starts there."""
        end = place.end_column if place.end_line == place.line else len(line)
        source = "".join(self.trace.source.split("\n")[place.line - 1 : place.line])
        before = cell_len(visible(source[: place.column]))
        width = max(cell_len(visible(source[place.column : end])), 1)
        return Text.assemble(" " * before, ("^" * width, "bold red"))

    def _failing_range(self) -> SourceRange | None:
        return self.trace.outcome.range if self.whole else None

    def _changes(self, steps: list[int], times: int, ops: dict[int, list[Text]]) -> None:
        told = [[s for s in sentences_of(self.trace, step) if not _says_nothing(s)] for step in steps]
        if times > 1:
            message = "terminal.last-time" if any(told) or any(map(ops.get, steps)) else "terminal.times"
            self.put(self.say(message, n=times), style="dim", indent=self.margin)
        for step, sentences in zip(steps, told, strict=True):
            for sentence in sentences:
                sign, colour = LAMPS[sentence.layer] if sentence.layer else (" ", "")
                text = styled(self.language, sentence.id, sentence.args)
                self.put(text, indent=self.margin, sign=Text(f"{sign} ", style=colour))
            for op in ops.get(step, ()):
                self.put(op, style="dim", indent=self.margin)

    def _ops(self) -> dict[int, list[Text]]:
        """Per step its ops: name, what came of it, and what it ran for."""
        libraries = inside_libraries(self.trace)
        return {
            number: self._ops_of([event for event in events if event.kind == "op"], libraries)
            for number, (_, events) in enumerate(islice(own_events(self.trace), self.last), 1)
        }

    def _ops_of(self, calls: list[OpCall], libraries: dict[int, str]) -> list[Text]:
        """A line per op; those that a library ran are counted under its name, a few of them told as well."""
        told: list[Text] = []
        for library, group in groupby(calls, lambda call: libraries.get(call.site)):
            ops = [self._op(op_of(self.trace, call)) for call in group]
            if library is None:
                told += ops
                continue
            told.append(self.say("terminal.inside", n=len(ops), module=library))
            if len(ops) <= _MOST_OPS_INSIDE:
                told += [Text("  ").append_text(op) for op in ops]
        return told

    def _op(self, op: Op) -> Text:
        verdicts = " + ".join(dict.fromkeys(self.word(f"terminal.verdict.{v}") for v in op.verdicts))
        text = Text(visible(self.trace.names[op.op]), style="cyan")
        if op.failed:
            verdicts = self.word("terminal.verdict.failed")
        if verdicts:
            text.append(f"  {verdicts}")
        if op.node is not None:
            text.append(f"  ← {visible(self.trace.names[op.node])}")
        elif op.api is not None:
            text.append(f"  ← {visible(self.trace.names[op.api])}")
        return text

    def _outcome(self) -> None:
        outcome = self.trace.outcome
        if not self.whole or outcome.kind == "finished":
            return
        self.console.print()
        if outcome.kind == "raised":
            self.put(
                Text(visible(f"{outcome.type}"), style="bold red"),
                Text(f" {self.word('terminal.line')} {outcome.line}: " if outcome.line else ": "),
                visible(outcome.message or ""),
            )
        else:
            self.put(self.say(f"terminal.{outcome.kind}"), style="bold red")
            if self.trace.explanation is None:
                self.put(visible(outcome.message or ""))
        if self.trace.explanation is not None:
            for sentence in self.trace.explanation.sentences:
                if sentence.id in _SAYS_THE_MESSAGE:
                    continue  # it stands above, word for word
                sign = Text("→ " if sentence.id.endswith(".fix") else "  ", style="bold")
                self.put(styled(self.language, sentence.id, sentence.args), indent=2, sign=sign)

    def _notes(self) -> None:
        reached = {note.line for note in self.state.notes}
        notes = [note for note in self.trace.notes if note.line in reached]
        if notes:
            self.heading("terminal.notes")
        for note in notes:
            text = styled(self.language, note.sentence.id, note.sentence.args)
            sign = Text(f"⚠ {self.word('terminal.line')} {note.line}: ", style="yellow")
            self.put(text, indent=2, sign=sign)

    def _comparison(self) -> None:
        """What watching changed; of a program that was not compared, why."""
        comparison = self.trace.comparison
        if not self.whole or not comparison.sentences:
            return
        self.heading("terminal.compared")
        sign = Text("≠ " if comparison.state == "differs" else "  ", style="yellow")
        for sentence in comparison.sentences:
            self.put(styled(self.language, sentence.id, sentence.args), indent=2, sign=sign)

    def _tensors(self) -> None:
        names = {**self.state.bindings, **self.state.locals}
        if not names:
            return
        self.heading("terminal.tensors")
        rows = [dict(zip(_COLUMNS, self._row(n, i), strict=True)) for n, i in names.items()]
        titles = {column: self.word(f"terminal.{column}") for column in _COLUMNS}
        columns = self._columns_that_fit(titles, rows)
        widths = {c: max(cell_len(titles[c]), *(row[c].cell_len for row in rows)) for c in columns}
        heads = {column: Text(titles[column], style="dim") for column in columns}
        for row in (heads, *rows):
            line = Text("  ", no_wrap=True)
            for column in columns:
                line.append_text(row[column]).append(" " * (widths[column] - row[column].cell_len + 2))
            line.rstrip()
            self.console.print(line, overflow="ignore", crop=False)
        self._traits(names)

    def _traits(self, names: dict[str, int]) -> None:
        """What the table has no column for: a quantizer, a wrapper, lost bytes, elements that share cells."""
        told: dict[str, tuple[Text, list[str]]] = {}
        for name, tensor_id in names.items():
            for trait in self.state.tensors[str(tensor_id)].traits:
                text = styled(self.language, f"trait.{trait.id}", trait.args)
                told.setdefault(text.plain, (text, []))[1].append(visible(name))
        for text, owners in told.values():
            listed = text_of(self.language, "list.names", {"names": owners})
            self.put(Text.assemble((listed, "bold"), ": ", text), indent=2)

    def _columns_that_fit(self, titles: dict[str, str], rows: list[dict[str, Text]]) -> list[str]:
        """All columns, without the device when all is on the CPU; on a narrow terminal the main ones."""
        columns = list(_COLUMNS)
        if all(row["device"].plain == "cpu" for row in rows):
            columns.remove("device")
        widths = {c: max(cell_len(titles[c]), *(row[c].cell_len for row in rows)) + 2 for c in columns}
        for column in _LESS_IMPORTANT:
            if sum(widths[c] for c in columns) > self.console.width and column in columns:
                columns.remove(column)
        return columns

    def _row(self, name: str, tensor_id: int) -> list[Text]:
        tensor = self.state.tensors[str(tensor_id)]
        node = None if tensor.grad_fn is None else self.state.nodes.get(str(tensor.grad_fn))
        graph = Text("")
        if node is not None:
            graph = Text(self._node_name(tensor.grad_fn, node.name), style="magenta")
        elif tensor.is_leaf is None:
            graph = Text(self.word("terminal.unavailable"), style="magenta")
        elif tensor.requires_grad:
            graph = Text(self.word("terminal.leaf"), style="magenta")
        if tensor.grad is not None:
            graph.append(" · .grad")
        return [
            Text(visible(name), style="bold"),
            Text(_tuple(tensor.shape)),
            Text(_tuple(tensor.stride)),
            Text("?" if tensor.storage_offset is None else str(tensor.storage_offset)),
            Text(visible(tensor.dtype.removeprefix("torch."))),
            Text(visible(tensor.device)),
            Text("–" if tensor.storage is None else f"S{tensor.storage}", style="blue"),
            Text("–" if tensor.version is None else str(tensor.version)),
            graph,
        ]

    def _node_name(self, node: int | None, observed: str) -> str:
        plain = {each.node: each.name for each in self.trace.comparison.nodes}.get(node or 0)
        if plain is None:
            return visible(observed)
        return visible(text_of(self.language, "ui.graph.plain", {"observed": observed, "plain": plain}))

    def _memory(self) -> None:
        """Storages that several names look at, those without a name, and bytes alive."""
        lines = memory_lines(self.trace, self.state, self.language)
        if lines:
            self.heading("terminal.memory")
        for message_id, args in lines:
            self.put(self.say(message_id, **args), indent=2)

    def _stdout(self) -> None:
        lines = visible(self.state.stdout).splitlines()
        if not lines:
            return
        self.heading("terminal.output")
        for line in lines[:_LONGEST_STDOUT_LINES]:
            self.put(line, indent=2)
        if len(lines) > _LONGEST_STDOUT_LINES:
            self.put(self.say("terminal.more-lines", n=len(lines) - _LONGEST_STDOUT_LINES), style="dim")

    def _warnings(self) -> None:
        if not self.state.warnings:
            return
        self.heading("terminal.warnings")
        for warning in self.state.warnings:
            place = "" if warning.line is None else f"{self.word('terminal.line')} {warning.line}: "
            self.put(f"{place}{visible(warning.category)}: {visible(warning.message)}", indent=2)


def styled(language: Language, message_id: str, args: dict[str, object]) -> Text:
    """A message as rich text.

    Args:
        language: `en` or `zh`.
        message_id: Its id.
        args: Values of its placeholders.

    Returns:
        The text: code in cyan, what is strong in bold.
    """
    styles = {"plain": "", "code": "cyan", "strong": "bold"}
    return Text.assemble(
        *((visible(part.text), styles[part.style]) for part in parts_of(language, message_id, args))
    )


def _tuple(values: Iterable[int] | None) -> str:
    return "?" if values is None else str(tuple(values))


def _says_nothing(sentence: Sentence) -> bool:
    return sentence.id.endswith(_NO_CHANGE) or ".none-" in sentence.id
