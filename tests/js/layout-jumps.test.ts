import assert from "node:assert/strict";
import { test } from "node:test";
import { shapeOf } from "../../static/src/features/lens/viewing";
import { kindOf } from "../../static/src/features/lens/holders";
import { jumpsAlong, part, readings } from "../../static/src/layout/jumps";
import { cellAt } from "../../static/src/layout/storage";
import { UNNAMED_HOLDERS } from "../../static/src/model/state";
import rows from "../data/strides.json";

for (const row of rows) {
  test(`cells are read as often as torch has elements in them: ${row.name}`, () => {
    const expected = new Uint16Array(row.size);
    for (const cell of row.cells) expected[cell] = (expected[cell] ?? 0) + 1;
    assert.deepEqual(readings(row, row.size), expected);
  });

  test(`a jump leads from an element to the next one along its dimension: ${row.name}`, () => {
    row.shape.forEach((size, dim) => {
      const at = row.shape.map((n) => Math.max(0, n - 1));
      const jumps = jumpsAlong(row, dim, at);
      assert.equal(jumps.length, row.cells.length === 0 ? 0 : Math.max(0, size - 1));
      jumps.forEach(({ from, to }, i) => {
        assert.equal(from, cellAt(row, at.with(dim, i)));
        assert.equal(to, cellAt(row, at.with(dim, i + 1)));
      });
    });
  });
}

test("of a long storage the part around a cell is drawn, and of a short one all", () => {
  assert.deepEqual(part(40, 3), [0, 40]);
  for (const cell of [0, 5, 500_000, 999_999]) {
    const [from, to] = part(1_000_000, cell);
    assert.ok(from <= cell && cell < to && to - from <= 104 && from % 8 === 0);
  }
});

test("too many elements to count are told as read, not how often", () => {
  const counts = readings({ shape: [1000, 1000], stride: [0, 1], offset: 0 }, 1000);
  assert.ok(counts.every((count) => count === 1));
});

test("a shape is read as Python writes it, with one size computed", () => {
  assert.deepEqual(shapeOf("(6, 2)", 12), [6, 2]);
  assert.deepEqual(shapeOf("-1, 3", 12), [4, 3]);
  assert.deepEqual(shapeOf("", 1), []);
  assert.equal(shapeOf("-1, 5", 12), null);
  assert.equal(shapeOf("-1, -1", 12), null);
  assert.equal(shapeOf("two", 12), null);
});

test("a holder is told by the kind of expression it is", () => {
  assert.equal(kindOf("model[0].weight"), "named");
  assert.equal(kindOf("w.grad"), "gradient");
  assert.equal(kindOf("MulBackward0#5.self"), "saved");
  assert.equal(kindOf("optimizer.state[model[0].weight]['exp_avg']"), "optimizer");
  assert.equal(kindOf(UNNAMED_HOLDERS["cycle"] ?? ""), "unreachable");
  assert.equal(kindOf(UNNAMED_HOLDERS["unknown"] ?? ""), "unknown");
});
