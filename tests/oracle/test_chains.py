"""Random chains of views, writes and copies: every fact of the state document is what PyTorch says."""

import os
import random
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from tensor_anatomy.schema.replay import state_document

from ..conftest import record
from .chains import MOST, Statement, chain, programs
from .plainly import After, PlainRun

EXAMPLES = int(os.environ.get("ORACLE_EXAMPLES", "150"))
DETERMINISTIC = settings(
    max_examples=EXAMPLES,
    derandomize="ORACLE_EXAMPLES" not in os.environ,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
FIELDS = (
    "shape",
    "stride",
    "storage_offset",
    "dtype",
    "layout",
    "device",
    "is_contiguous",
    "is_conj",
    "is_neg",
    "requires_grad",
    "is_leaf",
    "version",
)


def plainly(statements: list[Statement]) -> list[After]:
    torch.default_generator.manual_seed(0)
    run = PlainRun()
    try:
        return [run.execute(statement) for statement in statements]
    finally:
        torch.set_grad_enabled(True)


def differences(state: dict[str, Any], true: After, line: str, text: str) -> list[str]:
    found: list[str] = []
    if set(state["bindings"]) != set(true.facts):
        return [f"names {sorted(state['bindings'])}, not {sorted(true.facts)}"]
    tensors: dict[int, int] = {}
    storages: dict[int, int] = {}
    for name, facts in true.facts.items():
        tensor_id = state["bindings"][name]
        told = state["tensors"][str(tensor_id)]
        tensors.setdefault(facts["tensor"], tensor_id)
        storages.setdefault(facts["storage"], told["storage"])
        if tensors[facts["tensor"]] != tensor_id or len(set(tensors.values())) != len(tensors):
            found.append(f"{name}: another object")
        if storages[facts["storage"]] != told["storage"] or len(set(storages.values())) != len(storages):
            found.append(f"{name}: another storage")
        found += [f"{name}.{d}" for d in facts_that_differ(state, told, facts)]
        if true.values[name] is not None and repr(told["values"]) != repr(true.values[name]):
            found.append(f"{name}: values {told['values']}, not {true.values[name]}")
    changed = {name: set(what) for name, what in state["changed"].get(line, {}).items()}
    if changed != true.changed:
        found.append(f"changed {changed}, not {true.changed}")
    lamps = state["lamps"].get(line, [])
    if (true.error is not None or "backward" in text) and set(lamps) >= set(true.lamps):
        lamps = true.lamps  # a result in the traceback, or a gradient, may have lit more
    if lamps != true.lamps:
        found.append(f"lamps {lamps}, not {true.lamps}")
    stale = {(n["name"], s["field"]) for n in nodes_of_names(state) for s in n["saved"] if s["stale"]}
    if stale != true.stale:
        found.append(f"stale {stale}, not {true.stale}")
    return [f"line {line}, {text}: {each}" for each in found]


def nodes_of_names(state: dict[str, Any]) -> list[dict[str, Any]]:
    """Nodes that a name leads to; `a.mul_(a)` makes others live on, as its node saves its own result."""
    found: dict[int, dict[str, Any]] = {}
    todo = [state["tensors"][str(i)]["grad_fn"] for i in state["bindings"].values()]
    while todo:
        node_id = todo.pop()
        if node_id is not None and node_id not in found:
            found[node_id] = state["nodes"][str(node_id)]
            todo.extend(next_id for next_id, _ in found[node_id]["next_functions"])
    return list(found.values())


def facts_that_differ(state: dict[str, Any], told: dict[str, Any], facts: dict[str, Any]) -> list[str]:
    found = []
    for field in FIELDS:
        true = list(facts[field]) if isinstance(facts[field], tuple) else facts[field]
        if told[field] != true:
            found.append(f"{field} {told[field]}, not {true}")
    node = None if told["grad_fn"] is None else state["nodes"][str(told["grad_fn"])]["name"]
    if (node, facts["grad_fn"]) == ("ViewBackward0", "ReshapeAliasBackward0"):
        node = facts["grad_fn"]  # reshape takes another path under any dispatch mode
    if node != facts["grad_fn"]:
        found.append(f"grad_fn {node}, not {facts['grad_fn']}")
    storage = state["storages"][str(told["storage"])]
    if storage["nbytes"] != facts["nbytes"] or storage["freed"]:
        found.append(f"storage {storage}, not of {facts['nbytes']} bytes")
    if (told["grad"] is None) != (facts["grad"] is None):
        found.append(f"grad {told['grad']}")
    elif told["grad"] is not None:
        grad = {**facts["grad"], "version": state["tensors"][str(told["grad"])]["version"]}
        found += [f"grad.{d}" for d in facts_that_differ(state, state["tensors"][str(told["grad"])], grad)]
    return found


@pytest.mark.slow
@pytest.mark.timeout(900)
@DETERMINISTIC
@given(statements=programs())
def test_every_fact_of_a_drawn_chain_is_what_pytorch_says(statements: list[Statement]) -> None:
    check(statements)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_every_fact_of_a_random_chain_is_what_pytorch_says() -> None:
    """Choices drawn by hypothesis stay near each other; these are spread evenly."""
    for seed in range(EXAMPLES):
        chance = random.Random(seed)
        check(chain(chance.choice, MOST))


def check(statements: list[Statement]) -> None:
    true = plainly(statements)
    source = "import torch\n" + "\n".join(s.text for s in statements) + "\n"
    try:
        trace = record(source)
    finally:
        torch.set_grad_enabled(True)

    found = []
    for number, (statement, after) in enumerate(zip(statements, true, strict=True), start=2):
        state = state_document(trace, number).model_dump(mode="json", by_alias=True)
        found += differences(state, after, str(number), statement.text)
    error = true[-1].error
    outcome = trace.outcome
    said = None if outcome.kind == "finished" else f"{outcome.type}: {outcome.message}"
    if said != error:
        found.append(f"ended with {said}, not {error}")
    assert not found, "\n".join([source, *found])
