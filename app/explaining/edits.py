"""A program's text and its syntax tree side by side: where a node stands, and small edits there.

Places are as in a trace: lines from 1, columns in characters. It decides nothing about what to change. What
cannot be placed with certainty (a statement that shares its line with another) has no place.
"""

import ast
from collections.abc import Iterator

from ..schema import Edit, SourceRange


class Text:
    """A program that can be edited."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._lines = source.split("\n")
        try:
            self.tree: ast.Module = ast.parse(source)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            self.tree = ast.Module(body=[], type_ignores=[])

    # ---- places

    def place(self, node: ast.expr | ast.stmt) -> SourceRange:
        """Where a node stands."""
        end_line, end = node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
        return SourceRange(
            line=node.lineno,
            column=self._characters(node.lineno, node.col_offset),
            end_line=end_line,
            end_column=self._characters(end_line, end),
        )

    def _characters(self, line: int, column: int) -> int:
        """The syntax tree counts bytes."""
        return len(self._lines[line - 1].encode()[:column].decode(errors="replace"))

    def expression(self, place: SourceRange | None) -> ast.expr | None:
        """The expression that stands exactly there."""
        if place is None:
            return None
        nodes = (node for node in ast.walk(self.tree) if isinstance(node, ast.expr))
        return next((n for n in nodes if n.lineno == place.line and self.place(n) == place), None)

    def statement(self, line: int | None) -> ast.stmt | None:
        """The one statement of a line, when that line has no other and the statement no other line."""
        statements = (node for node in ast.walk(self.tree) if isinstance(node, ast.stmt))
        found = [n for n in statements if line is not None and n.lineno <= line <= (n.end_lineno or 0)]
        inner = [n for n in found if n.lineno == line and n.end_lineno == line]
        # What holds the line in its body stands on other lines too.
        return inner[0] if len(inner) == 1 else None

    # ---- edits

    def insert(self, line: int, column: int, text: str) -> Edit:
        """Puts a text somewhere."""
        return Edit(range=SourceRange(line=line, column=column, end_line=line, end_column=column), text=text)

    def after(self, node: ast.expr, text: str) -> tuple[Edit, ...]:
        """Applies a method to an expression: `.clone()` after it, in brackets where it needs them."""
        place = self.place(node)
        end = self.insert(place.end_line, place.end_column, text)
        if isinstance(node, ast.Name | ast.Attribute | ast.Subscript | ast.Call):
            return (end,)
        return (
            self.insert(place.line, place.column, "("),
            self.insert(place.end_line, place.end_column, ")" + text),
        )

    def replace(self, node: ast.expr | ast.stmt, text: str) -> tuple[Edit, ...]:
        """Puts a text in the place of a node; what follows it on the line, a comment, stays."""
        return (Edit(range=self.place(node), text=text),)

    def method(self, call: ast.Call, name: str) -> tuple[Edit, ...]:
        """Calls another method of the same object: `reshape` for `view`."""
        if not isinstance(call.func, ast.Attribute):
            return ()
        place = self.place(call.func)
        start = place.end_column - len(call.func.attr)
        return (Edit(range=place.model_copy(update={"line": place.end_line, "column": start}), text=name),)

    def before_method(self, call: ast.Call, text: str) -> tuple[Edit, ...]:
        """Calls another method before the one that is called: `.contiguous()` of `x.view(6)`."""
        if not isinstance(call.func, ast.Attribute):
            return ()
        place = self.place(call.func)
        dot = place.end_column - len(call.func.attr) - 1
        if self._lines[place.end_line - 1][dot : dot + 1] != ".":
            return ()
        return (self.insert(place.end_line, dot, text),)

    def argument(self, call: ast.Call, text: str) -> tuple[Edit, ...]:
        """Adds a last argument."""
        place = self.place(call)
        if place.end_line != place.line:
            return ()
        before = "" if not call.args and not call.keywords else ", "
        inside = self._lines[place.line - 1][: place.end_column - 1].rstrip()
        before = " " if inside.endswith(",") else before
        return (self.insert(place.end_line, len(inside), before + text),)

    def line_before(self, statement: ast.stmt, text: str) -> tuple[Edit, ...]:
        """Puts a line before a statement's, as far in."""
        place = self.place(statement)
        indent = self._lines[place.line - 1][: place.column]
        return (self.insert(place.line, 0, f"{indent}{text}\n"),)

    def line_after(self, statement: ast.stmt, text: str) -> tuple[Edit, ...]:
        """Puts a line after a statement's, as far in; no edit where that one stands after something else."""
        place = self.place(statement)
        indent = self._lines[place.line - 1][: place.column]
        end = place.end_line
        return () if indent.strip() else (self.insert(end, len(self._lines[end - 1]), f"\n{indent}{text}"),)

    def within(self, statement: ast.stmt, header: str) -> tuple[Edit, ...]:
        """Puts a statement under a header of its own: `with torch.no_grad():`."""
        place = self.place(statement)
        indent = self._lines[place.line - 1][: place.column]
        return (self.insert(place.line, place.column, f"{header}\n{indent}    "),)

    def apply(self, edits: tuple[Edit, ...]) -> str | None:
        """The program with the edits; None when it cannot be read any more, or is the same."""
        lines = list(self._lines)
        for edit in sorted(edits, key=lambda e: (e.range.line, e.range.column), reverse=True):
            place = edit.range
            if place.line != place.end_line:
                return None
            line = lines[place.line - 1]
            lines[place.line - 1] = line[: place.column] + edit.text + line[place.end_column :]
        mended = "\n".join(lines)
        try:
            ast.parse(mended)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None
        return None if mended == self._source else mended

    # ---- what the program has

    def imports(self, module: str) -> bool:
        """The program calls a module by its own name."""
        return any(
            isinstance(node, ast.Import)
            and any(alias.name == module and alias.asname is None for alias in node.names)
            for node in ast.walk(self.tree)
        )

    def calls(self, within: ast.AST, *names: str) -> list[ast.Call]:
        """Calls of functions or methods of these names."""
        return [node for node in self._calls(within) if called(node) in names]

    def _calls(self, within: ast.AST) -> Iterator[ast.Call]:
        return (node for node in ast.walk(within) if isinstance(node, ast.Call))


def called(call: ast.Call) -> str:
    """The last part of the name of what is called."""
    match call.func:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    return ""


def keyword(call: ast.Call, name: str) -> bool:
    """The call is given an argument by this name, or may be."""
    return any(each.arg in (name, None) for each in call.keywords)
