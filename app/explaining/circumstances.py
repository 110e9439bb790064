"""What a step is told beside its tensors: it leaves a block, goes on after a `yield`, raised and was caught.

And what could not be watched: threads, other processes, lines after the trace function was taken away. Those
are notes, because they say what the rest of the trace lacks.
"""

import ast
from collections.abc import Iterator

from ..schema import EntriesLeftOut, ExceptionRaised, Note, Sentence, ThreadRan
from .chronicle import Chronicle
from .moment import Moment
from .program import Program
from .rules import class_of_error
from .wording import say

_F_LOCALS_SNAPSHOT = (3, 12)
"""The last Python whose trace functions keep a frame's variables in a dictionary."""


def circumstance_sentences(moment: Moment) -> list[Sentence]:
    """What is special about an execution of a statement."""
    said: list[Sentence] = []
    for event in moment.chronicle.circumstances.get(moment.number, ()):
        match event.kind:
            case "block-left":
                said.append(say(None, "names.block-left"))
            case "resumed":
                said.append(say(None, "names.resumed"))
            case "exception" if not moment.chronicle.ends_the_program(event):
                said.append(_raised(moment.chronicle, event))
            case "entries":
                said.append(_left_out(event))
    return said


def _raised(chronicle: Chronicle, event: ExceptionRaised) -> Sentence:
    message = event.message.split("\n", 1)[0]
    return say(
        None,
        "names.raised",
        type=event.type,
        expression=chronicle.expression(event.range) or "none",
        class_=class_of_error(event.type, event.message) or "none",
        message=message or "none",
    )


def _left_out(event: EntriesLeftOut) -> Sentence:
    rest = event.count - event.named
    return say(None, "names.entries", name=event.path, count=event.count, named=event.named, rest=rest)


def unwatched(program: Program) -> Iterator[Note]:
    """What ran where nobody watched."""
    chronicle = program.chronicle
    for number, events in chronicle.circumstances.items():
        line = chronicle.line_of_step(number)
        threads = [event for event in events if event.kind == "thread"]
        if threads:
            yield _threads(line, threads)
        if any(event.kind == "process" for event in events):
            yield Note(line=line, class_="worker-process", sentence=say(None, "note.worker-process"))
        if any(event.kind == "ops-unheard" for event in events):
            yield Note(line=line, class_="jit-recording", sentence=say(None, "note.jit-recording"))
        if any(event.kind == "tracing-off" for event in events):
            yield Note(line=line, class_="tracing-off", sentence=say(None, "note.tracing-off", line=line))


def _threads(line: int, threads: list[ThreadRan]) -> Note:
    functions = list(dict.fromkeys(event.function for event in threads))
    said = say(None, "note.unobserved-thread", functions=functions, n=len(threads))
    return Note(line=line, class_="unobserved-thread", sentence=said)


def counted_references(program: Program) -> Iterator[Note]:
    """`sys.getrefcount` of a variable of a function counts the tracer's snapshot of it as well."""
    version = tuple(int(part) for part in program.trace.environment.python.split(".")[:2] if part.isdigit())
    if not version or version > _F_LOCALS_SNAPSHOT:
        return
    for function in ast.walk(program.tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from _counts_in(program, function)


def _counts_in(
    program: Program, function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
) -> Iterator[Note]:
    inner = list(ast.walk(function))
    own = {node.arg for node in inner if isinstance(node, ast.arg)}
    own |= {n.id for n in inner if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    for node in inner:
        if not isinstance(node, ast.Call) or len(node.args) != 1:
            continue
        called, counted = ast.unparse(node.func), node.args[0]
        if called.rpartition(".")[2] != "getrefcount" or not isinstance(counted, ast.Name):
            continue
        if counted.id in own and program.executed(node.lineno):
            said = say(None, "note.reference-count", name=counted.id)
            yield Note(line=node.lineno, class_="reference-count", sentence=said)
