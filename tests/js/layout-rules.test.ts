import assert from "node:assert/strict";
import { test } from "node:test";
import { callFor, sameView } from "../../static/src/layout/calls";
import { cellsRead, readerOf } from "../../static/src/layout/reads";
import { answerView, boundsOf, isChannelsLast, isContiguous, isDense, isInside } from "../../static/src/layout/rules";
import { cellsOf } from "../../static/src/layout/storage";
import { overlap } from "../../static/src/layout/traits";
import calls from "../data/calls.json";
import rules from "../data/rules.json";

for (const row of rules) {
  test(`a view is what torch says it is: ${row.name}`, () => {
    assert.equal(isContiguous(row), row.contiguous);
    assert.equal(isChannelsLast(row), row.channels_last);
    assert.equal(isDense(row), row.dense);
    const view = { ...row, storage_offset: row.offset, dtype: "torch.int64", layout: "torch.strided", device: "cpu", is_contiguous: null, is_conj: false, is_neg: false, requires_grad: false, is_leaf: true };
    assert.equal(overlap(view) !== null, row.overlaps);
  });

  test(`view() gives the strides torch gives, or refuses as it does: ${row.name}`, () => {
    for (const { shape, stride } of row.views) {
      const answer = answerView(row, shape);
      assert.deepEqual(answer.stride, stride, shape.join());
      assert.equal(answer.reason === "fits", stride !== null);
      if (answer.reason !== "runs") continue;
      const run = answer.runs[answer.broken];
      assert.ok(run !== undefined);
      const filled = run.filledBy.reduce((n, d) => n * (shape[d] ?? 1), 1);
      assert.notEqual(filled, run.elements);
      assert.equal(answer.runs[0]?.dims[0], 0);
      assert.equal(answer.runs.at(-1)?.dims[1], row.shape.length - 1);
    }
  });
}

for (const row of calls) {
  test(`the call found is the one that torch ran: ${row.name}`, () => {
    assert.equal(callFor(row.base, row.target, "x").text, row.call);
  });
}

test("each number may go exactly as far as the view stays inside", () => {
  const cells = 24;
  for (const { target } of calls) {
    if (target.shape.includes(0) || !isInside(target, cells)) continue;
    const bounds = boundsOf(target, cells);
    target.shape.forEach((_, d) => {
      const wider = { ...target, shape: target.shape.with(d, bounds.size[d] ?? 0) };
      assert.ok(isInside(wider, cells), "size");
      const further = { ...target, stride: target.stride.with(d, bounds.stride[d] ?? 0) };
      assert.ok(isInside(further, cells), "stride");
      const more = { ...wider, shape: target.shape.with(d, (bounds.size[d] ?? 0) + 1) };
      if ((target.stride[d] ?? 0) > 0) assert.ok(!isInside(more, cells), "a larger size leaves the storage");
      const beyond = { ...target, stride: target.stride.with(d, (bounds.stride[d] ?? 0) + 1) };
      if ((target.shape[d] ?? 0) > 1) assert.ok(!isInside(beyond, cells), "a larger stride leaves the storage");
    });
    assert.ok(isInside({ ...target, offset: bounds.offset }, cells));
    assert.ok(!isInside({ ...target, offset: bounds.offset + 1 }, cells));
  }
});

test("the cells that a view reads are counted without being listed", () => {
  for (const { target } of calls) {
    if (target.shape.includes(0)) continue;
    const cells = new Set(cellsOf(target));
    assert.equal(cellsRead(target, 64), cells.size);
    const reads = readerOf(target);
    for (let cell = 0; cell < 64; cell++) assert.equal(reads(cell), cells.has(cell));
  }
});

test("strides of dimensions of size 1 are not compared", () => {
  const a = { shape: [1, 3], stride: [3, 1], offset: 0 };
  assert.ok(sameView(a, { ...a, stride: [7, 1] }));
  assert.ok(!sameView(a, { ...a, stride: [3, 2] }));
});

test("a refused view says which run the new shape does not divide", () => {
  const transposed = { shape: [4, 3], stride: [1, 4], offset: 0 };
  const answer = answerView(transposed, [12]);
  assert.equal(answer.reason, "runs");
  assert.deepEqual(answer.runs.map(({ dims, elements, step }) => ({ dims, elements, step })), [
    { dims: [0, 0], elements: 4, step: 1 },
    { dims: [1, 1], elements: 3, step: 4 },
  ]);
  assert.equal(answer.broken, 1);
  assert.equal(answerView(transposed, [5]).reason, "count");
  assert.deepEqual(answerView(transposed, [2, 2, 3]).stride, [2, 1, 4]);
});
