"""The drawing of a graph: no boxes overlap, no edge crosses a box, leaves are left, and it is stable."""

import itertools
import random
from types import SimpleNamespace

import pytest
from tensor_anatomy.drawing import draw, draw_graph, layers
from tensor_anatomy.drawing.autograd import MOST_NODES
from tensor_anatomy.drawing.boxes import CHIP_GAP, CHIP_HEIGHT

MLP = """
import torch
from torch import nn
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
x = torch.randn(5, 8)
target = torch.randn(5, 4)
out = model(x)
loss = ((out - target) ** 2).mean()
loss.backward()
"""
RESIDUAL = """
import torch
w = torch.ones(4, requires_grad=True)
h = w * 2
for i in range(8):
    h = h + (h * w).sin() * h.exp()
loss = h.sum() + w.sum()
"""
SHARED = """
import torch
w = torch.ones(2, requires_grad=True)
a = (w * 2).sum()
b = (w.exp() * w).mean()
"""
LOOP = """
import torch
w = torch.ones(3, requires_grad=True)
for i in range({n}):
    loss = ((w * 2).exp() - 1).pow(2).sum()
    loss.backward()
    w.grad = None
"""
RECURRENT = """
import torch
w = torch.ones(2, requires_grad=True)
h = w * 1
for i in range(40):
    h = h * w
"""
STACKED = """
import torch
w = torch.ones(2, requires_grad=True)
h, all = w, []
for i in range(40):
    h = h * 1.5
    all.append(h)
y = torch.stack(all)
"""
PROGRAMS = {
    "recurrent": RECURRENT,
    "stacked": STACKED,
    "mlp": MLP,
    "residual": RESIDUAL,
    "shared leaf": SHARED,
    "loop": LOOP.format(n=5),
}


def overlap(a, b):
    return a.x < b.x + b.width and b.x < a.x + a.width and a.y < b.y + b.height and b.y < a.y + a.height


def enters(start, end, box):
    """The axis-parallel or slanted segment has a point strictly inside the box."""
    (x1, y1), (x2, y2) = start, end
    low, high = 0.0, 1.0
    for origin, delta, least, most in (
        (x1, x2 - x1, box.x, box.x + box.width),
        (y1, y2 - y1, box.y, box.y + box.height),
    ):
        least, most = least + 0.5, most - 0.5
        if delta == 0:
            if not least < origin < most:
                return False
            continue
        near, far = sorted(((least - origin) / delta, (most - origin) / delta))
        low, high = max(low, near), min(high, far)
    return low < high


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_no_boxes_overlap(trace_of, program):
    graph = draw_graph(trace_of(program))

    assert len(graph.nodes) > 3
    assert not [(a.node, b.node) for a, b in itertools.combinations(graph.nodes, 2) if overlap(a, b)]


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_no_edge_crosses_a_box(trace_of, program):
    graph = draw_graph(trace_of(program))

    for edge in graph.edges:
        for start, end in itertools.pairwise(edge.points):
            assert not [box.node for box in graph.nodes if enters(start, end, box)]


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_gradients_flow_to_the_left_and_edges_touch_their_boxes(trace_of, program):
    graph = draw_graph(trace_of(program))
    boxes = {}
    for box in graph.nodes:
        boxes.setdefault(box.node, []).append(box)

    assert graph.edges
    for edge in graph.edges:
        (x1, y1), (x2, y2) = edge.points[0], edge.points[-1]
        near = pytest.approx
        assert any(x1 == near(b.x, abs=0.1) and b.y <= y1 <= b.y + b.height for b in boxes[edge.source])
        ends = [(b.x + b.width, b.y, b.y + b.height) for b in boxes[edge.target]]
        assert any(x2 == near(right, abs=0.1) and top <= y2 <= bottom for right, top, bottom in ends)
        assert x2 < x1


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_everything_lies_inside_the_drawing(trace_of, program):
    graph = draw_graph(trace_of(program))

    for box in graph.nodes:
        assert box.x >= 0
        assert box.y >= 0
        assert box.x + box.width <= graph.width + 0.1
        assert box.y + box.height <= graph.height + 0.1
    for x, y in itertools.chain.from_iterable(edge.points for edge in graph.edges):
        assert -0.1 <= x <= graph.width + 0.1
        assert -0.1 <= y <= graph.height + 0.1


def test_the_same_trace_gives_the_same_drawing(trace_of):
    trace = trace_of(MLP)

    assert draw(trace).graph == draw(trace).graph
    assert draw(trace).graph == draw(trace_of(MLP)).graph


def test_every_node_and_edge_of_the_program_is_drawn(trace_of):
    trace = trace_of(RESIDUAL)
    nodes = {e.id: e for step in trace.steps for e in step.events if e.kind == "node"}
    graph = draw_graph(trace)

    assert {box.node for box in graph.nodes} == set(nodes)
    assert len(graph.edges) == sum(t in nodes for n in nodes.values() for t, _ in n.next_functions)
    assert graph.omitted == 0


def test_a_box_is_as_high_as_its_saved_tensors_need(trace_of):
    trace = trace_of(MLP)
    saved = {e.id: len(e.saved) for step in trace.steps for e in step.events if e.kind == "node"}
    heights = {box.height - (CHIP_HEIGHT + CHIP_GAP) * saved[box.node] for box in draw_graph(trace).nodes}

    assert set(saved.values()) >= {0, 1, 2}
    assert len(heights) == 1


