"""The statements of a program, from its syntax tree: which line belongs to which, which names it mentions.

A compound statement owns its header only; `except X as e` and `case …` are statements of their own. Several
simple statements on one line count as one: Python reports the line once. Nothing here runs the program.
"""

import ast
import re
from collections.abc import Iterator

PROGRAM = "<program>"
"""File name of the reader's program in code objects and tracebacks, unless it lies in a file."""

COMPREHENSIONS = frozenset({"<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>"})
"""Names of the code of comprehensions, which belong to their statement."""

_BODIES = ("body", "orelse", "finalbody", "handlers", "cases")
_COMPILER_WORDS = frozenset(
    {"compile", "cond", "while_loop", "export", "jit", "_dynamo", "make_fx", "explain", "script"}
)
_ATTENTION_WORDS = frozenset(
    {"MultiheadAttention", "Transformer", "TransformerEncoder", "TransformerEncoderLayer"}
)
_ASKS_FOR_LOCALS = re.compile(
    r"(?<![.\w])(?:locals|vars|exec|eval|dir)\b|f_locals|_getframe|currentframe|inspect|settrace"
)
_TRACING_WORDS = ("settrace", "set_trace", "breakpoint", "pdb", "bdb")
_COMPOUND = (
    ast.For,
    ast.AsyncFor,
    ast.While,
    ast.If,
    ast.With,
    ast.AsyncWith,
    ast.Try,
    ast.TryStar,
    ast.Match,
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.ExceptHandler,
    ast.match_case,
)

_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


class Columns:
    """Translates the UTF-8 columns of the syntax tree and of code objects to characters."""

    def __init__(self, source: str) -> None:
        self._lines = source.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        self._ascii = source.isascii()

    def character(self, line: int, utf8_column: int) -> int:
        """Column in characters of a column in UTF-8 bytes."""
        if self._ascii or not 0 < line <= len(self._lines):
            return utf8_column
        before = self._lines[line - 1].encode("utf-8", "surrogatepass")[:utf8_column]
        return len(before.decode("utf-8", "ignore"))

    def indent(self, line: int) -> int:
        """Column at which a line's text begins."""
        text = self._lines[line - 1]
        return len(text) - len(text.lstrip())

    def text(self, line: int, start: int, end_line: int, end: int) -> str | None:
        """The characters of a range within one line; None for a longer one."""
        if line != end_line or not 0 < line <= len(self._lines):
            return None
        return self._lines[line - 1][start:end]


_HOOKING_WORDS = frozenset({"signal", "library", "Library", "__del__", "finalize", "ref", "callbacks"})


class StatementMap:
    """Statements by index, in source order of their headers.

    Args:
        source: A program that compiles.
        filename: Its name in code objects and tracebacks.

    Raises:
        SyntaxError, ValueError: It does not.
    """

    def __init__(self, source: str, filename: str = PROGRAM) -> None:
        self.columns = Columns(source)
        self.filename = filename
        tree = ast.parse(source, filename)
        self.rows: list[tuple[str, int, int, int, int]] = []
        """Per statement: kind, line, column, end line, end column; the end of its header."""
        self.mentions: list[tuple[str, ...]] = []
        """Per statement: the names it mentions, its body aside."""
        self.loops: list[tuple[int, ...]] = []
        """Per statement: the loops around it in its function, outermost first, each by its header's index. A
        header is in its loop, what follows `else` is not."""
        self.of_line: dict[int, int] = {}
        self.blocks: set[int] = set()
        """Statements whose header runs again when their block is left."""
        self.only_yields: set[int] = set()
        """Statements that do nothing after a suspension."""
        self.sets_trace = any(word in source for word in _TRACING_WORDS)
        """It may set or remove the trace function."""
        self.keeps_locals = _ASKS_FOR_LOCALS.search(source) is not None
        """It may look at the variables of a function as a dictionary."""
        self.uses_compiler = any(_speaks_to_compiler(node) for node in ast.walk(tree))
        """It asks for compiled or exported code, which an API mode would split or disable."""
        self.hooks_in = any(_hooks_in(node) for node in ast.walk(tree))
        """Code of its own may run within PyTorch's built-in functions."""
        self.makes_inference_tensors = "inference_mode" in source
        """Tensors without a version counter may come up."""
        self.uses_fast_path = _may_take_fast_path(tree)
        """It may run attention layers in a way that an API mode would disable."""
        self._add(tree.body, ())

    def _add(
        self, body: list[ast.stmt] | list[ast.ExceptHandler] | list[ast.match_case], loops: tuple[int, ...]
    ) -> None:
        for node in body:
            inside = (*loops, len(self.rows)) if isinstance(node, _LOOPS) else loops
            self._add_one(node, inside)
            if isinstance(node, _SCOPES):
                inside = ()
            for name in _BODIES:
                inner = getattr(node, name, None)
                if isinstance(inner, list) and isinstance(node, _COMPOUND):
                    self._add(inner, loops if name == "orelse" and isinstance(node, _LOOPS) else inside)

    def _add_one(self, node: ast.stmt | ast.ExceptHandler | ast.match_case, loops: tuple[int, ...]) -> None:
        index = len(self.rows)
        self.loops.append(loops)
        if isinstance(node, ast.match_case):
            line, column = node.pattern.lineno, self.columns.indent(node.pattern.lineno)
            end_line, end_column = _header_end(node, (line, column))
        else:
            line, column = node.lineno, node.col_offset
            end_line = node.end_lineno or line
            end_column = node.end_col_offset or column
            if isinstance(node, _COMPOUND):
                end_line, end_column = _header_end(node, (line, column))
        if isinstance(node, ast.With | ast.AsyncWith):
            self.blocks.add(index)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Yield | ast.YieldFrom | ast.Await):
            self.only_yields.add(index)
        self.rows.append(
            (
                type(node).__name__,
                line,
                self.columns.character(line, column),
                end_line,
                self.columns.character(end_line, end_column),
            )
        )
        self.mentions.append(tuple(sorted(set(_mentioned(node)))))
        first = min([line, *(d.lineno for d in getattr(node, "decorator_list", ()))])
        for owned in range(first, end_line + 1):
            self.of_line.setdefault(owned, index)


