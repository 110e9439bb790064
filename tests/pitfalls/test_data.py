"""Storages: who shares them, who writes them, when they go; and what the reader is told of that."""

import asyncio
import os

import pytest
from tensor_anatomy.execution import Pool, Turns
from tensor_anatomy.execution.zygote_client import ZygoteClient
from tensor_anatomy.schema import TraceRequest
from tensor_anatomy.schema.replay import state_document, step_line

from ..conftest import LIMITS
from .looking import span, storage, tensor, traits
from .programs import PROGRAMS, lines, noted, op_names, ops, printed, said, state, traced


def test_a_reshape_that_must_copy_clones_into_a_new_storage() -> None:
    trace, after = traced("D01"), state("D01")

    assert op_names(trace, 3) == ["aten::t", "aten::clone", "aten::_unsafe_view"]
    assert [op.verdicts for op in ops(trace, 3)] == [("view",), ("fresh",), ("view",)]
    assert tensor(after, "y")["storage"] != tensor(after, "x")["storage"]
    assert "y has a storage of its own, S2 (48 B)." in said(trace, 3)


def test_a_reshape_that_need_not_copy_is_a_view() -> None:
    trace, after = traced("D02"), state("D02")

    assert op_names(trace, 3) == ["aten::view"]
    assert tensor(after, "y")["storage"] == tensor(after, "x")["storage"]
    assert said(trace, 3)[1].startswith("y is a view of x: same storage S1")


def test_conversions_to_what_a_tensor_is_already_return_the_tensor_itself() -> None:
    trace, after = traced("D03"), state("D03")

    for step, api in ((3, "contiguous"), (4, "to"), (5, "float")):
        (call,) = [e for e in trace.steps[step - 1].events if e.kind in ("api", "op")]
        assert (call.kind, trace.names[call.api], call.returned_input) == ("api", api, True)
    assert len({after["bindings"][name] for name in "xabc"}) == 1
    for step, name in ((3, "a"), (4, "b"), (5, "c")):
        assert said(trace, step)[0] == f"{name} is another name for the tensor x: one tensor, not a copy."


def test_data_shares_the_bytes_and_counts_writes_for_itself() -> None:
    trace, after = traced("D04"), state("D04")

    assert (tensor(after, "y")["version"], tensor(after, "x")["version"]) == (1, 0)
    assert tensor(state("D04", 3), "x")["values"] == [0.0, 0.0]
    assert tensor(after, "x")["values"] == [1.0, 1.0]
    assert after["changed"]["4"] == {"x": ["data"], "y": ["data"]}
    assert said(trace, 4)[:2] == [
        "All 2 values in storage S1 overwritten in place; x and y both see them.",
        "y counts this write (version 0 → 1), x does not (still 0): one memory, two version counters.",
    ]


def test_detach_shares_the_version_counter() -> None:
    after = state("D05")

    assert (tensor(after, "x")["version"], tensor(after, "y")["version"]) == (1, 1)
    assert "Version of S1 went 0 → 1." in said(traced("D05"), 4)


def test_a_write_through_numpy_is_found_because_the_memory_was_given_to_numpy() -> None:
    trace, before, after = traced("D06"), state("D06", 3), state("D06")

    assert op_names(trace, 4) == []
    assert (tensor(before, "x")["values"], tensor(after, "x")["values"]) == ([0.0, 0.0], [5.0, 0.0])
    assert tensor(after, "x")["version"] == 0
    assert after["changed"]["4"] == {"x": ["data"]}
    assert said(trace, 4)[:2] == [
        "1 of 2 values in storage S1 changed through numpy of line 3, without an operation on its tensors; "
        "x sees the new values.",
        "The version stays 0: PyTorch did not see this write to S1.",
    ]
    assert noted(trace)[0][0] == 4


def test_two_tensors_over_one_array_have_two_storages_and_one_memory() -> None:
    trace, after = traced("D07"), state("D07")

    assert tensor(after, "x")["storage"] != tensor(after, "y")["storage"]
    (x_start, x_end), (y_start, y_end) = span(after, "x"), span(after, "y")
    assert (x_start + 4, x_end) == (y_start, y_end)
    assert "two storages, one memory" in said(trace, 5)[0]
    assert "x and y lie over one memory, each in a storage of its own (S1 and S2)" in printed(trace)
    assert tensor(after, "y")["values"] == [7.0, 0.0, 0.0]
    assert after["changed"]["6"] == {"x": ["data"], "y": ["data"]}
    assert (
        "1 of 3 values in storage S2 changed through storage S1, which lies over the same memory; "
        "y sees the new values."
    ) in said(trace, 6)
    assert after["bytes"] == {"alive": {"cpu": 16}, "peak": {"cpu": 20}}


def test_a_tensor_from_a_list_is_a_new_storage_whatever_the_schema_of_its_op_says() -> None:
    trace, after = traced("D08"), state("D08")

    (op,) = ops(trace, 2)
    assert (trace.names[op.op], op.verdicts) == ("aten::lift_fresh", ("fresh",))
    assert storage(after, "x")["nbytes"] == 8
    assert said(trace, 2)[0] == "x has a storage of its own, S1 (8 B)."


