import assert from "node:assert/strict";
import { before, test } from "node:test";
import { nest, type Nested } from "../../static/src/layout/nesting";
import type { FoldDrawing, FoldedDrawing, GraphNode, NodeDrawing, Trace } from "../../static/src/schema/trace.gen";
import { traced } from "./traced";

const NET = `import torch
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
        self.blocks = nn.Sequential(*[Block(8) for _ in range(3)])
        self.head = nn.Linear(8, 3)
    def forward(self, x):
        return self.head(self.blocks(x))
net = Net()
loss = net(torch.ones(4, 8)).logsumexp(1).mean()
`;
const ROUNDS = `import torch
from torch import nn
model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 1), nn.LayerNorm(1))
for i in range(4):
    model(torch.ones(2, 4)).sum().backward()
`;
const LSTM = `import torch
from torch import nn
cell = nn.LSTMCell(3, 4)
h = c = torch.zeros(1, 4)
for x in torch.ones(6, 1, 3):
    h, c = cell(x, (h, c))
h.sum().backward()
`;
const PLAIN = `import torch
w = torch.ones(4, requires_grad=True)
h = w * 1
for i in range(90):
    a = h.sin() + w
    h = a.exp() * h
h.sum().backward()
`;
const PROGRAMS = { NET, ROUNDS, LSTM, PLAIN };
const traces = new Map<string, Trace>();

before(() => {
  traced(Object.values(PROGRAMS).map((source) => [source, "cpu"])).forEach((trace, i) => traces.set(Object.keys(PROGRAMS)[i] ?? "", trace));
});

interface Given {
  readonly folded: FoldedDrawing;
  readonly folds: ReadonlyMap<number, FoldDrawing>;
  readonly nodes: ReadonlyMap<number, GraphNode>;
  readonly members: (box: number) => readonly number[];
  readonly open: (...ids: number[]) => Nested;
}

function given(name: string): Given {
  const trace = traces.get(name);
  const folded = trace?.graph?.folded;
  assert.ok(trace !== undefined && folded != null);
  const folds = new Map(folded.folds.map((fold) => [fold.id, fold]));
  const nodes = new Map(trace.steps.flatMap(({ events }) => events.flatMap((event) => (event.kind === "node" ? [[event.id, event] as const] : []))));
  const members = (box: number): readonly number[] => (box > 0 ? [box] : (folds.get(-box)?.members ?? []));
  const joined = (a: number, b: number): boolean => {
    const targets = new Set(members(b));
    return members(a).some((node) => nodes.get(node)?.next_functions.some(([next]) => next !== null && targets.has(next)));
  };
  return { folded, folds, nodes, members, open: (...ids) => nest(folded, folds, new Set(ids), joined) };
}

/** Nothing, each fold with those around it, some, and all. */
function choices({ folds }: Given): number[][] {
  const ids = [...folds.keys()].filter((id) => (folds.get(id)?.nodes.length ?? 0) > 0);
  const around = (id: number): number[] => (id === 0 ? [] : [id, ...around(folds.get(id)?.inside ?? 0)]);
  return [[], ...ids.slice(0, 12).map(around), ids.filter((id) => id % 2 === 0), ids.filter((id) => id % 3 !== 0), ids];
}

