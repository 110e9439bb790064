"""Where gradients that nobody clears would be cleared: a change of the program for the note that says so."""

import ast

from ..schema import Fix
from .edits import Text, called
from .program import Program

_OPTIMIZERS = ("torch.optim.", "optim.")


def clear_before(program: Program, line: int, leaf: str) -> Fix | None:
    """Clear gradients before the backward pass of a line.

    Args:
        program: The program.
        line: Of the backward pass that adds to an old gradient.
        leaf: The reader's name for the tensor whose gradient it is.

    Returns:
        The change; None where it is not plain what clears which gradients.
    """
    text = Text(program.trace.source)
    statement = text.statement(line)
    if not isinstance(statement, ast.Expr) or not text.calls(statement, "backward"):
        return None
    optimizers = _optimizers(text)
    if len(optimizers) == 1:
        edits = text.line_before(statement, f"{optimizers[0]}.zero_grad()")
    elif not optimizers and leaf.isidentifier() and len(program.chronicle.had_grads) == 1:
        edits = text.line_before(statement, f"{leaf}.grad = None")
    else:
        return None
    return None if text.apply(edits) is None else Fix(kind="zero-grad", edits=edits)


def _optimizers(text: Text) -> list[str]:
    """Names of the program's optimizers."""
    found: dict[str, None] = {}
    for node in ast.walk(text.tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as made):
                if ast.unparse(made.func).startswith(_OPTIMIZERS) and called(made)[:1].isupper():
                    found[name] = None
    return list(found)