def test_the_legacy_constructor_is_no_api_call_and_its_op_has_a_place() -> None:
    trace = traced("D09")
    source = PROGRAMS["D09"].splitlines()

    (op,) = ops(trace, 2)
    assert [e for e in trace.steps[1].events if e.kind == "api"] == []
    assert (trace.names[op.op], op.api) == ("aten::lift_fresh", None)
    assert op.range is not None
    place = trace.ranges[op.range]
    assert source[place.line - 1][place.column : place.end_column] == "torch.Tensor([1, 2])"


def test_a_parameter_made_of_a_tensor_is_found_by_name_and_shares_bytes_and_version() -> None:
    trace, after = traced("D10"), state("D10")

    assert [e.kind for e in trace.steps[4].events if e.kind in ("op", "api")] == []
    assert after["bindings"]["p"] != after["bindings"]["x"]
    assert tensor(after, "p")["storage"] == tensor(after, "x")["storage"]
    assert (tensor(after, "p")["version"], tensor(after, "x")["version"]) == (1, 1)
    assert "x and p both see them" in said(trace, 6)[0]


def test_a_tensor_whose_bytes_were_freed_is_not_read_and_says_so() -> None:
    trace, before, after = traced("D11"), state("D11", 2), state("D11")

    assert (storage(before, "x")["nbytes"], storage(after, "x")["nbytes"]) == (16, 0)
    assert tensor(after, "x")["values"] is None
    assert (tensor(after, "x")["shape"], traits(after, "x")) == ([4], {"bytes-freed": {"nbytes": 0}})
    assert lines(trace) == [1, 2, 3, 4]
    assert said(trace, 3)[:2] == [
        "The bytes of storage S1 (16 B) were freed; the storage stays, empty.",
        "The bytes of x are freed: it keeps its shape, its storage has 0 B left, and reading it would crash.",
    ]
    assert "x: bytes freed: its storage has 0 B left" in printed(trace)


def test_a_program_that_crashes_ends_its_own_process_and_its_steps_are_kept() -> None:
    async def run():  # type: ignore[no-untyped-def]
        client = ZygoteClient()
        await client.start()
        try:
            if client.state != "ready":
                pytest.skip(str(client.reason))
            pool = Pool(LIMITS.model_copy(update={"wall_s": 20}), turns=Turns(1, 1), zygote=client)
            return await pool.run(TraceRequest(source=PROGRAMS["D12"]))
        finally:
            await client.close()

    server = os.getpid()
    trace = asyncio.run(run())

    assert os.getpid() == server
    assert (trace.outcome.kind, trace.outcome.reason, trace.outcome.line) == ("crashed", "signal", 4)
    assert "SIGSEGV" in (trace.outcome.message or "")
    assert [step_line(trace, step) for step in trace.steps] == [1, 2, 3]
    after = state_document(trace).model_dump(mode="json")
    assert storage(after, "x")["nbytes"] == 0
    assert "SIGSEGV" in printed(trace)


def test_a_tensor_may_take_another_storage_and_the_old_one_is_freed_there() -> None:
    trace = traced("D13")
    states = [state("D13", step) for step in (2, 3, 4)]

    assert len({s["bindings"]["x"] for s in states}) == 1
    first, second, third = (tensor(s, "x")["storage"] for s in states)
    assert len({first, second, third}) == 3
    last = states[-1]["storages"]
    assert (last[str(first)]["freed_line"], last[str(second)]["freed_line"]) == (3, 4)
    assert (last[str(third)]["freed"], tensor(states[-1], "x")["shape"]) == (False, [5])
    assert "x now looks at storage S2 instead of S1." in said(trace, 3)
    assert "Storage S1 (8 B) freed: nothing refers to it any more." in said(trace, 3)
    assert "Storage S2 (12 B) freed: nothing refers to it any more." in said(trace, 4)


def test_resize_keeps_the_storage_and_what_it_adds_is_uninitialised() -> None:
    trace, before, after = traced("D14"), state("D14", 2), state("D14")

    assert tensor(before, "x")["storage"] == tensor(after, "x")["storage"]
    assert (storage(before, "x")["nbytes"], storage(after, "x")["nbytes"]) == (8, 400)
    moved = storage(before, "x")["address"] != storage(after, "x")["address"]
    place = " at another address" if moved else ""
    told = f"Storage S1 now has 400 B instead of 8 B{place}: the 392 B added are uninitialised."
    assert told in said(trace, 3)
    assert not [sentence for sentence in said(trace, 3) if "overwritten" in sentence or "through" in sentence]


def test_a_write_to_a_view_changes_its_base() -> None:
    after = state("D15")

    assert after["changed"]["4"] == {"x": ["data"], "v": ["data"]}
    assert tensor(after, "v")["values"] == [1.0, 1.0]
    assert tensor(after, "x")["values"] == [[1.0, 1.0], [0.0, 0.0]]
    assert (tensor(after, "x")["version"], tensor(after, "v")["version"]) == (1, 1)
    assert "x and v both see the new values" in said(traced("D15"), 4)[0]


