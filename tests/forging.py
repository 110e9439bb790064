"""Replies that no tracer sent: valid, as large as a child may send, each made to cost as much as it can."""

import base64
import json
import random
from collections.abc import Callable, Iterator
from typing import Any

REPLY_BYTES = 4 << 20
"""As much as a trace may have by default."""

Event = dict[str, Any]
Forged = list[bytes]
"""The payloads of a reply, without the closing: it breaks off, which is valid."""

FORGERIES: dict[str, Callable[[], Forged]] = {}

_OUTCOME = {
    "kind": "finished",
    "line": None,
    "type": None,
    "message": None,
    "reason": None,
    "limit": None,
    "range": None,
    "traceback": [],
    "failure": None,
}
_ENVIRONMENT = {"torch": "2", "python": "3", "device": "cpu", "simulated": False, "seed": 0}
_FLOATS = {
    "shape": [2],
    "stride": [1],
    "storage_offset": 0,
    "dtype": "torch.float32",
    "layout": "torch.strided",
    "device": "cpu",
    "is_contiguous": True,
    "is_conj": False,
    "is_neg": False,
    "requires_grad": True,
    "is_leaf": True,
}


def forgery(make: Callable[[], Forged]) -> Callable[[], Forged]:
    """Register a forgery by its name."""
    FORGERIES[make.__name__.replace("_", " ")] = make
    return make


def reply(
    steps: Iterator[list[Event]], changed: Callable[[int], Event] | None = None, **tables: Any
) -> Forged:
    """The payloads of a program of one line whose steps have these events, up to the limit."""
    statement = {"kind": "Expr", "range": {"line": 1, "column": 0, "end_line": 1, "end_column": 1}}
    opening = {"kind": "opening", "environment": _ENVIRONMENT, "statements": [statement]}
    rows = {"names": [], "views": [], "ranges": [], "sites": [], "routes": []} | tables
    budget = REPLY_BYTES - len(_encoded(rows)) - 2_000
    sent, first, made = 0, 0, []
    for number, events in enumerate(steps):
        encloses = isinstance(events, Enclosing)
        step = {
            "statement": 0,
            "frame": 0,
            "depth": 0,
            "began": 0 if encloses else number,
            "first_event": 0 if encloses else first,
            "executions": 1,
            "fold": None,
            "raised": False,
            "changed": {} if changed is None else changed(number),
            "lamps": ["data", "metadata", "autograd"],
            "peak_bytes": {},
            "events": events,
        }
        size = len(_encoded(step)) + 1
        if sent + size > budget:
            break
        sent += size
        first += len(events)
        made.append(step)
    assert made
    return [_encoded(opening), _encoded({"kind": "steps", **rows, "steps": made, "running": None})]


class Enclosing(list[Event]):
    """Events of a step that began before all others: it has theirs as well, as a recursion does."""


def closing() -> bytes:
    """The last payload of a program that ended well."""
    return _encoded({"kind": "closing", "events": [], "outcome": _OUTCOME, "fingerprint": None})


def _encoded(record: object) -> bytes:
    return json.dumps(record, separators=(",", ":")).encode()


def node(number: int, targets: Any = (), name: int = 0, variable: int | None = None, **more: Any) -> Event:
    """A graph node."""
    edges = [[target, 0] for target in targets]
    return {
        "kind": "node",
        "id": number,
        "name": name,
        "line": 1,
        "next_functions": edges,
        "variable": variable,
        "saved": [],
        **more,
    }


def storage(number: int, address: int, nbytes: int = 8) -> Event:
    """A storage."""
    return {"kind": "storage", "id": number, "nbytes": nbytes, "address": hex(address), "device": "cpu"}


def tensor(number: int, on: int | None, view: int = 0, **more: Any) -> Event:
    """A tensor."""
    return {
        "kind": "tensor",
        "id": number,
        "view": view,
        "storage": on,
        "version": 0,
        "grad_fn": None,
        "grad": None,
        "quantizer": None,
        **more,
    }


