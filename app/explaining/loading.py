"""Why a saved state does not fit a module, and ops that a layout has no kernel for: read off the messages.

`load_state_dict` lists every name on one line; the list is read and put in order. Which tensors were saved
is not known here: a message speaks of names only.
"""

import re

from .advice import Advice
from .failure import FailedCall

_MOST = 4
_KEYS = re.compile(r"(Missing|Unexpected) key\(s\) in state_dict: (.*?)\. *(?:\n|$)")
_SIZE = re.compile(
    r"size mismatch for (\S+): copying a param with shape torch\.Size\((\[[^\]]*\])\) from checkpoint, "
    r"the shape in current model is torch\.Size\((\[[^\]]*\])\)"
)


def state_dict(call: FailedCall) -> Advice:
    """Names that are missing, left over or of another shape; a beginning that all the saved ones have."""
    message = call.outcome.message or ""
    keys = {kind: re.findall(r'"([^"]*)"', listed) for kind, listed in _KEYS.findall(message)}
    missing, unexpected = keys.get("Missing", []), keys.get("Unexpected", [])
    sizes = [f"{name}: {saved} → {own}" for name, saved, own in _SIZE.findall(message)]
    args = {
        "missing": _some(missing),
        "unexpected": _some(unexpected),
        "sizes": _some(sizes),
        "prefix": _prefix(missing, unexpected) or "?",
    }
    return Advice(None, (), args)


def _some(names: list[str]) -> list[str]:
    return names if len(names) <= _MOST else [*names[:_MOST], "…"]


def _prefix(missing: list[str], unexpected: list[str]) -> str | None:
    """What stands before every saved name and no name of the module, as a wrapper leaves it."""
    first = unexpected[0].partition(".")[0] + "." if unexpected else ""
    if first and all(name.startswith(first) for name in unexpected):
        stripped = {name.removeprefix(first) for name in unexpected}
        if stripped & set(missing):
            return first
    return None


def no_kernel(call: FailedCall) -> Advice:
    """An op that is not there for the layout of its operand."""
    backend = call.group("backend")
    sorts = {"Quantized": "quantized", "SparseCsr": "csr", "Sparse": "sparse", "Nested": "nested"}
    how = next((sort for start, sort in sorts.items() if backend.startswith(start)), "other")
    args = {"op": call.group("op"), "backend": backend, "how": how}
    return Advice(None, tuple(call.names_of(call.subjects)), args)
