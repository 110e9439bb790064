"""The folded graph: what is one box, what is in it, and that every picture is as clean as the flat one."""

import itertools

import pytest
from tensor_anatomy.drawing import draw, draw_graph
from tensor_anatomy.drawing.folded import PORT
from tensor_anatomy.drawing.folding import SHORTEST_CHAIN, Group, Item, groups_of
from tensor_anatomy.drawing.stretches import stretches
from tensor_anatomy.schema.packing import pack, unpack

from .effort import at_most
from .test_drawing import enters, overlap

NET = """
import torch
from torch import nn
class Block(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.norm = nn.LayerNorm(n)
        self.layers = nn.ModuleList([nn.Linear(n, n), nn.Linear(n, n)])
    def forward(self, x):
        h = self.norm(x)
        for layer in self.layers:
            h = layer(h).relu()
        return x + h
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(*[Block(8) for _ in range({blocks})])
        self.head = nn.Linear(8, 3)
    def forward(self, x):
        return self.head(self.blocks(x))
net = Net()
loss = net(torch.ones(4, 8)).logsumexp(1).mean()
"""
LSTM = """
import torch
from torch import nn
cell = nn.LSTMCell(3, 4)
h = c = torch.zeros(1, 4)
for x in torch.ones(6, 1, 3):
    h, c = cell(x, (h, c))
h.sum().backward()
"""
TWICE = """
import torch
from torch import nn
layer = nn.Linear(4, 4)
y = layer(layer(torch.ones(2, 4)).exp()).sum()
"""
CHAIN = """
import torch
w = torch.ones(2, requires_grad=True)
h = w * 1
for i in range(24):
    h = h * 1.5
y = h.sum()
"""
LOOP = """
import torch
from torch import nn
model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 1))
for i in range(12):
    model(torch.ones(2, 4)).sum().backward()
"""
DEEP = """
import torch
from torch import nn
model = nn.Sequential(*[nn.Sequential(nn.LayerNorm(4), nn.Linear(4, 4), nn.ReLU()) for _ in range(150)])
loss = model(torch.ones(2, 4)).sum()
"""
THOUSAND = """
import torch
x = torch.full((3,), 0.5, requires_grad=True)
y = torch.ones(3, requires_grad=True)
h = x * y
for i in range(112):
    a = h.sin().exp()
    b = (a + y).tanh()
    c = b.abs().sqrt()
    h = (c * 0.5).cos()
loss = h.sum()
"""
PROGRAMS = {"net": NET.format(blocks=3), "lstm": LSTM, "twice": TWICE, "chain": CHAIN, "loop": LOOP}


def pictures(folded):
    return [folded, *(fold for fold in folded.folds if fold.nodes)]


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_in_no_picture_boxes_overlap_or_edges_cross_boxes(trace_of, program):
    folded = draw_graph(trace_of(program)).folded

    assert folded.folds
    for picture in pictures(folded):
        assert not [1 for a, b in itertools.combinations(picture.nodes, 2) if overlap(a, b)]
        for edge in picture.edges:
            assert {edge.source, edge.target} <= {box.node for box in picture.nodes}
            for start, end in itertools.pairwise(edge.points):
                assert not [box.node for box in picture.nodes if enters(start, end, box)]


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_every_node_is_behind_one_box_of_the_whole_and_shown_in_the_innermost_picture(trace_of, program):
    trace = trace_of(program)
    nodes = {e.id for step in trace.steps for e in step.events if e.kind == "node"}
    folded = draw_graph(trace).folded
    folds = {fold.id: fold for fold in folded.folds}
    behind = [n for box in folded.nodes for n in (folds[-box.node].members if box.node < 0 else (box.node,))]

    assert set(behind) <= nodes
    assert len(nodes) - len(set(behind)) == folded.omitted
    for fold in folded.folds:
        if fold.nodes:
            inside = {box.node for box in fold.nodes} - set(fold.outside)
            found = [n for box in inside for n in (folds[-box].members if box < 0 else (box,))]
            assert sorted(found) == sorted(fold.members)
        if fold.inside:
            assert set(fold.members) < set(folds[fold.inside].members)


def test_modules_are_folded_as_the_program_calls_them_but_not_the_program_itself(trace_of):
    folded = draw_graph(trace_of(NET.format(blocks=3))).folded
    titles = {fold.label: (fold.class_name, fold.inside) for fold in folded.folds}

    assert titles["net.blocks"] == ("Sequential", 0)
    assert titles["net.head"] == ("Linear", 0)
    assert "net" not in titles
    outer = next(fold.id for fold in folded.folds if fold.label == "net.blocks")
    assert titles["net.blocks[1]"] == ("Block", outer)
    assert titles["net.blocks[1].layers[0]"][0] == "Linear"