def test_an_expanded_tensor_has_less_memory_than_elements() -> None:
    trace, after = traced("D16"), state("D16")

    assert tensor(after, "e")["stride"] == [1, 0]
    assert storage(after, "e")["nbytes"] == 12 < 3 * 4 * 4
    assert traits(after, "e") == {"overlap": {"elements": 12, "cells": 3}}
    assert "The 12 elements of e address 3 cells: some cells are read more than once." in said(trace, 3)


def test_a_storage_stays_while_a_view_looks_at_it() -> None:
    trace, kept, gone = traced("D18"), state("D18", 4), state("D18", 5)
    (number,) = gone["storages"]

    assert (kept["bindings"].keys(), kept["changed"]["4"]) == ({"v"}, {"x": ["deleted"]})
    assert (kept["storages"][number]["freed"], kept["storages"][number]["held_by"]) == (False, ["v"])
    assert said(trace, 4)[1] == "No change: storage S1 (16 B) stays; v still looks at it."
    assert (gone["storages"][number]["freed"], gone["storages"][number]["freed_line"]) == (True, 5)
    assert "Storage S1 (16 B) freed: nothing refers to it any more." in said(trace, 5)


def test_rebinding_a_name_makes_one_storage_and_frees_one() -> None:
    trace, before, after = traced("D19"), state("D19", 2), state("D19")
    (old,) = before["storages"]
    new = str(tensor(after, "x")["storage"])

    assert set(after["storages"]) == {old, new} and old != new
    assert (after["storages"][old]["freed_line"], after["storages"][new]["freed"]) == (3, False)
    assert said(trace, 3)[:2] == [
        "x has a storage of its own, S2 (16 B).",
        "Storage S1 (16 B) freed: nothing refers to it any more.",
    ]


def test_adding_in_place_keeps_the_tensor_and_adding_makes_another() -> None:
    in_place, rebound = state("D20", 4), state("D20", 5)

    assert in_place["bindings"]["x"] == in_place["bindings"]["i"]
    assert rebound["bindings"]["x"] != rebound["bindings"]["i"] == in_place["bindings"]["i"]
    assert (tensor(rebound, "i")["values"], tensor(rebound, "x")["values"]) == ([1.0], [2.0])
    assert rebound["changed"]["5"] == {"x": ["rebound"]}


def test_locals_of_a_function_die_when_it_returns() -> None:
    inside, after = state("D22", 3), state("D22")
    number = str(inside["tensors"][str(inside["locals"]["x"])]["storage"])

    assert inside["storages"][number]["held_by"] == ["f: x"]
    assert after["storages"][number]["freed"]
    assert after["storages"][number]["freed_line"] <= 5
    assert after["bytes"]["alive"] == {"cpu": 4}


def test_a_copy_between_storages_bypasses_the_version() -> None:
    trace, before, after = traced("D23"), state("D23", 2), state("D23")
    x = after["bindings"]["x"]

    assert (tensor(before, "x")["values"], tensor(after, "x")["values"]) == ([0.0, 0.0], [1.0, 1.0])
    assert tensor(after, "x")["version"] == 0
    assert not [op for op in ops(trace, 3) if x in (*op.inputs, *op.outputs)]
    assert said(trace, 3)[:2] == [
        "2 of 2 values in storage S1 changed through untyped_storage of line 3, without an operation on its "
        "tensors; x sees the new values.",
        "The version stays 0: PyTorch did not see this write to S1.",
    ]


def test_a_dlpack_alias_is_a_second_storage_over_the_same_bytes() -> None:
    trace, after = traced("D25"), state("D25")

    assert tensor(after, "x")["storage"] != tensor(after, "y")["storage"]
    assert span(after, "x") == span(after, "y")
    assert (tensor(after, "x")["values"], tensor(after, "x")["version"]) == ([1.0, 1.0], 0)
    assert after["bytes"] == {"alive": {"cpu": 8}, "peak": {"cpu": 8}}
    assert "y got a storage S2 over the memory of S1" in said(trace, 3)[0]
    assert "changed through storage S2, which lies over the same memory" in said(trace, 4)[2]


def test_a_temporary_lives_within_its_line_and_shows_in_the_peak() -> None:
    trace, after = traced("D27"), state("D27")
    transient = [s for s in after["storages"].values() if s["freed"]]

    assert [(s["nbytes"], s["freed_line"]) for s in transient] == [(4000, 3)]
    assert "A temporary storage of 4,000 B freed." in said(trace, 3)
    assert trace.steps[2].peak_bytes == {"cpu": 8004}
    assert after["bytes"] == {"alive": {"cpu": 4004}, "peak": {"cpu": 8004}}
    assert set(after["bindings"]) == {"x", "y"}
    assert "4,004 B alive on cpu, 8,004 B at most" in printed(trace)
