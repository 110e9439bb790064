"""Layouts, dtypes and wrappers: what PyTorch raises on, and what is said instead."""

import warnings

import pytest
import torch
from tensor_anatomy.web.words import words_of_recording

from .looking import local, storage, tensor, traits
from .programs import op_names, printed, said, state, traced


def test_conj_is_a_lazy_view_and_the_next_operation_computes_it() -> None:
    trace, after = traced("M01"), state("M01")
    c, d, e = (tensor(after, name) for name in "cde")

    assert (d["storage"], d["is_conj"], c["is_conj"]) == (c["storage"], True, False)
    assert op_names(trace, 3) == ["aten::_conj"]
    assert not [event for event in trace.steps[2].events if event.kind == "bytes"]
    assert trace.steps[2].lamps == ("metadata",)
    assert (d["values"], c["values"]) == ([[1.0, -1.0]] * 2, [[1.0, 1.0]] * 2)
    assert said(trace, 3)[1] == (
        "d is a view of c: same storage S3, read as complex conjugates: nothing is computed yet."
    )
    assert op_names(trace, 4)[0] == "aten::clone"
    assert (e["is_conj"], e["values"]) == (False, [[1.0, -1.0]] * 2)
    assert e["storage"] != c["storage"]


def test_a_view_of_another_dtype_reads_the_same_bytes_and_converts_nothing() -> None:
    trace, after = traced("M04"), state("M04")

    assert tensor(after, "y")["storage"] == tensor(after, "x")["storage"]
    assert (tensor(after, "y")["dtype"], tensor(after, "y")["values"]) == ("torch.int32", [0, 0])
    assert op_names(trace, 3)[0] == "aten::view.dtype"
    assert not [name for name in op_names(trace, 3) if "copy" in name]
    assert said(trace, 3)[1] == (
        "y is a view of x: same storage S1, its bytes read as int32 instead of float32, not converted."
    )


def test_overlapping_windows_are_flagged_with_elements_and_cells() -> None:
    trace, after = traced("M05"), state("M05")

    assert traits(after, "y") == {"overlap": {"elements": 6, "cells": 4}}
    assert traits(after, "x") == {}
    assert "The 6 elements of y address 4 cells: some cells are read more than once." in said(trace, 3)
    assert "y: 6 elements address 4 cells" in printed(trace)
    assert "y: 6 个元素对应 4 个单元" in printed(trace, "zh")


def test_sparse_tensors_have_no_storage_and_list_the_tensors_they_are_made_of() -> None:
    trace, after = traced("M06"), state("M06")
    s, c = tensor(after, "s"), tensor(after, "c")

    assert after["outcome"]["kind"] == "finished"
    assert (s["layout"], c["layout"]) == ("torch.sparse_coo", "torch.sparse_csr")
    assert (s["storage"], c["storage"], c["stride"]) == (None, None, None)
    assert (s["storage_offset"], c["storage_offset"]) == (0, 0)  # as PyTorch answers
    assert tensor(after, "s._indices()")["values"] == [[0, 1, 2], [0, 1, 2]]
    assert tensor(after, "s._values()")["values"] == [1.0, 1.0, 1.0]
    assert tensor(after, "c.crow_indices()")["values"] == [0, 1, 2, 3]
    assert tensor(after, "c.col_indices()")["values"] == [0, 1, 2]
    assert tensor(after, "c.values()")["values"] == [1.0, 1.0, 1.0]
    assert storage(after, "c.values()")["held_by"] == ["c.values()"]
    assert "s is made of other tensors: s._indices() (2, 3) int64 and s._values() (3,) float32." in said(
        trace, 2
    )
    assert "s has no storage of its own: its layout keeps other tensors." in said(trace, 2)
    shown = printed(trace)
    assert all(name in shown for name in ("s._indices()", "c.crow_indices()", "c.values()"))


def test_nested_tensors_tell_their_components() -> None:
    trace, after = traced("M07"), state("M07")
    n, j = tensor(after, "n"), tensor(after, "j")

    assert (n["shape"], n["stride"], j["shape"], j["stride"]) == (None, None, None, None)
    assert traits(after, "n") == {"components": {"sizes": ["(2,)", "(3,)"]}}
    assert [tensor(after, name)["shape"] for name in ("n[0]", "n[1]")] == [[2], [3]]
    assert [tensor(after, name)["storage_offset"] for name in ("n[0]", "n[1]")] == [0, 2]
    assert tensor(after, "n[1]")["storage"] == n["storage"]
    assert traits(after, "j")["symbolic-shape"]["shape"] == "(2, j1)"
    assert tensor(after, "j._values")["values"] == [0.0] * 5
    assert tensor(after, "j._offsets")["values"] == [0, 2, 5]
    assert "n holds components of sizes (2,) and (3,), one after another in one storage." in said(trace, 2)
    assert any(sentence.startswith("j has shape (2, j1)") for sentence in said(trace, 3))
    assert "j: shape (2, j1): rows of different length" in printed(trace)


def test_a_quantized_tensor_shows_scale_and_zero_point() -> None:
    trace, after = traced("M08"), state("M08")

    assert (tensor(after, "q")["dtype"], storage(after, "q")["nbytes"]) == ("torch.quint8", 3)
    assert traits(after, "q") == {"quantized": {"quantizer": "scale 0.1, zero_point 0"}}
    assert tensor(after, "q")["values"] == [1.0, 1.0, 1.0]
    assert "q is quantized with scale 0.1, zero_point 0." in said(trace, 2)
    assert "q: quantized: scale 0.1, zero_point 0" in printed(trace)


