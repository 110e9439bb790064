"""Runs every device case on the CPU, on a simulated device and on a real one, and prints what differs.

    python -m tests.devices.comparing [WORDS]      (make compare-devices)

Held against each other are facts that no device should change: what names lead to, shapes, strides, dtypes,
versions, nodes of the graph, sharing, values, gradients, changed layers, what is printed. Values of a real
device may round otherwise; all others must be equal. What may differ, and why, is in one table, `EXPECTED`.
Programs are the device cases and claims, and the collection of cases with tensors on the device by default.
"""

import json
import math
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tensor_anatomy.schema.run import DeviceChoice

from ..tracing.children import in_child
from .cases import CASES
from .claims import CLAIMS, LESSONS
from .running import run

_COLLECTION = Path(__file__).parent.parent / "data" / "cases.jsonl"

RELATIVE = 1e-4
"""By how much values of a real device may differ, relative to the larger."""

_FACTS = (
    *("shape", "stride", "storage_offset", "dtype", "layout", "is_contiguous", "is_conj", "is_neg"),
    *("requires_grad", "is_leaf", "version", "values"),
)


@dataclass(frozen=True)
class Program:
    """One program, as it is written for the CPU and for a CUDA device."""

    name: str
    on_cpu: str
    on_cuda: str
    raises: bool = False
    """It is about an error of two devices, which one device does not have."""


@dataclass(frozen=True)
class Difference:
    """One fact that is another one elsewhere."""

    program: str
    fact: str
    there: str
    here: str

    @property
    def reason(self) -> str | None:
        """Why it is as it must be."""
        for program, fact, reason in EXPECTED:
            if re.fullmatch(program, self.program) and re.fullmatch(fact, self.fact):
                return reason
        return None


_NO_COPY = "a move to the device that a tensor is on already returns the tensor itself: no copy, no node"
_COPYING = (
    r"to\(\) without .*|1-08 .*|1-10 .*|2\.3-18 .*|2\.4-05 .*|3\.2-14 .*|5\.3-05 .*|across devices: .*|"
    r"c107 .*|one device for all: count .*|a copy is another .*|a result for NumPy, copied .*|"
    r"the graph goes on .*"
)
_MOVING = (
    r"module\.to\(\) moves .*|the optimizer was made .*|4\.4-01 .*|modules and devices: module .*|"
    r"one device for all: too early"
)
UNWRITTEN = "what nobody wrote is whatever was there"
DEPTH = "how deep a recursion gets depends on what is called in it"
NOT_EACH_TIME = {UNWRITTEN, DEPTH}
"""Why a program may differ, and on another day or machine not."""

EXPECTED: tuple[tuple[str, str, str], ...] = (
    (_COPYING, r"sharing|stdout|outcome|line .*|.*\.(values|version|grad_fn|is_leaf)", _NO_COPY),
    (_MOVING, r"line \d+ changed .*", "a module that moves writes the data of its parameters"),
    (r"pinned memory .*|a copy that does not .*", r".*", "nothing is pinned without an accelerator"),
    (r"2\.4-10 .*|4\.4-01 .*|4\.4-02 .*", r"stdout", "it prints errors that one device does not have"),
    (r"c038 .*", r"sized\.values", UNWRITTEN),
    (r"c118 .*", r"outcome", "the tensor is on the device, which is not what can be pinned"),
    (r"c120 .*", r"outcome", "it is about what a device says that is full: each has words of its own"),
    (r"c096 .*", r"outcome", "the kernel of this loss on CUDA names itself, that of the CPU the dtypes"),
    (r"c12[12] .*", r".*", "torch.compile compiles nothing on a simulated device, and says so"),
    (r"c128 .*", r"line 4 changed t", DEPTH),
)
"""Programs, facts (patterns of both), and why these differ."""

_OF_SHAPE = ("shape", "stride", "dtype", "layout", "requires_grad")
"""What is compared of a program that goes on where there is one device."""


def programs() -> Iterator[Program]:
    """All of them."""
    for name, case in {**CASES, **CLAIMS, **LESSONS}.items():
        if case.simulated_only is None:
            yield Program(name, _for_cpu(case.source), case.source, case.error is not None)
    for line in _COLLECTION.read_text("utf-8").splitlines():
        row = json.loads(line)
        source = row["source"].removeprefix("import torch\n")
        yield Program(
            f"{row['id']} {row['title']}", f"pass\n{source}", f"torch.set_default_device('cuda')\n{source}"
        )


