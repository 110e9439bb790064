"""Guards and failed guards in the reader's words: PyTorch writes expressions on `L['x']` and `G['K']`.

`L` holds the variables of the compiled function, `G` its globals. Checks of PyTorch's own modules, modes
and marks are counted, not told. What a guard says is PyTorch's text; only its names are made readable.

Source: torch 2.13, torch/_dynamo/guards.py; torch/csrc/dynamo/guards.cpp.
"""

import re
from typing import Any

from .classes import class_qualname

MOST_GUARDS = 40
_MOST_TEXT = 200
_OURS = re.compile(
    r"_dynamo_|__import_|__builtins_|___check_global_state|___check_torch_function|utils_device|ids =="
)
_ROOT = re.compile(r"\b([LG])\['([^']*)'\]")
_PARTS = re.compile(r"\._(?:parameters|buffers|modules)\['([^']*)'\]")
_TENSOR = re.compile(
    r"check_tensor\((?P<source>.+?), (?P<type>\w+), DispatchKeySet\((?P<keys>[^)]*)\), "
    r"(?P<dtype>torch\.\w+), device=(?P<device>\w+), requires_grad=(?P<grad>\w+), "
    r"size=(?P<size>\[.*?\]), stride=(?P<stride>\[.*?\])\)"
)
_TYPE = re.compile(r"___check_type_id\((?P<source>.+), \d+\)(?:, type=<class '(?P<type>[^']+)'>)?")
_IDENTITY = re.compile(r"___check_obj_id\((?P<source>.+), \d+\)(?:, type=<class '(?P<type>[^']+)'>)?")
_LENGTH = re.compile(r"len\((?P<source>.+)\) == (?P<n>\d+)$")
_VALUE = re.compile(r"(?P<source>[LG]\['[^']*'\]\S*) == (?P<value>.+)$")
_MISMATCH = re.compile(
    r"tensor '(?P<source>.*?)' (?P<what>size|stride|rank|dtype|requires_grad|dispatch key set) mismatch"
    r"(?: at index (?P<index>\d+))?\. "
    r"expected (?:requires_grad=)?(?P<expected>.*?)(?:, actual (?P<actual>.*?))?$",
    re.DOTALL,
)
_REASON = re.compile(r"^(?P<graph>\[?[\w/!]+\]?): (?P<text>.*)$", re.DOTALL)
_HINT = re.compile(r" \(HINT: [^)]*\)")
_MODE = re.compile(r"GLOBAL_STATE changed: (?P<modes>.+)$")
_PLAIN = (int, float, bool, str, type(None))


def readable(source: str) -> str:
    """An expression on `L` and `G` as the compiled function would write it.

    >>> readable("L['self']._modules['fc']._parameters['weight']"), readable("L['xs'][0]")
    ('self.fc.weight', 'xs[0]')
    """
    text = _ROOT.sub(r"\2", source)
    return _PARTS.sub(lambda m: f"[{m[1]}]" if m[1].isdigit() else f".{m[1]}", text)


def guard_rows(parts: list[str]) -> list[dict[str, Any]]:
    """The guards that look at the program's own variables, as rows of `schema.Guard`.

    Args:
        parts: The expressions that PyTorch checks.
    """
    rows = []
    for part in parts:
        if _OURS.search(part) or not _ROOT.search(part):
            continue
        row = _row(_HINT.sub("", part).strip())
        if row not in rows:
            rows.append(row)
    return rows[:MOST_GUARDS]


def _row(part: str) -> dict[str, Any]:
    root = _ROOT.search(part)
    scope = None if root is None else {"L": "local", "G": "global"}[root[1]]

    def row(what: str, source: str, text: str) -> dict[str, Any]:
        return {"what": what, "source": readable(source), "scope": scope, "text": readable(text)[:_MOST_TEXT]}

    if m := _TENSOR.search(part):
        device = "" if m["device"] == "None" else f", device={m['device']}"
        said = (
            f"{m['type']}, {m['dtype'].removeprefix('torch.')}, size={m['size']}, stride={m['stride']}, "
            f"requires_grad={m['grad']}{device}"
        )
        return row("tensor", m["source"], said)
    if m := _TYPE.search(part):
        return row("type", m["source"], m["type"] or part)
    if m := _IDENTITY.search(part):
        return row("identity", m["source"], m["type"] or part)
    if m := _LENGTH.search(part):
        return row("length", m["source"], m["n"])
    if part.startswith("not ") and _ROOT.match(part, 4):
        return row("length", part[4:], "0")
    if ".size()" in part or ".stride()" in part:
        return row("size", root[0] if root else "", part)
    if "check_no_aliasing" in part:
        return row("alias", root[0] if root else "", part)
    if " is " in part:
        return row("alias", part.partition(" is ")[0].removeprefix("not "), part)
    if m := _VALUE.search(part):
        return row("value", m["source"], m["value"])
    return row("other", root[0] if root else "", part)