def test_a_lazy_parameter_has_no_shape_until_its_first_input() -> None:
    trace, before, after = traced("M10"), state("M10", 4), state("M10")

    assert (tensor(before, "m.weight")["shape"], tensor(before, "m.weight")["storage"]) == (None, None)
    assert traits(before, "m.weight") == {"uninitialized": {"kind": "parameter"}}
    told = "are uninitialized parameters: their shapes are unknown until the first input comes."
    assert f"m.weight and m.bias {told}" in said(trace, 4)
    assert "m.weight and m.bias: uninitialized parameter: shape unknown" in printed(trace, step=4)
    assert after["bindings"]["m.weight"] == before["bindings"]["m.weight"]
    assert (tensor(after, "m.weight")["shape"], traits(after, "m.weight")) == ([2, 3], {})
    assert after["changed"]["5"]["m.weight"] == ["data", "metadata"]


def test_a_module_that_is_converted_keeps_its_parameters_and_takes_new_storages() -> None:
    trace, before, after = traced("M11"), state("M11", 4), state("M11")

    assert after["bindings"]["m.weight"] == before["bindings"]["m.weight"]
    assert tensor(after, "m.weight")["storage"] != tensor(before, "m.weight")["storage"]
    assert tensor(after, "m.weight")["dtype"] == "torch.float64"
    assert "m.weight now looks at storage S3 instead of S1." in said(trace, 5)


def test_inside_vmap_a_tensor_is_batched_and_has_neither_storage_nor_values() -> None:
    trace, inside = traced("M12"), state("M12", 3)

    for name in ("v", "s"):
        batched = local(inside, name)
        assert (batched["shape"], batched["storage"], batched["values"]) == ([3], None, None)
        assert batched["traits"] == [{"id": "batched", "args": {"level": 1}}]
    assert any(sentence.startswith("s is batched (vmap level 1)") for sentence in said(trace, 3))
    assert "v and s: batched (vmap level 1)" in printed(trace, step=3)
    assert tensor(state("M12"), "y")["values"] == [6.0, 6.0]


def test_fake_tensors_are_named_by_their_class_and_never_read() -> None:
    source = (
        "import torch\nfrom torch._subclasses.fake_tensor import FakeTensorMode\n"
        "with FakeTensorMode():\n    f = torch.ones(3)\n    g = f * 2\nk = 1\n"
    )
    after = state(source)

    assert after["outcome"]["kind"] == "finished"
    assert (tensor(after, "g")["shape"], tensor(after, "g")["values"]) == ([3], None)
    assert traits(after, "g") == {"wrapper": {"kind": "FakeTensor"}}
    assert "f and g: FakeTensor: no bytes of its own" in printed(traced(source))


@pytest.mark.parametrize(
    ("program", "labels"),
    [
        ("D01", set()),
        ("D07", {"trait.foreign-memory"}),
        ("D11", {"trait.bytes-freed"}),
        ("M05", {"trait.overlap"}),
        ("M08", {"trait.quantized"}),
        ("M12", {"trait.batched"}),
        ("A06", {"trait.grad-fn-unavailable", "trait.scalar"}),
    ],
)
def test_a_page_of_a_recorded_run_carries_the_words_for_what_its_tensors_are(
    program: str, labels: set[str]
) -> None:
    words = words_of_recording(traced(program), "zh")

    assert {id for id in words if id.startswith("trait.") and not id.endswith(".told")} == labels
    assert "list.names" in words


def test_the_layouts_of_sparse_tensors_say_as_pytorch_does_where_their_values_are() -> None:
    pairs = {"bsr": "to_sparse_bsr((2, 2))", "csc": "to_sparse_csc()", "bsc": "to_sparse_bsc((2, 2))"}
    source = "import torch\ne = torch.eye(4)\n" + "".join(f"{n} = e.{call}\n" for n, call in pairs.items())
    after = state(source)

    eye = torch.eye(4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # beta state
        bsr, csc, bsc = eye.to_sparse_bsr((2, 2)), eye.to_sparse_csc(), eye.to_sparse_bsc((2, 2))
    rows = tensor(after, "bsr.crow_indices()"), tensor(after, "bsr.values()")
    columns = tensor(after, "csc.ccol_indices()"), tensor(after, "bsc.row_indices()")
    assert [t["values"] for t in rows] == [bsr.crow_indices().tolist(), bsr.values().tolist()]
    assert [t["values"] for t in columns] == [csc.ccol_indices().tolist(), bsc.row_indices().tolist()]


def test_writing_to_a_part_of_a_sparse_tensor_changes_both() -> None:
    after = state(
        "import torch\ns = torch.eye(3).to_sparse()\ns._values().mul_(5)\ndel s\n",
        3,
    )
    gone = state("import torch\ns = torch.eye(3).to_sparse()\ndel s\nk = 1\n")

    assert after["changed"]["3"]["s"] == ["data"]
    assert after["changed"]["3"]["s._values()"] == ["data"]
    assert tensor(after, "s")["values"][0] == [5.0, 0.0, 0.0]
    assert {s["freed_line"] for s in gone["storages"].values() if s["nbytes"] in (48, 12)} == {3}
    assert gone["bytes"]["alive"].get("cpu", 0) == 0