def names(root: str, paths: dict[str, int], frame: int = 0) -> Event:
    """What a variable leads to."""
    return {"kind": "names", "frame": frame, "root": root, "paths": paths}


def op(site: int, inputs: Any, outputs: Any) -> Event:
    """An op call."""
    return {"kind": "op", "site": site, "inputs": list(inputs), "outputs": list(outputs)}


def site(**more: Any) -> Event:
    """A row of the table of sites."""
    return {
        "op": 0,
        "api": None,
        "range": None,
        "views": [0],
        "verdicts": ["fresh"],
        "writes": [],
        "node": None,
        "failed": False,
        "route": None,
        **more,
    }


# ---- graphs


@forgery
def edges_to_shared_leaves() -> Forged:
    leaves = [node(i, variable=i, name=1) for i in range(200)]
    users = [node(200 + i, range(200)) for i in range(2_000)]
    return reply(iter([leaves, *([user] for user in users)]), names=["Mul", "AccumulateGrad"])


@forgery
def leaves_each_with_its_own_users() -> Forged:
    leaves = [node(i, variable=i, name=1) for i in range(2_000)]
    users = [node(2_000 + i, range(i, i + 100)) for i in range(1_800)]
    return reply(iter([leaves, *([user] for user in users)]), names=["Mul", "AccumulateGrad"])


@forgery
def a_graph_of_all_to_all() -> Forged:
    return reply(iter([[node(i, range(max(0, i - 300), i)) for i in range(1_400)]]), names=["Mul"])


@forgery
def a_long_chain_with_many_leaves() -> Forged:
    made: list[Event] = []
    for i in range(9_000):
        made.append(node(2 * i, variable=i, name=1))
        made.append(node(2 * i + 1, [2 * i, *([2 * i - 1] if i else [])]))
    return reply(([each] for each in made), names=["Mul", "AccumulateGrad"])


@forgery
def results_of_a_long_chain() -> Forged:
    def steps() -> Iterator[list[Event]]:
        yield [storage(0, 16)]
        for i in range(20_000):
            state = tensor(i, 0, grad_fn=2 * i + 1)
            yield [
                node(2 * i, variable=i, name=1),
                node(2 * i + 1, [2 * i, *([2 * i - 1] if i else [])]),
                state,
                names("y", {"y": i}),
            ]

    return reply(steps(), lambda n: {"y": ["new"]}, names=["Mul", "AccumulateGrad"], views=[_FLOATS])


@forgery
def modules_in_modules() -> Forged:
    labels = [f"m{i}: M" for i in range(400)]
    made = [
        node(i, [i - 1] if i else [], modules=[1 + (i * j) % 400 for j in range(1, 13)])
        for i in range(11_000)
    ]
    return reply(([each] for each in made), names=["Mul", *labels])


@forgery
def rounds_of_a_loop() -> Forged:
    made = []
    for i in range(0, 30_000, 3):
        made.append([node(i, variable=i, name=1), node(i + 1, [i]), node(i + 2, [i + 1])])
    return reply(iter(made), names=["Mul", "AccumulateGrad"])


@forgery
def rounds_that_all_look_different() -> Forged:
    made = []
    for i in range(0, 20_000, 4):
        made.append(
            [
                node(i, variable=i, name=1, saved=_slots(i % 7)),
                node(i + 1, [i], saved=_slots(i % 5)),
                node(i + 2, [i + 1, i], saved=_slots(i % 3)),
                node(i + 3, [i + 2, i + 1, i], saved=_slots(i % 11)),
            ]
        )
    return reply(iter(made), names=["Mul", "AccumulateGrad"])


def _slots(count: int) -> list[Event]:
    return [{"field": "self", "tensor": 1, "storage": None, "version": 0}] * count


