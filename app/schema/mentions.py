"""Whether a program mentions CUDA: decides on which device it runs when nobody chose one.

The server asks it to choose a sandbox, the sandbox to choose what is simulated. The program is parsed, never
run.
"""

import ast
import re

_STAND_FOR_IT = ("accelerator", "DataParallel")
_NAMES_CUDA = re.compile(r"(torch\.)?cuda(:\d*|\..*)?")


def mentions_cuda(source: str) -> bool:
    """A program names CUDA: as a device in a string, or as an attribute or name; comments do not count.

    So does one that uses what stands for it: `torch.accelerator`, `nn.DataParallel`.

    >>> mentions_cuda("x.to('cuda:0')"), mentions_cuda("# cuda"), mentions_cuda("print('barracuda')")
    (True, False, False)
    >>> mentions_cuda("torch.accelerator.current_accelerator()")
    True
    """
    if not any(name in source for name in ("cuda", *_STAND_FOR_IT)):
        return False
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and (node.attr == "cuda" or node.attr in _STAND_FOR_IT):
            return True
        written = node.value if isinstance(node, ast.Constant) else None
        if isinstance(written, str) and _NAMES_CUDA.fullmatch(written):
            return True
        if isinstance(node, (ast.Import, ast.ImportFrom)) and "cuda" in ast.unparse(node):
            return True
    return False