def failed_rows(
    reasons: list[str], variables: dict[str, Any], others: dict[str, Any]
) -> list[dict[str, Any]]:
    """Why graphs could not be used, as rows of `schema.FailedGuard`.

    Args:
        reasons: PyTorch's words, one text per graph.
        variables: Of the function that is called: what came instead of what was expected.
        others: Its globals.
    """
    return [_failed(reason, variables, others) for reason in reasons[:MOST_GUARDS]]


def _failed(reason: str, variables: dict[str, Any], others: dict[str, Any]) -> dict[str, Any]:
    split = _REASON.match(reason)
    graph, text = (split["graph"], split["text"]) if split else ("", reason)
    # PyTorch appends the source line that needed the guard, after many blanks.
    text = re.split(r"\s{2,}# |\nUser stack trace", text, maxsplit=1)[0]
    text = _HINT.sub("", text).strip()
    row: dict[str, Any] = {
        "graph": graph.strip("[]"),
        "what": "other",
        "source": None,
        "index": None,
        "expected": None,
        "actual": None,
        "text": readable(text)[:_MOST_TEXT],
    }
    if m := _MISMATCH.search(text):
        what = "requires-grad" if m["what"] == "requires_grad" else m["what"]
        row.update(
            what="other" if what == "dispatch key set" else what,
            source=readable(m["source"]),
            index=None if m["index"] is None else int(m["index"]),
            expected=_words(what, m["expected"]),
            actual=_words(what, m["actual"]),
        )
        if what == "requires-grad" and row["actual"] is None and row["expected"] in ("True", "False"):
            row["actual"] = "False" if row["expected"] == "True" else "True"
    elif m := _MODE.search(text):
        row.update(what="mode", source=m["modes"].strip())
    elif m := _LENGTH.search(text) or re.search(r"^(?P<n>not) (?P<source>[\w'\[\].]+)$", text):
        row.update(what="length", source=readable(m["source"]), expected="0" if m["n"] == "not" else m["n"])
        value = _value(m["source"], variables, others)
        if type(value) in (list, tuple, dict, str):
            row["actual"] = str(len(value))
    elif m := _TYPE.search(text):
        row.update(what="type", source=readable(m["source"]), expected=m["type"])
        value = _value(m["source"], variables, others)
        if value is not _UNKNOWN:
            row["actual"] = class_qualname(type(value))
    elif m := re.search(r"^(?P<source>[\w'\[\].]+) == (?P<value>.+)$", text):
        row.update(what="value", source=readable(m["source"]), expected=m["value"][:_MOST_TEXT])
        value = _value(m["source"], variables, others)
        if type(value) in _PLAIN:
            row["actual"] = repr(value)[:_MOST_TEXT]
    return row


_UNKNOWN = object()
_DTYPES = {
    "Float": "float32",
    "Double": "float64",
    "Half": "float16",
    "BFloat16": "bfloat16",
    "Long": "int64",
    "Int": "int32",
    "Short": "int16",
    "Char": "int8",
    "Byte": "uint8",
    "Bool": "bool",
}
"""C++ names of dtypes, which PyTorch uses where a guard fails."""


def _words(what: str, text: str | None) -> str | None:
    if text is None:
        return None
    text = text.strip().rstrip(".")
    if what == "dtype":
        return _DTYPES.get(text, text)
    if what == "requires-grad":
        return {"0": "False", "1": "True"}.get(text, text)
    return text[:_MOST_TEXT]


def _value(source: str, variables: dict[str, Any], others: dict[str, Any]) -> Any:
    """The value of a plain variable; nothing of the program's is run to find it."""
    if m := re.fullmatch(r"[LG]\['([^']*)'\]", source):
        scope = variables if source[0] == "L" else others
        return scope.get(m[1], _UNKNOWN)
    return variables.get(source, _UNKNOWN)
