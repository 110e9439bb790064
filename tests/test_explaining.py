"""What is said of a step and of a failure. The facts come from PyTorch, the sentences from the catalogues."""

import dataclasses

import pytest
from tensor_anatomy.explaining import explain
from tensor_anatomy.messages import text_of
from tensor_anatomy.schema import Trace
from tensor_anatomy.schema.replay import sentences_of

MOCK = """
import torch
x = torch.arange(12.).view(3, 4)
y = x.t()
z = x[1:, ::2]
w = torch.ones(4, 2, requires_grad=True)
h = x @ w
z.mul_(10)
e = y.contiguous()
loss = h.pow(2).mean()
loss.backward()
"""
LOSS = "torch.nn.functional.cross_entropy(a, b)"


@pytest.fixture
def said(trace_of):
    """Program → line → layer → sentences in English."""

    def say(source: str) -> dict[int, dict[str | None, list[str]]]:
        trace = explain(trace_of(source))
        found: dict[int, dict[str | None, list[str]]] = {}
        for number, step in enumerate(trace.steps, 1):
            sentences = sentences_of(trace, number)
            line = found[trace.statements[step.statement].range.line] = {}
            for sentence in sentences:
                line.setdefault(sentence.layer, []).append(text_of("en", sentence.id, sentence.args))
        return found

    return say


@pytest.fixture
def why(trace_of):
    """Program → its explanation, and its sentences in English."""

    def explained(source: str):
        explanation = explain(trace_of(source)).explanation
        texts = [text_of("en", s.id, s.args) for s in explanation.sentences]
        return explanation, " ".join(texts)

    return explained


def test_every_step_says_something_of_every_layer(said):
    for layers in said(MOCK).values():
        assert {"data", "metadata", "autograd", "device"} <= set(layers)


def test_a_transpose_copies_nothing(said):
    line = said(MOCK)[4]

    assert line["data"] == ["No change: no bytes were copied. y shows storage S1, as does x."]
    assert line["metadata"] == [
        "y is a view of x: same storage S1, shape (4, 3) instead of (3, 4), strides (1, 4) instead of (4, 1)."
    ]
    assert line["autograd"] == ["No change: nothing here requires grad, so no graph is recorded."]
    assert line["device"] == ["No change: everything is on cpu."]


def test_a_write_through_a_view_is_seen_by_all_and_makes_a_saved_tensor_stale(said):
    line = said(MOCK)[8]

    assert line["data"] == [
        "4 of 12 values in storage S1 overwritten in place; x, y and z all see the new values.",
        "Version of S1 went 0 → 1.",
    ]
    assert line["metadata"] == ["No change: no shape, stride or offset moved."]
    assert line["autograd"] == [
        "MmBackward0 had saved x at version 0; S1 is now at version 1, so backward() will refuse to run."
    ]


def test_contiguous_of_a_transpose_has_a_storage_of_its_own(said):
    line = said(MOCK)[9]

    assert line["data"] == ["e has a storage of its own, S4 (48 B)."]
    assert line["metadata"] == ["e has its values in order: strides (3, 1) instead of the (1, 4) of y."]


def test_a_result_says_where_its_gradients_will_flow_and_what_is_kept(said):
    assert said(MOCK)[7]["autograd"] == [
        "h.grad_fn is MmBackward0: gradients will flow to w.",
        "MmBackward0 keeps x for backward.",
    ]


def test_backward_fills_grad_and_frees_what_was_saved(said):
    line = said("import torch\nw = torch.ones(2, 3, requires_grad=True)\nl = (w * w).sum()\nl.backward()\n")[
        4
    ]

    assert "w.grad now holds 6 values." in line["autograd"]
    assert any("freed" in text for text in line["autograd"])
    assert any(text.startswith("w.grad has a storage of its own") for text in line["data"])


def test_a_second_backward_adds_to_grad(said):
    step = "(w * 2).sum().backward()\n"
    source = f"import torch\nw = torch.ones(2, requires_grad=True)\n{step}{step}"

    assert "New gradients were added to w.grad." in said(source)[4]["autograd"]


def test_clearing_a_gradient_is_said(said):
    source = "import torch\nw = torch.ones(2, requires_grad=True)\n(w * 2).sum().backward()\nw.grad = None\n"

    assert said(source)[4]["autograd"] == ["w.grad is None again."]