def test_a_layer_called_twice_is_two_boxes_and_its_weights_are_in_neither(trace_of):
    folded = draw_graph(trace_of(TWICE)).folded

    assert [fold.label for fold in folded.folds] == ["layer", "layer"]
    first, second = (set(fold.members) for fold in folded.folds)
    assert len(first) == len(second) == 2
    assert not first & second
    assert len(folded.nodes) == 6  # with the weight, the bias, exp and sum


def test_a_long_row_of_one_kind_is_one_box(trace_of):
    folded = draw_graph(trace_of(CHAIN)).folded
    (fold,) = folded.folds

    assert (fold.kind, fold.label, fold.class_name) == ("chain", "MulBackward0", "")
    assert len(fold.members) in (25, 26)


def test_what_lies_before_and_behind_other_nodes_is_not_folded():
    def item(*targets, modules=()):
        return Item(name="N", modules=modules, targets=targets, leaf=False)

    m = ("m: M",)
    knot = {1: item(modules=m), 2: item(1, modules=m), 3: item(2), 4: item(3, 1, modules=m)}

    assert groups_of(knot) == []
    row = {i: item(*([i - 1] if i else [])) for i in range(SHORTEST_CHAIN - 1)}
    assert groups_of(row) == []


def test_a_folded_graph_travels_packed_and_comes_back(trace_of):
    trace = draw(trace_of(NET.format(blocks=2)))

    assert unpack(pack(trace)) == trace.model_dump(mode="json", by_alias=True)


def test_a_graph_of_thousands_of_nodes_is_told_whole_and_in_little_room(trace_of):
    trace = trace_of(DEEP)
    nodes = {e.id for step in trace.steps for e in step.events if e.kind == "node"}
    with at_most(100):  # about six: it does not explode
        graph = draw_graph(trace)

    assert len(nodes) > 1_200
    assert graph.folded.omitted == 0
    assert len(graph.folded.nodes) < 160
    assert sum(len(picture.nodes) for picture in pictures(graph.folded)) < 2_000


def test_lines_go_on_through_small_boxes_at_both_ends_of_a_folds_picture(trace_of):
    folded = draw_graph(trace_of(NET.format(blocks=3))).folded
    assert any(fold.outside for fold in folded.folds)
    for fold in folded.folds:
        around = [box for box in fold.nodes if box.node in fold.outside]
        targets = {edge.target for edge in fold.edges}
        assert all(box.width == box.height == PORT for box in around)
        for box in around:
            leaves_left = box.node in targets
            beyond = [o for o in fold.nodes if o is not box and (o.x < box.x) == leaves_left]
            assert not [o.node for o in beyond if o.y < box.y + box.height and box.y < o.y + o.height]


def test_a_thousand_operations_without_modules_are_cut_where_the_loop_begins_again(trace_of):
    trace = trace_of(THOUSAND)
    nodes = {e.id: e for step in trace.steps for e in step.events if e.kind == "node"}
    folded = draw_graph(trace).folded

    assert len(nodes) >= 900
    assert folded.omitted == 0
    assert len(folded.nodes) < 200
    assert {fold.kind for fold in folded.folds} == {"lines"}
    assert all(fold.nodes for fold in folded.folds)
    rounds = [fold.label for fold in folded.folds[1:-1]]
    assert set(rounds) == {"7–10"}
    assert {i for fold in folded.folds for i in fold.members} >= {
        i for i, node in nodes.items() if node.variable is None
    }


def test_a_graph_that_fits_is_not_cut(trace_of):
    assert draw_graph(trace_of(THOUSAND.replace("112", "15"))).folded is None


def test_pieces_of_a_knot_of_modules_are_each_before_or_behind_the_others():
    part = {
        i: Item(name=f"N{i % 7}", modules=(), targets=(i - 1, max(0, i - 9)) if i else (), leaf=False, line=i)
        for i in range(400)
    }
    found = stretches(part, [Group("module", "m", [40, 41, 42])], 100)
    home = {node: i for i, group in enumerate(found) for node in group.members}

    assert set(home) == set(part)
    assert 10 < len(found) < 40
    assert all(home[target] <= home[node] for node in part for target in part[node].targets)
    assert [group.label for group in found if group.groups] == [found[home[40]].label]
    assert stretches(part, [], 400) == []