@forgery
def one_node_above_many_leaves() -> Forged:
    leaves = [node(i, variable=i, name=1) for i in range(199)]
    return reply(iter([[*leaves, node(199, range(199))]]), names=["Mul", "AccumulateGrad"])


@forgery
def a_random_graph() -> Forged:
    chance = random.Random(1)
    made = [node(i, [chance.randrange(i), chance.randrange(i)] if i else []) for i in range(300)]
    return reply(iter([made]), names=["Mul"])


@forgery
def a_graph_just_small_enough_to_lay_out() -> Forged:
    made = [node(i, [j for j in (i - 1, i - 7, i // 2) if 0 <= j < i]) for i in range(300)]
    return reply(iter([made]), names=["Mul"])


# ---- torch.compile


def _compilation(number: int, nodes: list[list[int]], **more: Any) -> Event:
    graph = {
        "stage": "captured",
        "calls": len(nodes),
        "omitted": 0,
        "nodes": [
            {
                "name": "a",
                "op": "call_function",
                "target": "t",
                "arguments": "",
                "inputs": inputs,
                "shape": None,
                "dtype": None,
                "line": None,
            }
            for inputs in nodes
        ],
    }
    return {
        "kind": "compiled",
        "id": f"0/{number}",
        "function": "f",
        "line": 1,
        "resumes": False,
        "backend": "eager",
        "outcome": "graph",
        "reason": None,
        "graphs": [graph],
        "breaks": [],
        "guards": [],
        "guard_count": 0,
        "recompiled": [],
        **more,
    }


@forgery
def dense_compiled_graphs() -> Forged:
    dense = [[j for j in range(max(0, i - 5), i)] for i in range(80)]
    return reply([_compilation(n, [*dense, *([[]] * (n % 9))])] for n in range(40))


@forgery
def many_compilations() -> Forged:
    return reply([_compilation(n, [])] for n in range(15_000))


@forgery
def many_compilations_in_one_step() -> Forged:
    return reply(iter([[_compilation(n, [], recompiled=[]) for n in range(11_000)]]))


@forgery
def many_breaks() -> Forged:
    broken = [{"line": 1, "type": "t", "reason": "r" * 40, "hints": []}] * 40_000
    return reply(iter([[_compilation(0, [[]], breaks=broken)]]))


@forgery
def many_compiled_runs() -> Forged:
    run = {"kind": "compiled-run", "compilation": "0/0", "again": True}
    return reply(iter([[_compilation(0, [[]])], *([run] * 20 for _ in range(3_000))]))


# ---- storages, tensors and names


@forgery
def storages_over_the_same_memory() -> Forged:
    return reply(iter([[storage(i, 4096 + i, 1 << 20) for i in range(40_000)]]))


@forgery
def storages_that_come_and_stay() -> Forged:
    return _with_views([storage(i, 4096 + i, 1 << 20), tensor(i, i)] for i in range(40_000))


def _with_views(steps: Iterator[list[Event]], changed: Callable[[int], Event] | None = None) -> Forged:
    return reply(
        steps,
        changed,
        views=[_FLOATS],
        names=["aten::mul_.Tensor"],
        sites=[site(), site(verdicts=["in-place"], writes=[0])],
    )


@forgery
def storages_over_each_other_with_names() -> Forged:
    return _with_views(
        ([storage(i, 4096 + i, 1 << 20), tensor(i, i), names(f"v{i}", {f"v{i}": i})] for i in range(40_000)),
        lambda n: {f"v{n}": ["new"]},
    )


@forgery
def many_views_of_one_storage() -> Forged:
    def steps() -> Iterator[list[Event]]:
        yield [storage(0, 4096)]
        for i in range(40_000):
            yield [tensor(i, 0), names(f"v{i}", {f"v{i}": i})]

    return _with_views(steps(), lambda n: {f"v{n - 1}": ["new"]})


@forgery
def writes_that_many_views_see() -> Forged:
    def steps() -> Iterator[list[Event]]:
        yield [storage(0, 4096), *(tensor(i, 0) for i in range(8_000))]
        yield [names("v", {f"v[{i}]": i for i in range(8_000)})]
        for _ in range(20_000):
            yield [op(1, [0], [0])]

    return _with_views(steps())


@forgery
def many_variables_and_a_step_for_each() -> Forged:
    def steps() -> Iterator[list[Event]]:
        yield [storage(0, 4096), tensor(0, 0)]
        yield [names(f"v{i}", {f"v{i}": 0}) for i in range(20_000)]
        for _ in range(20_000):
            yield [op(1, [0], [0])]

    return _with_views(steps(), lambda n: {"v0": ["data"]})


@forgery
def a_large_container_bound_again_and_again() -> Forged:
    def steps() -> Iterator[list[Event]]:
        yield [storage(0, 4096), *(tensor(i, 0) for i in range(2_000))]
        while True:
            yield [names("v", {f"v[{i}]": i for i in range(2_000)})]

    return _with_views(steps(), lambda n: {f"v[{i}]": ["rebound"] for i in range(500)})


@forgery
def containers_nested_deeply() -> Forged:
    def steps() -> Iterator[list[Event]]:
        yield [storage(0, 4096), tensor(0, 0)]
        for i in range(20_000):
            path = "v" + "[0]" * (i % 1_000)
            yield [names("v", {path: 0})]

    return _with_views(steps(), lambda n: {"v" + "[0]" * ((n - 1) % 1_000): ["new"]})


@forgery
def gradients_of_each_other() -> Forged:
    def steps() -> Iterator[list[Event]]:
        yield [storage(0, 4096), names("v", {"v": 0})]
        for i in range(30_000):
            yield [tensor(i, 0, grad=(i * 7) % 50)]

    return _with_views(steps())


@forgery
def a_chain_of_gradients() -> Forged:
    def steps() -> Iterator[list[Event]]:
        yield [storage(0, 4096), names("v", {"v": 0})]
        for i in range(20_000):
            yield [tensor(i, 0, grad=i + 1)]
        for _ in range(10):
            yield [op(1, [20_000], [20_000])]

    return _with_views(steps())


@forgery
def many_gradients_of_one_owner() -> Forged:
    def steps() -> Iterator[list[Event]]:
        yield [storage(0, 4096), *(tensor(i, 0, grad=0) for i in range(8_000)), names("v", {"v": 1})]
        for _ in range(20_000):
            yield [op(1, [0], [0])]

    return _with_views(steps())


# ---- ops


@forgery
def a_long_chain_of_views() -> Forged:
    def steps() -> Iterator[list[Event]]:
        yield [storage(0, 4096), tensor(0, 0), names("v", {"v": 0})]
        for i in range(30_000):
            yield [op(2, [i], [i + 1])]
            if i % 2:
                yield [op(1, [i + 1], [i + 1])]

    return reply(
        steps(),
        views=[_FLOATS],
        names=["aten::mul_.Tensor"],
        sites=[site(), site(verdicts=["in-place"], writes=[0]), site(verdicts=["view"])],
    )


@forgery
def one_tensor_made_again_and_again() -> Forged:
    def steps() -> Iterator[list[Event]]:
        yield [storage(0, 4096), tensor(0, 0)]
        for _ in range(40_000):
            yield [op(0, [0], [1]), op(1, [1], [1])]

    return _with_views(steps())


@forgery
def an_op_with_many_inputs() -> Forged:
    return _with_views(iter([[op(0, range(1_000), [1_000 + i]) for i in range(700)]]))


@forgery
def a_write_of_many_inputs() -> Forged:
    def steps() -> Iterator[list[Event]]:
        yield [storage(0, 4096), *(tensor(i, 0) for i in range(1_000))]
        while True:
            yield [op(0, range(1_000), [0])]

    return reply(
        steps(),
        views=[_FLOATS | {"shape": [256, 256], "stride": [256, 1]}],
        names=["aten::mul_.Tensor"],
        sites=[site(verdicts=["in-place"], writes=list(range(1_000)))],
    )


@forgery
def large_views_written_again_and_again() -> Forged:
    view = _FLOATS | {"shape": [256, 256], "stride": [257, 3]}
    rest = {
        "views": [view],
        "names": ["aten::mul_.Tensor"],
        "sites": [site(verdicts=["in-place"], writes=[0])],
    }

    def steps() -> Iterator[list[Event]]:
        yield [storage(0, 4096, 1 << 30), tensor(0, 0), names("v", {"v": 0})]
        while True:
            yield [op(0, [0], [0])]

    return reply(steps(), **rest)


@forgery
def views_whose_elements_share_cells() -> Forged:
    views = [
        _FLOATS | {"shape": [255, 256], "stride": [1 + i % 50, 1], "storage_offset": i} for i in range(10_000)
    ]

    def steps() -> Iterator[list[Event]]:
        yield [storage(0, 4096, 1 << 30)]
        for i in range(10_000):
            yield [tensor(i, 0, view=i), names("v", {"v": i})]

    return reply(steps(), lambda n: {"v": ["rebound"]}, views=views)


@forgery
def steps_inside_steps() -> Forged:
    def steps() -> Iterator[list[Event]]:
        yield [storage(0, 4096), tensor(0, 0), names("v", {"v": 0})]
        for _ in range(8_000):
            yield Enclosing([op(1, [0], [0]) for _ in range(5)])

    return _with_views(steps())


@forgery
def steps_that_do_nothing() -> Forged:
    return reply([] for _ in range(100_000))


@forgery
def calls_of_calls() -> Forged:
    def steps() -> Iterator[list[Event]]:
        for i in range(30_000):
            yield [{"kind": "call", "frame": i + 1, "function": "f"}]

    return reply(steps())


@forgery
def many_exceptions() -> Forged:
    raised = {"kind": "exception", "type": "E", "message": "m" * 20, "range": None}
    return reply(iter([[raised] * 30_000, *([raised] for _ in range(5_000))]))


@forgery
def bytes_that_change() -> Forged:
    a, b = (base64.b64encode(bytes([n]) * 4096).decode() for n in (1, 2))

    def steps() -> Iterator[list[Event]]:
        yield [storage(0, 4096, 4096), tensor(0, 0), names("v", {"v": 0})]
        for i in range(2_000):
            yield [{"kind": "bytes", "storage": 0, "data": a if i % 2 else b, "late": False}]

    return _with_views(steps(), lambda n: {"v": ["data"]})


@forgery
def stale_and_right_again() -> Forged:
    def steps() -> Iterator[list[Event]]:
        yield [storage(0, 4096), *(tensor(i, 0) for i in range(2_000)), node(0, saved=_on_storage(2_000))]
        yield [names("v", {f"v[{i}]": i for i in range(2_000)})]
        for i in range(30_000):
            yield [{"kind": "saved", "node": 0, "slot": i % 2_000, "stale": True}]

    return _with_views(steps())


def _on_storage(count: int) -> list[Event]:
    return [{"field": "self", "tensor": None, "storage": 0, "version": 0}] * count


@forgery
def many_different_sentences() -> Forged:
    def steps() -> Iterator[list[Event]]:
        for i in range(40_000):
            yield [storage(i, 4096 + 16 * i), tensor(i, i), names("v", {"v": i})]

    return _with_views(steps(), lambda n: {"v": ["rebound"]})


@forgery
def names_that_are_long() -> Forged:
    def steps() -> Iterator[list[Event]]:
        yield [storage(0, 4096), tensor(0, 0)]
        yield [names("v", {"v" * 1_000_000: 0})]
        while True:
            yield [op(1, [0], [0])]

    return _with_views(steps())