interface Area {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

const overlap = (a: Area, b: Area): boolean => a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
const within = (a: Area, b: Area): boolean => a.x >= b.x && a.y >= b.y && a.x + a.width <= b.x + b.width && a.y + a.height <= b.y + b.height;

/** A level or upright piece of a line has a point inside the box. */
const enters = ([ax, ay]: readonly number[], [bx, by]: readonly number[], box: Area): boolean =>
  Math.max(ax ?? 0, bx ?? 0) > box.x + 0.5 && Math.min(ax ?? 0, bx ?? 0) < box.x + box.width - 0.5 && Math.max(ay ?? 0, by ?? 0) > box.y + 0.5 && Math.min(ay ?? 0, by ?? 0) < box.y + box.height - 0.5;

for (const name of Object.keys(PROGRAMS)) {
  test(`${name}: whatever is open, no boxes overlap, no line crosses a box, and a frame holds its own`, () => {
    const all = given(name);
    for (const open of choices(all)) {
      const picture = all.open(...open);
      picture.nodes.forEach((a, i) => assert.ok(!picture.nodes.slice(i + 1).some((b) => overlap(a, b)), `${open}: ${a.node}`));
      for (const { source, target, points } of picture.edges) {
        points.slice(1).forEach((to, i) => {
          const from = points[i] ?? to;
          assert.ok(Math.abs(from[0] - to[0]) < 0.5 || Math.abs(from[1] - to[1]) < 0.5, `${open}: ${source} → ${target} is slanted at ${from} ${to}`);
          const crossed = picture.nodes.find((box) => enters(from, to, box));
          assert.equal(crossed?.node, undefined, `${open}: ${source} → ${target} at ${from} ${to}`);
        });
      }
      for (const frame of picture.frames) {
        const own = new Set(all.folds.get(frame.fold)?.members ?? []);
        for (const box of picture.nodes) {
          const inside = all.members(box.node).every((node) => own.has(node));
          // A leaf is drawn again in every round, and beside every user when it has many.
          const again = picture.nodes.filter(({ node }) => node === box.node).length > 1;
          if (inside && !again) assert.ok(within(box, frame), `${open}: ${box.node} in ${frame.fold}`);
          else if (overlap(box, frame)) assert.ok((inside || all.folds.get(frame.fold)?.outside.includes(box.node) === true) && within(box, frame), `${open}: ${box.node} over ${frame.fold}`);
        }
        assert.ok(within(frame, { x: 0, y: 0, width: picture.width, height: picture.height }));
      }
    }
  });

  test(`${name}: with all folds open every line is one of the graph's, and none is lost`, () => {
    const all = given(name);
    const picture = all.open(...[...all.folds.keys()]);
    const drawn = new Set(picture.nodes.flatMap(({ node }) => all.members(node)));
    const lines = new Set(picture.edges.flatMap(({ source, target }) => all.members(source).flatMap((a) => all.members(target).map((b) => `${a} ${b}`))));
    const shown = new Set(picture.edges.filter(({ source, target }) => source > 0 && target > 0).map(({ source, target }) => `${source} ${target}`));
    for (const [id, node] of all.nodes) {
      for (const [next] of node.next_functions) if (next !== null && drawn.has(id) && drawn.has(next)) assert.ok(lines.has(`${id} ${next}`) || samePlace(all, picture, id, next), `${id} → ${next}`);
    }
    for (const line of shown) {
      const [a, b] = line.split(" ").map(Number);
      assert.ok(all.nodes.get(a ?? 0)?.next_functions.some(([next]) => next === b), line);
    }
  });
}

/** Both stand behind one box: what is too much to be opened stays folded. */
function samePlace(all: Given, picture: Nested, a: number, b: number): boolean {
  return picture.nodes.some(({ node }) => node < 0 && all.members(node).includes(a) && all.members(node).includes(b));
}

test("opening a fold keeps its corner, all that is left of it or above, and the order of the rest", () => {
  const all = given("NET");
  const closed = all.open();
  const blocks = closed.nodes.find(({ node }) => all.folds.get(-node)?.label === "net.blocks") as NodeDrawing;
  const opened = all.open(-blocks.node);
  const [frame] = opened.frames;
  assert.deepEqual([frame?.x, frame?.y], [blocks.x, blocks.y]);
  const was = new Map(closed.nodes.map((box) => [box.node, box]));
  for (const box of opened.nodes) {
    const old = was.get(box.node);
    if (old === undefined) continue;
    if (old.x < blocks.x + blocks.width) assert.equal(box.x, old.x);
    else assert.ok(box.x >= (frame?.x ?? 0) + (frame?.width ?? 0));
    if (old.y < blocks.y + blocks.height) assert.equal(box.y, old.y);
  }
});

test("what is open makes the picture, not what was opened first", () => {
  const all = given("NET");
  const ids = [...all.folds.keys()].slice(0, 3);
  assert.deepEqual(all.open(...ids), all.open(...ids.reverse()));
  assert.deepEqual(all.open().nodes, all.folded.nodes.map((box) => ({ ...box })));
});

test("rounds below one another get wider each by itself", () => {
  const all = given("ROUNDS");
  const [first] = all.folded.nodes.filter(({ node }) => node < 0);
  assert.ok(first !== undefined);
  const opened = all.open(-first.node);
  const [frame] = opened.frames;
  const rest = all.folded.nodes.filter(({ y }) => y > first.y + 200);
  assert.ok(rest.length > 0 && frame !== undefined);
  for (const old of rest) {
    const box = opened.nodes.find(({ node, x }) => node === old.node && x === old.x);
    assert.equal(box?.y, old.y + frame.height - first.height);
  }
});
