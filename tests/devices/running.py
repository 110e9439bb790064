"""Runs a program on simulated devices in a forked child, watched, and again unwatched."""

import textwrap
from dataclasses import dataclass
from typing import Any

import torch._dynamo  # noqa: F401  # an optimizer imports it: once here, as in the sandbox, not in each child
from tensor_anatomy.execution.assembly import Assembly
from tensor_anatomy.execution.framing import decode_chunk
from tensor_anatomy.explaining import explain
from tensor_anatomy.schema import Environment, RunRequest
from tensor_anatomy.schema.replay import state_document
from tensor_anatomy.schema.run import DeviceChoice
from tensor_anatomy.tracing.session import record_program

from ..conftest import LIMITS
from ..tracing.children import in_child


@dataclass(frozen=True)
class Ran:
    """What came of a program."""

    printed: list[str]
    """Lines."""

    state: dict[str, Any]
    """The state document of its end."""

    trace: dict[str, Any]
    """The explained trace."""

    @property
    def error(self) -> str | None:
        """Type and message of what it raised."""
        outcome = self.state["outcome"]
        return f"{outcome['type']}: {outcome['message']}" if outcome["kind"] == "raised" else None

    def device(self, name: str) -> str:
        """The device of a named tensor, or of its gradient."""
        tensors, bindings = self.state["tensors"], self.state["bindings"]
        base = name.removesuffix(".grad")
        found = bindings[name] if name in bindings else tensors[str(bindings[base])]["grad"]
        return str(tensors[str(found)]["device"])

    def values(self, name: str) -> Any:
        """The values of a named tensor."""
        return self.state["tensors"][str(self.state["bindings"][name])]["values"]

    def events(self, kind: str) -> list[dict[str, Any]]:
        """Events of a kind, in order, each with the line of its step."""
        statements = self.trace["statements"]
        return [
            {**event, "line": statements[step["statement"]]["range"]["line"]}
            for step in self.trace["steps"]
            for event in step["events"]
            if event["kind"] == kind
        ]


def run_all(programs: list[tuple[str, dict[str, Any]]]) -> list[Ran]:
    """Run programs one after another in one child, watched: each with its limits."""

    def all_of_them() -> Any:
        return [_watched(_whole(source), "auto", limits)[:2] for source, limits in programs]

    return [
        Ran(printed=state["stdout"].splitlines(), state=state, trace=trace)
        for state, trace in in_child(all_of_them)
    ]


def _whole(source: str) -> str:
    return "import torch\n" + textwrap.dedent(source).lstrip("\n")


def _watched(program: str, device: DeviceChoice, limits: dict[str, Any]) -> list[Any]:
    """State, trace and fingerprint of a run, as JSON."""
    chunks, faults = [], []

    def take(payload: bytes) -> None:
        chunks.append(decode_chunk(payload))

    bounds = LIMITS.model_copy(update=limits)
    request = RunRequest(source=program, device=device, seed=0, limits=bounds, observed=True)
    record_program(request, take, faults=faults)
    assert not faults, faults
    assembly = Assembly(program, Environment(torch="", python="", device="cpu", simulated=False, seed=0))
    for chunk in chunks:
        assembly.add(chunk)
    assert assembly.closing is not None
    assert assembly.closing.fingerprint is not None
    trace = explain(assembly.trace(assembly.closing.outcome, ""))
    state = state_document(trace, None)
    return [
        state.model_dump(mode="json", by_alias=True),
        trace.model_dump(mode="json", by_alias=True),
        assembly.closing.fingerprint.model_dump(mode="json"),
    ]


def run(source: str, device: DeviceChoice = "auto", *, compare: bool = True, **limits: Any) -> Ran:
    """Run a program (indented as you like) and require that the unwatched run ends alike."""
    program = _whole(source)

    def watched() -> Any:
        return _watched(program, device, limits)

    def plain() -> Any:
        payloads: list[bytes] = []
        bounds = LIMITS.model_copy(update=limits)
        request = RunRequest(source=program, device=device, seed=0, limits=bounds, observed=False)
        record_program(request, payloads.append)
        last = decode_chunk(payloads[-1])
        return last.fingerprint.model_dump(mode="json")

    state, trace, fingerprint = in_child(watched)
    if compare:
        assert in_child(plain) == fingerprint, "watching changed something"
    return Ran(printed=state["stdout"].splitlines(), state=state, trace=trace)