def _speaks_to_compiler(node: ast.AST) -> bool:
    if isinstance(node, ast.Attribute):
        of_regular_expressions = isinstance(node.value, ast.Name) and node.value.id in ("re", "regex")
        return node.attr in _COMPILER_WORDS and not of_regular_expressions
    return isinstance(node, ast.alias) and node.name.split(".")[-1] in _COMPILER_WORDS


def _hooks_in(node: ast.AST) -> bool:
    """It speaks of signals, of ops of its own, or of what an object does when it dies."""
    match node:
        case ast.Attribute(attr=word) | ast.Name(id=word) | ast.FunctionDef(name=word):
            return word in _HOOKING_WORDS
        case ast.ImportFrom(module=str(module)) if not _HOOKING_WORDS.isdisjoint(module.split(".")):
            return True
        case ast.alias(name=name):
            return not _HOOKING_WORDS.isdisjoint(name.split("."))
    return False


def _may_take_fast_path(tree: ast.Module) -> bool:
    """It makes attention layers and leaves training mode: PyTorch then runs them as one op each."""
    words: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            words.add(node.attr)
        elif isinstance(node, ast.alias):
            words.add(node.name.split(".")[-1])
        elif isinstance(node, ast.Name):
            words.add(node.id)
    return not words.isdisjoint(_ATTENTION_WORDS) and not words.isdisjoint(("eval", "train", "training"))


def _header_end(
    node: ast.stmt | ast.ExceptHandler | ast.match_case, begin: tuple[int, int]
) -> tuple[int, int]:
    """Where the last expression of a compound statement's header ends."""
    body = {id(child) for name in _BODIES for child in getattr(node, name, None) or ()}
    decorators = {id(d) for d in getattr(node, "decorator_list", ())}
    end = begin
    for child in ast.iter_child_nodes(node):
        if id(child) in body or id(child) in decorators:
            continue
        for part in ast.walk(child):
            line, column = getattr(part, "end_lineno", None), getattr(part, "end_col_offset", None)
            if line is not None and column is not None:
                end = max(end, (line, column))
    return end


def _mentioned(node: ast.AST) -> Iterator[str]:
    """Names a statement reads, binds or deletes, those in nested statements of its body aside."""
    skip = {id(child) for name in _BODIES for child in getattr(node, name, None) or ()}
    if not isinstance(node, _COMPOUND):
        skip = set()
    todo: list[ast.AST] = [node]
    while todo:
        part = todo.pop()
        match part:
            case ast.Name():
                yield part.id
            case ast.arg():
                yield part.arg
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield part.name
            case (
                ast.ExceptHandler(name=str(name))
                | ast.MatchAs(name=str(name))
                | ast.MatchStar(name=str(name))
                | ast.MatchMapping(rest=str(name))
            ):
                yield name
            case ast.alias():
                yield (part.asname or part.name).split(".")[0]
            case ast.Global() | ast.Nonlocal():
                yield from part.names
        todo.extend(child for child in ast.iter_child_nodes(part) if id(child) not in skip)