def test_a_second_name_is_no_copy(said):
    line = said("import torch\na = torch.ones(3)\nb = a\n")[3]

    assert line[None] == ["b is another name for the tensor a: one tensor, not a copy."]


def test_memory_that_nothing_refers_to_is_freed(said):
    lines = said("import torch\na = torch.ones(3)\na = torch.ones(4)\ndel a\n")

    assert "Storage S1 (12 B) freed: nothing refers to it any more." in lines[3]["data"]
    assert lines[4][None] == ["a no longer leads to a tensor."]
    assert lines[4]["data"] == ["Storage S2 (16 B) freed: nothing refers to it any more."]


def test_memory_of_sub_expressions_is_temporary(said):
    assert (
        "A temporary storage of 24 B freed."
        in said("import torch\na = torch.ones(2, 3)\nb = (a * 2).sum()\n")[3]["data"]
    )


def test_numpy_writes_behind_the_back_of_pytorch(said):
    source = """
    import numpy as np
    import torch
    raw = np.zeros(4)
    t = torch.from_numpy(raw)
    raw[1] = 5
    """

    assert said(source)[6]["data"] == [
        "1 of 4 values in storage S1 changed without a PyTorch operation, through the owner of its memory; "
        "t sees the new values.",
        "The version stays 0: PyTorch did not see this write to S1.",
    ]


def test_meta_tensors_have_no_bytes(said):
    assert said("import torch\np = torch.ones(2, device='meta')\n")[2]["device"] == [
        "p is on meta: a description without any bytes."
    ]


def test_a_module_is_told_in_one_sentence_per_layer(said):
    line = said("import torch\nm = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Linear(3, 1))\n")[2]

    assert line["data"] == [
        "4 new storages (52 B in all): m[0].weight, m[0].bias, m[1].weight and m[1].bias."
    ]
    assert len(line["autograd"]) == 1


def test_the_guilty_line_of_a_modified_saved_tensor_is_named(why):
    explanation, text = why(MOCK)

    assert (explanation.class_, explanation.line, explanation.caused_by) == ("saved-tensor-modified", 11, 8)
    assert explanation.operands == ("z",)
    assert "backward() needs x as it was when MmBackward0 saved it, at version 0." in text
    assert "Line 8 wrote to it in place through z" in text


