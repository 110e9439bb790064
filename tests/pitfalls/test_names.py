"""What a name is: an expression that gives the tensor, whatever keeps it, and nothing of the program runs."""

from typing import Any

import pytest

from .programs import PROGRAMS, lines, op_names, printed, said, state, steps_of, traced


def tensor(document: dict[str, Any], name: str) -> Any:
    return document["tensors"][str({**document["bindings"], **document["locals"]}[name])]


def storage(document: dict[str, Any], name: str) -> Any:
    return document["storages"][str(tensor(document, name)["storage"])]


def test_tied_weights_are_one_tensor_with_two_names() -> None:
    before, after = state("N01", 4), state("N01")

    assert before["bindings"]["m[0].weight"] != before["bindings"]["m[1].weight"]
    assert after["bindings"]["m[0].weight"] == after["bindings"]["m[1].weight"]
    assert {"m[0].weight", "m[1].weight"} <= set(storage(after, "m[0].weight")["held_by"])
    assert after["changed"]["5"] == {"m[1].weight": ["rebound"]}


def test_forward_of_batch_norm_writes_its_buffers_past_their_versions() -> None:
    before, after = state("N02", 4), state("N02")
    running = ("bn.running_mean", "bn.running_var")
    written = [o for o in op_names(traced("N02"), 5) if o.endswith("_.Tensor")]

    for name in running:
        assert after["changed"]["5"][name] == ["data"]
        assert tensor(before, name)["version"] == tensor(after, name)["version"]
        assert tensor(before, name)["values"] != tensor(after, name)["values"]
    assert "aten::native_batch_norm" in op_names(traced("N02"), 5)
    assert written == ["aten::add_.Tensor"]
    assert tensor(after, "bn.num_batches_tracked")["values"] == 1
    assert (
        tensor(after, "bn.num_batches_tracked")["version"]
        == tensor(before, "bn.num_batches_tracked")["version"] + 1
    )


def test_attributes_slots_fields_and_containers_are_named_as_they_are_written() -> None:
    bindings = state("N03")["bindings"]
    sizes = {name: tensor(state("N03"), name)["shape"] for name in bindings}

    assert list(bindings) == ["d.t", "s.q", "n.a", "n.b[0]", "k['w'][0]"]
    assert list(sizes.values()) == [[1], [1], [2], [3], [4]]


def test_a_closure_cell_is_a_variable_inside_and_a_holder_outside() -> None:
    trace = traced("N05")
    (bind,) = steps_of(trace, 6)
    inside, made, after = state("N05", bind), state("N05", steps_of(trace, 9)[0]), state("N05")

    assert trace.steps[bind - 1].changed == {"acc": ("rebound",)}
    assert set(inside["locals"]) == {"acc"}
    assert "f.__closure__[0].cell_contents" in storage(made, "f.__closure__[0].cell_contents")["held_by"]
    # After line 10 the cell holds the new acc beside y, and the first acc is gone.
    assert after["bindings"]["f.__closure__[0].cell_contents"] == after["bindings"]["y"]
    assert "f.__closure__[0].cell_contents" in storage(after, "y")["held_by"]
    assert storage_freed(after) == [6]


def storage_freed(document: dict[str, Any]) -> list[int]:
    """Lines that freed a storage."""
    return [s["freed_line"] for s in document["storages"].values() if s["freed"]]


def test_the_first_200_entries_are_named_and_the_rest_counted() -> None:
    trace = traced("N06")
    names = [name for name in state("N06")["bindings"] if name.startswith("xs[")]
    (told,) = [text for text in said(trace, 2) if "4,800" in text and "names" in text]

    assert names == [f"xs[{i}]" for i in range(200)]
    assert "5,000 entries" in told
    assert told in printed(trace)
    assert "4,800" in " ".join(said(trace, 2, "zh"))
    # All 5,000 are alive, whether named or not; the dictionary that holds itself comes to an end.
    assert state("N06")["bytes"]["alive"] == {"cpu": 20_000}
    assert (trace.outcome.kind, lines(trace)) == ("finished", [1, 2, 3, 4, 5])


