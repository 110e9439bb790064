import assert from "node:assert/strict";
import { test } from "node:test";
import {
  cellAt,
  cellsOf,
  coverage,
  coverageOfBytes,
  elementsAt,
  gridShape,
  indexAt,
  isIndexOf,
  numel,
  strided,
} from "../../static/src/layout/storage";
import overlaps from "../data/overlaps.json";
import rows from "../data/strides.json";

for (const row of rows) {
  test(`elements lie where torch reads them: ${row.name}`, () => {
    assert.deepEqual(cellsOf(row), row.cells);
    assert.equal(numel(row.shape), row.cells.length);
    const last = row.shape.map((size) => size - 1);
    if (row.cells.length > 0) assert.equal(cellAt(row, last), row.cells.at(-1));
  });

  test(`coverage is the set of those cells: ${row.name}`, () => {
    const covered = coverage(row, row.size);
    const expected = new Uint8Array(row.size);
    for (const cell of row.cells) expected[cell] = 1;
    assert.deepEqual(covered, expected);
  });

  test(`a cell leads back to its first element: ${row.name}`, () => {
    for (let cell = -1; cell <= row.size; cell++) {
      const index = indexAt(row, cell);
      const first = row.cells.indexOf(cell);
      if (first < 0) {
        assert.equal(index, null);
        continue;
      }
      assert.ok(index !== null && isIndexOf(row.shape, index));
      const number = index.reduce((n, i, d) => n * (row.shape[d] ?? 1) + i, 0);
      assert.equal(number, first, `cell ${cell}`);
      assert.equal(elementsAt(row, cell), row.cells.filter((c) => c === cell).length);
    }
  });
}

for (const row of overlaps) {
  test(`a window of another width covers the cells torch writes through it: ${row.name}`, () => {
    const covered = coverageOfBytes(row, row.item, row.cell, row.covered.length);
    assert.deepEqual([...covered], row.covered);
  });
}

const contiguous = (...shape: number[]) => ({
  shape,
  stride: shape.map((_, d) => numel(shape.slice(d + 1))),
  offset: 0,
});

test("a view of another width covers each cell it shares a byte with", () => {
  const bytes = { shape: [3], stride: [1], offset: 3 };
  assert.deepEqual([...coverageOfBytes(bytes, 1, 4, 3)], [1, 1, 0]);
  const wide = { shape: [1], stride: [1], offset: 1 };
  assert.deepEqual([...coverageOfBytes(wide, 8, 4, 4)], [0, 0, 1, 1]);
});

test("coverage ends with the storage, even for a forged view", () => {
  assert.deepEqual([...coverage({ shape: [4], stride: [3], offset: 1 }, 6)], [0, 1, 0, 0, 1, 0]);
  assert.deepEqual([...coverage({ shape: [4], stride: [1], offset: 9 }, 6)], [0, 0, 0, 0, 0, 0]);
});

test("coverage of 10^12 expanded and overlapping elements takes no longer than its cells", () => {
  const windows = { shape: [1_000_000, 1000, 1000], stride: [0, 1, 2], offset: 0 };
  assert.equal(coverage(windows, 3000).reduce((n, c) => n + c, 0), 2998);
});

test("a grid's row is a row of the view, however it is looked at", () => {
  const x = contiguous(3, 4);
  assert.deepEqual(gridShape(x, 12), { cells: 12, columns: 4, rows: 3, block: 0, shaped: true });
  assert.equal(gridShape({ shape: [4, 3], stride: [1, 4], offset: 0 }, 12).columns, 4);
  assert.equal(gridShape({ shape: [2, 2], stride: [4, 2], offset: 4 }, 12).columns, 4);
  assert.deepEqual(gridShape(contiguous(2, 3, 4), 24), { cells: 24, columns: 4, rows: 6, block: 3, shaped: true });
});

test("what has no rows wraps to fit", () => {
  assert.equal(gridShape(contiguous(12), 12).columns, 12);
  assert.equal(gridShape(contiguous(100), 100).columns, 16);
  assert.equal(gridShape({ shape: [4, 3], stride: [1, 1], offset: 0 }, 6).columns, 6);
  assert.deepEqual(gridShape(contiguous(1_000_000), 1_000_000), {
    cells: 1_000_000, columns: 1024, rows: 977, block: 0, shaped: false,
  });
  assert.equal(gridShape(contiguous(1000, 1000), 1_000_000).columns, 1000);
  assert.equal(gridShape(contiguous(100_000, 10), 1_000_000).shaped, false);
  assert.deepEqual(gridShape(null, 0), { cells: 0, columns: 1, rows: 1, block: 0, shaped: true });
  assert.equal(gridShape(contiguous(), 1).columns, 1);
});

test("sparse and nested tensors have no strides", () => {
  const view = {
    dtype: "torch.float32", layout: "torch.sparse_coo", device: "cpu", is_contiguous: null,
    is_conj: false, is_neg: false, requires_grad: false, is_leaf: true,
  };
  assert.equal(strided({ ...view, shape: [2, 2], stride: null, storage_offset: null }), null);
  assert.deepEqual(strided({ ...view, shape: [2], stride: [1], storage_offset: 3 }), { shape: [2], stride: [1], offset: 3 });
});