@pytest.mark.parametrize(
    ("source", "kind", "operands", "words"),
    [
        (
            "a = torch.ones(2, 3)\nb = torch.ones(4)\na + b",
            "broadcast-shape",
            ("a", "b"),
            "a is (2, 3), b is (4,)",
        ),
        ("a = torch.ones(2, 3)\na.view(4)", "view-size", ("a",), "6 values"),
        ("a = torch.ones(2, 3)\na[5]", "index-out-of-range", ("a",), "Index 5 is out of range for a"),
        ("a = torch.ones(2, 3)\na[0, 0, 0]", "too-many-indices", ("a",), "a has 2 dimensions"),
        (
            "a = torch.ones(2, requires_grad=True)\na.numpy()",
            "numpy-requires-grad",
            ("a",),
            "a.detach().numpy()",
        ),
        ("a = torch.ones(2, 3)\na.item()", "item-non-scalar", ("a",), "(2, 3)"),
        ("a = torch.ones(2, 3)\nb = torch.ones(3)\ntorch.cat([a, b])", "cat-shape", ("a", "b"), "b (3,)"),
        ("a = torch.ones(2)\na.expand(3, 3)", "broadcast-shape", ("a",), "Only dimensions of size 1"),
        (
            "a = torch.ones(2, 3)\nb = torch.ones(2, 4)\ntorch.cat([a, b])",
            "cat-shape",
            ("a", "b"),
            "a (2, 3)",
        ),
        ("a = torch.ones(1, 2, 3)\nb = torch.ones(1, 2, 3)\na @ b", "matmul-shape", ("a", "b"), "Batched"),
        ("a = torch.ones(3).cuda()", "no-accelerator", (), "CPU only"),
        (
            "a = torch.ones(2, 3)\nb = torch.ones(3, dtype=torch.int64)\na @ b",
            "dtype-mismatch",
            ("a", "b"),
            "int64",
        ),
        (
            "c = torch.nn.Conv2d(3, 4, 2)\na = torch.ones(1, 5, 8, 8)\nc(a)",
            "channels-shape",
            ("a", "c.weight"),
            "wants 3 channels",
        ),
        (
            f"a = torch.zeros(2, 3)\nb = torch.tensor([0, 3])\n{LOSS}",
            "target-out-of-range",
            ("a", "b"),
            "class 3",
        ),
        (
            f"a = torch.zeros(2, 3)\nb = torch.tensor([0])\n{LOSS}",
            "batch-size",
            ("a", "b"),
            "2 rows",
        ),
        (
            "with torch.inference_mode():\n    a = torch.ones(2)\na.add_(1)",
            "inference-tensor",
            ("a",),
            "a was made under inference_mode on line 3",
        ),
        (
            "with torch.inference_mode():\n    a = torch.ones(2)\nw = torch.nn.Linear(2, 2)\nw(a)",
            "inference-tensor",
            ("a",),
            "a was made under inference_mode on line 3",
        ),
        (
            "with torch.inference_mode():\n    a = torch.ones(2)\na.requires_grad_()",
            "inference-tensor",
            ("a",),
            "on line 3",
        ),
        (
            "a = torch.ones(2, device='meta')\nb = torch.ones(2)\na + b",
            "device-mismatch",
            ("a", "b"),
            "a is on meta, b is on cpu",
        ),
        ("a = torch.ones(3)\ni = torch.tensor([0.5])\na[i]", "index-dtype", ("a", "i"), "int64"),
        (
            "r = torch.nn.LSTM(10, 5)\na = torch.ones(3, 2, 4)\nr(a)",
            "input-size",
            ("a",),
            "10 features and got 4",
        ),
        (
            "n = torch.nn.LayerNorm(8)\na = torch.ones(2, 4)\nn(a)",
            "input-size",
            ("a",),
            "8 features and got 4",
        ),
        ("torch.tensor([[1, 2], [3]])", "ragged-list", (), "differ in length (2 and 1)"),
        ("a = torch.ones(2, 3)\na.permute(0, 1, 2)", "dim-count", ("a",), "another number of dimensions"),
        ("a = torch.ones(3)\nm = torch.tensor([True])\na[m]", "mask-shape", ("a", "m"), "it has shape [1]"),
        ("a = torch.ones(2)\nb = None\na + b", "not-a-tensor", ("a",), "NoneType"),
        ("a = torch.zeros(2, 2)\ntorch.linalg.inv(a)", "singular-matrix", ("a",), "has no inverse"),
        ("a = torch.ones(2)\na.to('gpu')", "unknown-device", ("a",), "gpu is no device"),
        ("torch.nn.Module()(1)", "no-forward", (), "this one has none"),
        (
            "w = torch.ones(2, requires_grad=True)\ny = w * 2\ny.backward(torch.ones(3))",
            "gradient-shape",
            ("y",),
            "[2] was needed, [3] came",
        ),
        ("torch.optim.SGD([], lr=1)", "optimizer-empty", (), "parameters"),
        ("torch.nn.Linear(2, 2).load_state_dict({})", "state-dict", (), "lacks weight and bias"),
        ("x = 1 / 0", "python-error", (), "Python says: division by zero."),
        ("x = (1 +", "syntax-error", (), "was never closed"),
        (
            "w = torch.ones(2, requires_grad=True)\nw.grad.zero_()",
            "grad-none",
            ("w",),
            "no backward() has reached",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) and value.replace("-", "").isalpha() else "",
)
def test_an_error_has_a_class_its_operands_and_a_sentence(why, source, kind, operands, words):
    explanation, text = why(f"import torch\n{source}\n")

    assert explanation.class_ == kind
    assert explanation.operands == operands
    assert words in text
    assert "{" not in text
    assert " ?" not in text


@pytest.mark.parametrize(
    ("write", "hint"),
    [
        ("y.mul_(2)", "Write y = y.mul(2) on line 4 instead of changing y in place"),
        ("y += 1", "Write y = y + 1 on line 4"),
        ("y[0] = 5", "Copy first: y = y.clone() before line 4"),
        ("v = y[:2]; v += 1", "Copy first: v = v.clone() before line 4"),
    ],
)
def test_the_hint_for_a_saved_tensor_is_in_the_readers_words(why, write, hint):
    source = (
        f"import torch\nw = torch.ones(3, requires_grad=True)\ny = w.exp()\n{write}\ny.sum().backward()\n"
    )
    explanation, text = why(source)

    assert explanation.class_ == "saved-tensor-modified"
    assert "needs y as it was" in text
    assert hint in text
    assert "or call backward() before line 4." in text


@pytest.mark.parametrize(
    ("uses", "asked", "node", "name"),
    [
        ("b = w.exp(); c = w.sin() * b; b += 1", "c", "MulBackward0", "b"),
        (
            "a = w.exp(); c = a * a; b = w.tan(); d = b.cos(); a.add_(1); b.add_(1)",
            "d",
            "CosBackward0",
            "b",
        ),
    ],
)
def test_the_node_that_refuses_is_the_one_that_backward_comes_to_first(why, uses, asked, node, name):
    _, text = why(f"import torch\nw = torch.ones(3, requires_grad=True)\n{uses}\n{asked}.sum().backward()\n")

    assert f"needs {name} as it was when {node} saved it" in text


def test_a_parameter_is_not_to_be_replaced_by_what_was_computed_from_it(why):
    _, text = why(
        "import torch\nm = torch.nn.Linear(2, 2)\nx = torch.ones(1, 2, requires_grad=True)\ny = m(x)\n"
        "with torch.no_grad():\n    m.weight.mul_(2)\ny.sum().backward()\n"
    )

    assert "Leave out the write of line 6" in text
    assert "m.weight = " not in text


def test_labels_of_a_wrong_dtype_are_converted_to_integers(why):
    _, text = why(f"import torch\na = torch.ones(2, 3)\nb = torch.tensor([0., 1.])\n{LOSS}\n")

    assert "b is float32 (made on line 3)" in text
    assert "b.long()" in text
    assert ".dtype" not in text


def test_input_and_the_end_of_a_message(why):
    assert "get no input" in why("x = input()\n")[1]
    text = why("raise ValueError('k must not be zero')\n")[1]
    assert text.startswith("Python says: k must not be zero. No operation on tensors failed here")
    assert "`" not in text


@pytest.mark.parametrize(
    ("source", "kind", "message", "words"),
    [
        ("x = 1", "RuntimeError", "inline_container.cc:7 open file failed", "io.BytesIO()"),
        (
            "d = DataLoader(a, num_workers=2)",
            "PermissionError",
            "[Errno 13] Permission denied",
            "num_workers=0",
        ),
        ("import socket", "PermissionError", "[Errno 1] Operation not permitted", "no network"),
    ],
)
def test_what_the_sandbox_refused_says_what_to_use_instead(trace_of, source, kind, message, words):
    done = trace_of("x = 1\n")
    refused = {"kind": "raised", "line": 1, "type": kind, "message": message, "reason": "denied"}
    outcome = done.outcome.model_copy(update=refused)
    explanation = explain(done.model_copy(update={"source": source, "outcome": outcome})).explanation

    assert explanation.class_ == "denied"
    assert words in " ".join(text_of("en", s.id, s.args) for s in explanation.sentences)


def test_a_call_within_a_function_names_the_functions_own_variables(why):
    explanation, text = why(
        """
        import torch
        def score(left, right):
            return left @ right
        score(torch.ones(2, 3), torch.ones(2, 3))
        """
    )

    assert (explanation.line, explanation.operands) == (4, ("left", "right"))
    assert "left is (2, 3), right is (2, 3)" in text


def test_an_exception_that_was_caught_is_not_explained(trace_of):
    source = "import torch\ntry:\n    torch.ones(2) @ torch.ones(3)\nexcept RuntimeError:\n    pass\n"

    assert explain(trace_of(source)).explanation is None


def test_what_a_forged_trace_hides_is_left_out_and_the_facts_stay(trace_of):
    trace = trace_of(MOCK)
    step = trace.steps[7]
    forged = step.model_copy(
        update={
            "events": tuple(
                e.model_copy(update={"views": (999,)}) if e.kind == "op" else e for e in step.events
            )
        }
    )
    steps = (*trace.steps[:7], forged, *trace.steps[8:])

    explained = explain(trace.model_copy(update={"steps": steps}))

    assert explained.steps == steps
    assert isinstance(explained, Trace)


@pytest.mark.parametrize(
    "source",
    [
        # Accumulating on purpose: nothing uses the gradient in between.
        """
        import torch
        w = torch.ones(1, requires_grad=True)
        for part in range(2):
            (w * part).sum().backward()
        """,
        # A training loop that clears, with an optimizer.
        """
        import torch
        model = torch.nn.Linear(2, 1)
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        for i in range(3):
            opt.zero_grad()
            loss = model(torch.ones(1, 2)).sum()
            loss.backward()
            opt.step()
        """,
        # Cleared by hand, in place.
        """
        import torch
        w = torch.ones(1, requires_grad=True)
        for i in range(3):
            (w * 2).sum().backward()
            with torch.no_grad():
                w -= 0.1 * w.grad
            w.grad.zero_()
        """,
        # Two losses of one step, summed up and then used.
        """
        import torch
        w = torch.ones(1, requires_grad=True)
        total = 0
        for i in range(3):
            total = total + (w * i).sum()
        total.backward()
        """,
        # A view that is meant to write through, and a state_dict that is loaded at once.
        """
        import torch
        x = torch.zeros(4)
        head = x[:2]
        head += 1
        a, b = torch.nn.Linear(1, 1), torch.nn.Linear(1, 1)
        saved = a.state_dict()
        b.load_state_dict(saved)
        with torch.no_grad():
            a.weight.add_(1)
        """,
        # Masked writes that arrive.
        """
        import torch
        x = torch.zeros(4)
        x[x == 0] = 1
        x[torch.tensor([0, 1])] += 1
        x[1:][0] = 5
        """,
        # A copy without overlap, and one on itself.
        """
        import torch
        x = torch.arange(4)
        x[:2] = x[2:]
        x[:] = x
        """,
    ],
    ids=["accumulate", "optimizer", "zero by hand", "summed losses", "views", "masks", "copies"],
)
def test_good_programs_get_no_note(trace_of, source):
    assert explain(trace_of(source)).notes == ()


def test_a_forgotten_zero_grad_in_a_loop_is_noticed_once(trace_of):
    trace = explain(
        trace_of(
            """
            import torch
            model = torch.nn.Linear(2, 1)
            opt = torch.optim.SGD(model.parameters(), lr=0.1)
            for i in range(4):
                loss = model(torch.ones(1, 2)).sum()
                loss.backward()
                opt.step()
            """
        )
    )

    assert [(note.class_, note.line) for note in trace.notes] == [("forgotten-zero-grad", 7)]


def test_notes_are_said_in_both_languages(trace_of):
    trace = explain(trace_of("import torch\nx = torch.ones(2)\nx.to('meta')\ny = x\n"))
    (note,) = trace.notes

    assert text_of("en", note.sentence.id, note.sentence.args).startswith(".to() does not change x;")
    assert "不会改变 x" in text_of("zh", note.sentence.id, note.sentence.args)


def test_deep_recursion_is_explained_in_bounded_work(trace_of):
    trace = trace_of(
        "import torch\ndef f(t, n):\n    return f(t + 1, n - 1) if n else t\ny = f(torch.ones(1), 150)\n"
    )
    explained = explain(trace)

    assert len(explained.said) == len(trace.steps)


def test_rules_are_told_apart():
    from tensor_anatomy.explaining.rules import RULES
    from tensor_anatomy.messages import catalogue

    for rule in RULES:
        fields = {field.name for field in dataclasses.fields(rule)}
        assert fields == {"name", "pattern", "layer", "judge"}
        assert f"error.{rule.name}" in catalogue("en")
        assert f"error.{rule.name}.fix" in catalogue("zh")


def test_an_array_of_the_same_memory_is_no_storage_of_its_own(said):
    lines = said("import torch\nx = torch.zeros(2)\nn = x.numpy()\nw = torch.from_numpy(n)\n")

    assert lines[4]["data"] == [
        "w got a storage S2 over the memory of S1: two storages, one memory, so a write through "
        "either is seen by both."
    ]


def test_an_in_place_op_on_metadata_writes_nothing(said):
    lines = said("import torch\nx = torch.zeros(2, 3)\nx.t_()\n")

    assert lines[3]["data"] == ["Version of S1 went 0 → 1, though no value was written."]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("k = a.sum().item()", "2 nodes were made and are gone again"),
        ("a * 2", "2 nodes were made and are gone again"),
        ("keep.append(iter([a * 2]))", "2 nodes were added to the graph"),
    ],
)
def test_nodes_without_a_name_are_told_as_they_are_after_the_line(said, line, words):
    steps = said(f"import torch\nkeep = []\na = torch.ones(3, requires_grad=True)\n{line}\n")

    assert words in " ".join(steps[4]["autograd"])
