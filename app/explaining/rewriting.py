"""How a line that writes in place is written out of place, in the reader's own words.

Reads the program's syntax only. What cannot be rewritten with certainty is not: a copy made before
the write always helps.
"""

import ast
from typing import Literal

How = Literal["rewrite", "clone", "other"]

_WITH_A_TWIN = frozenset(
    [
        "abs",
        "add",
        "addcdiv",
        "addcmul",
        "atan",
        "bitwise_and",
        "bitwise_or",
        "ceil",
        "clamp",
        "clamp_max",
        "clamp_min",
        "clip",
        "cos",
        "cosh",
        "div",
        "divide",
        "erf",
        "exp",
        "expm1",
        "floor",
        "index_add",
        "index_copy",
        "index_fill",
        "lerp",
        "log",
        "log1p",
        "logical_not",
        "masked_fill",
        "masked_scatter",
        "mul",
        "multiply",
        "nan_to_num",
        "neg",
        "pow",
        "reciprocal",
        "relu",
        "remainder",
        "round",
        "rsqrt",
        "scatter",
        "scatter_add",
        "scatter_reduce",
        "sigmoid",
        "sign",
        "sin",
        "sinh",
        "sqrt",
        "square",
        "sub",
        "subtract",
        "tan",
        "tanh",
        "tril",
        "triu",
        "trunc",
    ]
)
"""Methods that exist with and without the underscore."""


def out_of_place(source: str, line: int | None, written: str, *, is_view: bool) -> tuple[How, str]:
    """Say how to avoid a write in place.

    Args:
        source: The program.
        line: The line of the write.
        written: The reader's name for the tensor that is written.
        is_view: What is written is a view of the tensor that has to stay as it was.

    Returns:
        `rewrite` and the new line; `clone` and the line to put before it; `other` and `?` when the line
        does not name the tensor.

    >>> out_of_place("y = x.exp()\\ny += 1", 2, "y", is_view=False)
    ('rewrite', 'y = y + 1')
    >>> out_of_place("y.mul_(2)", 1, "y", is_view=False)
    ('rewrite', 'y = y.mul(2)')
    >>> out_of_place("y[0] = 5", 1, "y", is_view=False)
    ('clone', 'y = y.clone()')
    >>> out_of_place("optimizer.step()", 1, "w", is_view=False)
    ('other', '?')
    """
    statement = _statement(source, line)
    if statement is None or not any(ast.unparse(node) == written for node in _targets(statement)):
        return "other", "?"
    new = None if is_view else _rewritten(statement, written)
    return ("clone", f"{written} = {written}.clone()") if new is None else ("rewrite", new)


def _statement(source: str, line: int | None) -> ast.stmt | None:
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return None
    found = [node for node in ast.walk(tree) if isinstance(node, ast.stmt) and node.lineno == line]
    return found[-1] if found else None


def _targets(statement: ast.stmt) -> list[ast.expr]:
    """The expressions whose tensor a statement may write in place."""
    found: list[ast.expr] = []
    if isinstance(statement, ast.AugAssign):
        found.append(statement.target)
    elif isinstance(statement, ast.Assign):
        found.extend(target for target in statement.targets if isinstance(target, ast.Subscript))
    found.extend(
        node.func.value
        for node in ast.walk(statement)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr.endswith("_")
    )
    for target in list(found):
        while isinstance(target, ast.Subscript):
            target = target.value
            found.append(target)
    return found


def _rewritten(statement: ast.stmt, written: str) -> str | None:
    if isinstance(statement, ast.AugAssign):
        if ast.unparse(statement.target) != written:
            return None
        value = ast.BinOp(ast.parse(written, mode="eval").body, statement.op, statement.value)
        return f"{written} = {ast.unparse(value)}"
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return None
    method = call.func.attr.removesuffix("_")
    if ast.unparse(call.func.value) != written or method not in _WITH_A_TWIN:
        return None
    renamed = ast.Call(ast.Attribute(call.func.value, method, ast.Load()), call.args, call.keywords)
    return f"{written} = {ast.unparse(renamed)}"