def _for_cpu(source: str) -> str:
    source = source.replace(".cuda()", ".to('cpu')").replace("torch.cuda.is_available()", "False")
    return re.sub(r"(['\"])cuda(:0)?\1", r"'cpu'", source)


def facts_on(source: str, device: DeviceChoice) -> dict[str, Any]:
    """What is so at the end of a program: fact → value. Words for devices are left out."""
    ran = run(source, device, compare=False)
    state = ran.state
    outcome = state["outcome"]
    said = None if outcome["message"] is None else _without_devices(outcome["message"].partition("\n")[0])
    facts: dict[str, Any] = {
        "outcome": (outcome["kind"], outcome["type"], said, outcome["line"]),
        "stdout": [_without_devices(line) for line in ran.printed],
        "sharing": _sharing(state),
    }
    nodes = state["nodes"]
    for name, tensor_id in state["bindings"].items():
        tensor = state["tensors"][str(tensor_id)]
        facts.update({f"{name}.{fact}": tensor[fact] for fact in _FACTS})
        node = tensor["grad_fn"]
        facts[f"{name}.grad_fn"] = None if node is None else nodes[str(node)]["name"]
        grad = tensor["grad"]
        facts[f"{name}.grad.values"] = None if grad is None else state["tensors"][str(grad)]["values"]
    for line, changed in state["changed"].items():
        for name, layers in changed.items():
            facts[f"line {line} changed {name}"] = [layer for layer in layers if layer != "device"]
    return facts


def _without_devices(text: str) -> str:
    text = re.sub(r"(, )?device='cuda(:0)?'", "", text)
    return re.sub(r"\bcuda(:0)?\b", "cpu", re.sub(r"torch\.cuda\.(\w+Tensor)", r"torch.\1", text))


def _sharing(state: dict[str, Any]) -> list[list[str]]:
    groups: dict[int, list[str]] = {}
    for name, tensor_id in state["bindings"].items():
        storage = state["tensors"][str(tensor_id)]["storage"]
        if storage is not None:
            groups.setdefault(storage, []).append(name)
    return sorted(sorted(names) for names in groups.values() if len(names) > 1)


def compare(
    program: Program, there: dict[str, Any], here: dict[str, Any], *, exactly: bool
) -> list[Difference]:
    """What differs. After an error that only one device has, what both came to is compared."""
    found = []
    for fact in sorted({*there, *here}):
        in_both = fact in there and fact in here
        if program.raises and not (in_both and fact.rpartition(".")[2] in _OF_SHAPE):
            continue
        a, b = there.get(fact, "–"), here.get(fact, "–")
        if not _equal(a, b, exactly=exactly or not fact.endswith("values")):
            found.append(Difference(program.name, fact, _short(a), _short(b)))
    return found


def _equal(a: Any, b: Any, *, exactly: bool) -> bool:
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(_equal(x, y, exactly=exactly) for x, y in zip(a, b, strict=True))
    if not exactly and isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=RELATIVE, abs_tol=RELATIVE)
    return bool(a == b)


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 300 else f"{text[:300]}…"


def differences(wanted: list[Program], device: DeviceChoice, *, exactly: bool = True) -> list[Difference]:
    """What differs between the CPU and a device, over some programs."""
    found = []
    for program in wanted:
        on_cpu = facts_on(program.on_cpu, "cpu")
        found += compare(program, on_cpu, facts_on(program.on_cuda, device), exactly=exactly)
    return found


def _there_is_a_gpu() -> bool:
    """Asked in a child: a process that has touched CUDA cannot be forked for it."""

    def ask() -> bool:
        import torch

        return torch.backends.cuda.is_built() and torch.cuda.is_available()

    return bool(in_child(ask))


def main(words: list[str]) -> int:
    """Print the differences; 1 where one of the simulation is not expected."""
    wanted = [each for each in programs() if all(word in each.name for word in words)]
    devices: list[tuple[DeviceChoice, bool]] = [("simulated-cuda", True)]
    if _there_is_a_gpu():
        devices.append(("cuda", False))
    else:
        print("no CUDA device here: the CPU and the simulation are compared")
    unexpected = 0
    for device, exactly in devices:
        found = differences(wanted, device, exactly=exactly)
        surprises = [each for each in found if each.reason is None]
        unexpected += len(surprises)
        print(f"{device}: {len(wanted)} programs, {len(found)} differences, {len(surprises)} unexpected")
        for each in found:
            mark = "  " if each.reason else "!!"
            print(f"{mark} {each.program}: {each.fact}\n     cpu: {each.there}\n     {device}: {each.here}")
            if each.reason:
                print(f"     ({each.reason})")
    return 1 if unexpected else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
