"""Looks things up in a state document by the reader's names."""

from typing import Any

State = dict[str, Any]


def tensor(state: State, name: str) -> dict[str, Any]:
    """The tensor a global name leads to."""
    found: dict[str, Any] = state["tensors"][str(state["bindings"][name])]
    return found


def local(state: State, name: str) -> dict[str, Any]:
    """The tensor a name of the innermost function leads to."""
    found: dict[str, Any] = state["tensors"][str(state["locals"][name])]
    return found


def storage(state: State, name: str) -> dict[str, Any]:
    """The storage of the tensor a global name leads to."""
    found: dict[str, Any] = state["storages"][str(tensor(state, name)["storage"])]
    return found


def node(state: State, name: str) -> dict[str, Any]:
    """The grad_fn of the tensor a global name leads to."""
    found: dict[str, Any] = state["nodes"][str(tensor(state, name)["grad_fn"])]
    return found


def gradient(state: State, name: str) -> dict[str, Any]:
    """The tensor in `.grad` of the tensor a global name leads to."""
    found: dict[str, Any] = state["tensors"][str(tensor(state, name)["grad"])]
    return found


def traits(state: State, name: str) -> dict[str, dict[str, Any]]:
    """What is said of a tensor beside its view: id → arguments."""
    return {trait["id"]: trait["args"] for trait in tensor(state, name)["traits"]}


def span(state: State, name: str) -> tuple[int, int]:
    """First byte of a tensor's storage, and the one after the last."""
    found = storage(state, name)
    start = int(found["address"], 16)
    return start, start + found["nbytes"]
