"""Why a program failed: the class of its exception, the line at fault, the tensors concerned, what to do.

An exception is recognised by its message; everything else comes from the trace. A class `x` has the
messages `error.x` (why) and `error.x.fix` (what to do) in the catalogues. What is not recognised is
`python-error`, or `torch-error` when PyTorch raised it: said as it is, not guessed at.
"""

import logging
import re
from typing import Any

from ..schema import Explanation, Fix, Layer, Outcome, Trace
from .advice import Advice
from .chronicle import Chronicle
from .failure import FailedCall
from .mending import mend
from .operands import ADVICE
from .rules import PYTHONS_OWN, RULES
from .wording import say

log = logging.getLogger(__name__)

_SAME_CLASS = {
    "saved-tensor-modified-by-hook": "saved-tensor-modified",
    "overlapping-write-source": "overlapping-write",
    "dtype-cast": "dtype-mismatch",
    "expand-shape": "broadcast-shape",
    "in-place-shape": "broadcast-shape",
    "einsum-size": "broadcast-shape",
    "gradient-count": "gradient-shape",
    "mask-dtype": "index-dtype",
    "hidden-size": "input-size",
    "no-kernel": "dtype-unsupported",
    "bool-minus": "dtype-unsupported",
    "bmm-shape": "matmul-shape",
    "denied-file": "denied",
    "denied-workers": "denied",
    "denied-network": "denied",
    "denied-process": "denied",
    "denied-compiler": "denied",
    "no-input": "python-error",
    "no-module": "python-error",
}
"""Rules with words of their own for a class that has others too."""

_PYTORCHS = frozenset(
    {
        "RuntimeError",
        "IndexError",
        "ValueError",
        "TypeError",
        "NotImplementedError",
        "AssertionError",
        "OutOfMemoryError",
        "AcceleratorError",
        "_LinAlgError",
        "Unsupported",
    }
)
"""What PyTorch raises for a call that failed."""

_FILES = re.compile(r"inline_container|PytorchStreamWriter|Parent directory .* does not exist|: '[^']+'$")
"""A file, if the sandbox refused something: the system's own errors end with its name."""

_NETWORK = re.compile(r"\b(socket|urllib|urlopen|urlretrieve|http|requests|hub|download\w*)\b|download=True")

_PROCESSES = re.compile(
    r"\b(subprocess|os\.(fork|exec\w*|spawn\w*|posix_spawn\w*|kill\w*)|multiprocessing|Process|Pool|Popen)\b"
)

_LONGEST_MESSAGE = 5_000

_COMPILER = re.compile(r"[Ii]nductor|BackendCompilerFailed|CppCompile|torch_shm_manager")

_WORKERS = re.compile(r"\bnum_workers\s*=\s*[1-9]")

_NO_MODULE = re.compile(r"No module named '(?P<module>\w+)(?:\.[\w.]+)?'$")

_GRAD_IS_NONE = re.compile(r"'NoneType' object has no attribute|NoneType|must be Tensor, not None")


def explain_failure(trace: Trace, chronicle: Chronicle) -> Explanation | None:
    """Explain why a program raised.

    Args:
        trace: The trace.
        chronicle: The same, searchable.

    Returns:
        The explanation; None when the program did not raise.
    """
    if trace.outcome.kind != "raised":
        return None
    name, layer, advice = _judge(chronicle)
    line = trace.outcome.line
    args: dict[str, Any] = {"line": line, "caused_by": advice.caused_by, **advice.args}
    args.setdefault("names", list(advice.operands))
    sentences = [say(layer, f"error.{name}", **args), say(None, f"error.{name}.fix", **args)]
    if trace.environment.simulated and "cuda" in (trace.outcome.message or "").lower():
        sentences.append(say("device", "error.simulated"))
    return Explanation(
        class_=_SAME_CLASS.get(name, name),
        line=line,
        caused_by=advice.caused_by,
        operands=advice.operands,
        sentences=tuple(sentences),
        fixes=_fixes(name, chronicle, advice),
    )


def _fixes(name: str, chronicle: Chronicle, advice: Advice) -> tuple[Fix, ...]:
    try:
        return mend(name, FailedCall(chronicle, None), advice)
    except Exception:
        log.exception("no change could be derived for %s", name)
        return ()


def _judge(chronicle: Chronicle) -> tuple[str, Layer | None, Advice]:
    outcome = chronicle.trace.outcome
    message, kind = _message(outcome), (outcome.type or "").rsplit(".", 1)[-1]
    plain = FailedCall(chronicle, None)
    if outcome.reason == "denied":
        return _denied(outcome, chronicle.trace.source), None, Advice(None, ())
    if outcome.reason == "memory-limit":
        return "out-of-memory", "data", ADVICE["out-of-memory"](plain)
    if kind == "EOFError" and "reading a line" in message:
        return "no-input", None, Advice(None, ())
    missing = _NO_MODULE.match(message) if kind == "ModuleNotFoundError" else None
    if missing is not None and missing["module"] != "torch":
        return "no-module", None, Advice(None, (), {"module": missing["module"]})
    if kind == "SyntaxError" or kind in ("IndentationError", "TabError"):
        return "syntax-error", None, Advice(None, (), {"message": message})
    if kind in ("AttributeError", "TypeError") and _GRAD_IS_NONE.search(message):
        advice = ADVICE["grad-none"](plain)
        if advice.operands:
            return "grad-none", "autograd", advice
    if kind not in PYTHONS_OWN:
        for rule in RULES:
            match = rule.pattern.search(message)
            if match:
                return rule.name, rule.layer, rule.judge(FailedCall(chronicle, match))
    told = {"type": kind, **_told(message)}
    if outcome.failure is not None and kind in _PYTORCHS:
        return "torch-error", None, Advice(None, tuple(plain.names_of(plain.named)), told)
    return "python-error", None, Advice(None, (), told)


def _message(outcome: Outcome) -> str:
    """As much of the message as rules are held against: some take time with its square."""
    return (outcome.message or "")[:_LONGEST_MESSAGE]


def _denied(outcome: Outcome, source: str) -> str:
    """Which of the things that a sandbox refuses was asked for, as far as the exception and the line say."""
    kind, message = (outcome.type or "").rsplit(".", 1)[-1], _message(outcome)
    lines = source.splitlines()
    line = lines[outcome.line - 1] if outcome.line is not None and 0 < outcome.line <= len(lines) else ""
    if _COMPILER.search(f"{kind} {message}"):
        return "denied-compiler"
    if kind in ("URLError", "gaierror") or _NETWORK.search(line):
        return "denied-network"
    if kind == "FileNotFoundError" or _FILES.search(message):
        return "denied-file"
    if _PROCESSES.search(line):
        return "denied-process"
    return "denied-workers" if _WORKERS.search(source) else "denied"


def _told(message: str) -> dict[str, str]:
    """An exception's own words, and whether they are there and end as a sentence does."""
    line = _first_line(message)
    how = "none" if not line else "ended" if line[-1] in ".!?。！？" else "open"
    return {"message": line, "how": how}


def _first_line(message: str) -> str:
    return message.strip().splitlines()[0] if message.strip() else ""
