import assert from "node:assert/strict";
import { test } from "node:test";
import { placeLabels, type Area, type Wanted } from "../../static/src/layout/edge-labels";
import { traced } from "./traced";

const size = { width: 70, height: 30 };
const overlap = (a: Area, b: Area): boolean => a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;

test("a label stands above a level line that is long enough, else beside an upright piece", () => {
  const level: Wanted = { ...size, points: [[300, 100], [100, 100]] };
  assert.deepEqual(placeLabels([level], [], [level.points]), [[165, 66]]);
  const upright: Wanted = { ...size, points: [[140, 100], [120, 100], [120, 260], [100, 260]] };
  assert.deepEqual(placeLabels([upright], [], [upright.points]), [[46, 165]]);
});

test("between two boxes of one height a label stands above or below them, and nowhere when all is taken", () => {
  const short: Wanted = { ...size, points: [[144, 50], [100, 50]] };
  const boxes = [{ x: 0, y: 30, width: 100, height: 40 }, { x: 144, y: 30, width: 100, height: 40 }];
  const [place] = placeLabels([short], boxes, [short.points]);
  assert.ok(place != null && place[1] + size.height <= 30 && place[1] >= -16);
  const walls = [...boxes, { x: -50, y: -100, width: 400, height: 130 }, { x: -50, y: 70, width: 400, height: 130 }];
  assert.deepEqual(placeLabels([short], walls, [short.points]), [null]);
});

test("in a real graph labels cover no box, no line and no other label, and most find room", () => {
  const [trace] = traced([[`import torch
from torch import nn
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.LayerNorm(16), nn.Linear(16, 4))
h = model(torch.ones(5, 8))
loss = (h.exp() * h + h.sin()).mean()
loss.backward()
`, "cpu"]]);
  const graph = trace?.graph;
  assert.ok(graph != null);
  const wanted = graph.edges.map(({ points }) => ({ ...size, points }));
  const lines = graph.edges.map(({ points }) => points);
  const places = placeLabels(wanted, graph.nodes, lines);
  const labels = places.flatMap((place) => (place === null ? [] : [{ x: place[0], y: place[1], ...size }]));
  assert.ok(labels.length > 0.7 * wanted.length, `${labels.length} of ${wanted.length}`);
  labels.forEach((label, i) => {
    for (const other of [...graph.nodes, ...labels.slice(i + 1)]) assert.ok(!overlap(label, other));
    for (const line of lines) {
      line.slice(1).forEach(([x, y], j) => {
        const [fromX, fromY] = line[j] ?? [x, y];
        assert.ok(!overlap(label, { x: Math.min(x, fromX), y: Math.min(y, fromY), width: Math.abs(x - fromX) + 0.1, height: Math.abs(y - fromY) + 0.1 }));
      });
    }
  });
  assert.deepEqual(placeLabels(wanted, graph.nodes, lines), places);
});