def test_a_node_exists_from_the_step_that_made_it(trace_of):
    trace = trace_of(SHARED)
    lines = {}
    for box in draw_graph(trace).nodes:
        step = trace.steps[box.step - 1]
        lines[trace.statements[step.statement].range.line] = True

    assert set(lines) == {4, 5} or set(lines) == {3, 4, 5}


def test_rounds_of_a_loop_are_drawn_below_one_another_and_alike(trace_of):
    graph = draw_graph(trace_of(LOOP.format(n=4)))
    columns = {}
    for box in graph.nodes:
        columns.setdefault((box.x, box.width, box.height), []).append(box.y)

    for tops in columns.values():
        assert len(tops) == 4
        assert len({round(b - a, 1) for a, b in itertools.pairwise(sorted(tops))}) == 1


def test_a_long_loop_keeps_its_first_and_last_rounds_and_says_what_is_missing(trace_of):
    trace = trace_of(LOOP.format(n=120))
    nodes = {e.id for step in trace.steps for e in step.events if e.kind == "node"}
    graph = draw_graph(trace)
    drawn = {box.node for box in graph.nodes}

    assert len(graph.nodes) <= MOST_NODES
    assert graph.omitted == len(nodes - drawn) > 0
    inner = sorted(nodes)
    assert inner[1] in drawn
    assert inner[-1] in drawn


def test_a_leaf_that_many_steps_use_stands_beside_each_of_them(trace_of):
    graph = draw_graph(trace_of(RECURRENT))
    leaf = next(box.node for box in graph.nodes if sum(b.node == box.node for b in graph.nodes) > 1)
    boxes = {(box.node, box.x, box.y) for box in graph.nodes}

    assert len(boxes) == len(graph.nodes)
    assert sum(node == leaf for node, *_ in boxes) == 41
    longest = max(abs(points[0][0] - points[-1][0]) for points in (edge.points for edge in graph.edges))
    assert longest < graph.width / 10


@pytest.mark.parametrize("program", [RECURRENT, STACKED], ids=["recurrent", "stacked"])
def test_a_graph_of_long_edges_is_cut_to_what_can_be_laid_out(trace_of, program):
    trace = trace_of(program.replace("range(40)", "range(280)"))
    nodes = {e.id for step in trace.steps for e in step.events if e.kind == "node"}
    graph = draw_graph(trace)
    drawn = {box.node for box in graph.nodes}

    assert 50 < len(graph.nodes) <= MOST_NODES
    assert graph.omitted == len(nodes - drawn) > 0
    # The boxes there are would be laid out as they are: what was cut was the surplus alone.
    assert {e.source for e in graph.edges} | {e.target for e in graph.edges} == drawn


def test_a_program_without_autograd_has_no_drawing(trace_of):
    assert draw(trace_of("import torch\nx = torch.ones(3)\n")).graph is None


@pytest.mark.parametrize("seed", range(12))
def test_any_graph_is_drawn_without_overlaps_and_hits(seed):
    """The engine is young: what it promises is asked of graphs that no program of ours builds."""
    dice = random.Random(seed)
    n = dice.randint(2, 50)
    sizes = tuple((dice.choice([112.0, 140.0, 200.0]), 56.0 + 28 * dice.randint(0, 4)) for _ in range(n))
    edges = tuple(
        (i, dice.randrange(max(0, i - 8), i)) for i in range(1, n) for _ in range(dice.randint(1, 2))
    )
    placed = layers.place(sizes, edges)
    boxes = [
        SimpleNamespace(x=x, y=y, width=w, height=h)
        for (x, y), (w, h) in zip(placed.corners, sizes, strict=True)
    ]

    assert not [1 for a, b in itertools.combinations(boxes, 2) if overlap(a, b)]
    for route in placed.routes:
        for start, end in itertools.pairwise(route):
            assert not [box for box in boxes if enters(start, end, box)]


def test_a_graph_that_cannot_be_laid_out_leaves_the_trace_as_it_was(trace_of, monkeypatch):
    def refuse(*_args, **_options):
        raise layers.graphlay.GraphlayError("too large")

    trace = trace_of(SHARED)
    monkeypatch.setattr(layers.graphlay, "layout", refuse)

    assert draw(trace).graph is None
    assert draw(trace).steps == trace.steps


def crossings(graph):
    """Pairs of pieces of two edges that cross each other, where they are not the same edge's."""
    pieces = [(i, a, b) for i, e in enumerate(graph.edges) for a, b in itertools.pairwise(e.points)]

    def side(a, b, c):
        return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])

    def cross(a, b, c, d):
        return side(a, b, c) * side(a, b, d) < 0 and side(c, d, a) * side(c, d, b) < 0

    return sum(i != j and cross(a, b, c, d) for (i, a, b), (j, c, d) in itertools.combinations(pieces, 2))


@pytest.mark.parametrize(
    ("program", "most"),
    [(MLP, 0), (RESIDUAL, 12), (SHARED, 2), (RECURRENT, 0)],
    ids=["mlp", "residual", "shared", "recurrent"],
)
def test_edges_cross_as_seldom_as_the_graph_lets_them(trace_of, program, most):
    assert crossings(draw_graph(trace_of(program))) <= most