def test_a_container_that_grows_past_200_is_counted_as_it_grows() -> None:
    trace = traced("import torch\nxs = []\nfor i in range(203):\n    xs.append(torch.zeros(1))\nn = 1\n")
    counts = [s.args["count"] for s in trace.sentences if s.id == "names.entries"]

    assert counts == [201, 202, 203]


def test_no_code_of_the_program_runs_to_find_names() -> None:
    trace = traced("N07")

    # Every method of the object raises; `record` fails on any fault of the tracer.
    assert trace.outcome.kind == "finished"
    assert not any(step.raised for step in trace.steps)
    assert lines(trace)[-2:] == [12, 13]
    assert list(state("N07")["bindings"]) == ["x"]


def test_an_attribute_that_is_replaced_leads_to_the_new_tensor_and_frees_the_old() -> None:
    before, after = state("N09", 4), state("N09")
    old = storage(before, "m.weight")
    old_id = str(tensor(before, "m.weight")["storage"])

    assert after["bindings"]["m.weight"] != before["bindings"]["m.weight"]
    assert after["changed"]["5"] == {"m.weight": ["rebound"]}
    assert not old["freed"]
    assert (after["storages"][old_id]["freed"], after["storages"][old_id]["freed_line"]) == (True, 5)
    assert tensor(after, "m.weight")["values"] == [[0.0, 0.0], [0.0, 0.0]]


def test_a_state_dict_shows_the_live_parameters() -> None:
    after = state("N10")

    assert after["bindings"]["sd['weight']"] != after["bindings"]["m.weight"]
    assert tensor(after, "sd['weight']")["storage"] == tensor(after, "m.weight")["storage"]
    assert after["changed"]["7"] == {"m.weight": ["data"], "sd['weight']": ["data"]}
    assert tensor(after, "sd['weight']")["values"] == [[0.0, 0.0], [0.0, 0.0]]


# -- their relatives


def test_a_list_with_two_names_shows_what_was_appended_under_both() -> None:
    document = state("import torch\na = [torch.zeros(1)]\nb = a\nb.append(torch.ones(2))\n")

    assert document["changed"]["4"] == {"a[1]": ["new"], "b[1]": ["new"]}
    assert document["bindings"]["a[1]"] == document["bindings"]["b[1]"]


def test_other_names_of_a_container_are_looked_at_even_when_there_is_much_to_look_at() -> None:
    source = (
        "import torch\nmany = [[torch.zeros(1) for i in range(180)] for j in range(30)]\n"
        "a = []\nb = {'k': a}\nfor i in range(12):\n    a.append(torch.ones(1))\n"
    )
    changed = [step.changed for step in traced(source).steps if "a[11]" in step.changed]

    assert [sorted(names) for names in changed] == [["a[11]", "b['k'][11]"]]


def test_underscored_attributes_of_a_module_are_named() -> None:
    document = state(
        "import torch\nfrom torch import nn\nclass M(nn.Module):\n    def __init__(self):\n"
        "        super().__init__()\n        self._mask = torch.ones(3)\nm = M()\n"
    )

    assert list(document["bindings"]) == ["m._mask"]


@pytest.mark.parametrize("pitfall", ["N01", "N05", "N09", "N10"])
def test_every_name_gives_its_tensor_when_it_is_evaluated(pitfall: str) -> None:
    variables: dict[str, Any] = {}
    exec(PROGRAMS[pitfall], variables)
    document = state(pitfall)

    for name in document["bindings"]:
        given = eval(name, variables)
        assert list(given.shape) == tensor(document, name)["shape"]
        others = [n for n in document["bindings"] if eval(n, variables) is given]
        assert all(document["bindings"][n] == document["bindings"][name] for n in others)
