/** Lines of two programs that belong together. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { alignLines, commonSubsequence, rising } from "../../static/src/model/alignment";
import { atMost } from "./effort";

const rows = (left: string, right: string): string[] => {
  return alignLines(left.split("\n"), right.split("\n")).map(({ left: l, right: r, same }) => `${l ?? "-"}${same ? "=" : "~"}${r ?? "-"}`);
};

test("the same program is the same on every line", () => {
  assert.deepEqual(rows("a = 1\nb = 2", "a = 1\nb = 2  "), ["1=1", "2=2"]);
});

test("a line that was rewritten stands beside what it was", () => {
  assert.deepEqual(rows("import torch\ny = x.view(6)\nz = 1", "import torch\ny = x.reshape(6)\nz = 1"), ["1=1", "2~2", "3=3"]);
  assert.deepEqual(rows("y = w.exp()\ny.add_(1)", "y = w.exp()\ny = y.add(1)"), ["1=1", "2~2"]);
});

test("a line that was put in stands alone", () => {
  assert.deepEqual(rows("x = 1\ny.add_(1)", "x = 1\ny = y.clone()\ny.add_(1)"), ["1=1", "-~2", "2=3"]);
});

test("a line with nothing in common is no rewriting", () => {
  assert.deepEqual(rows("x = torch.ones(3)", "print('done')"), ["1~-", "-~1"]);
});

test("every line stands in one row, in order, whatever the programs", () => {
  let seed = 7;
  const random = (n: number): number => (seed = (seed * 1103515245 + 12345) % 2147483648) % n;
  for (let round = 0; round < 300; round += 1) {
    const [left, right] = [0, 1].map(() => Array.from({ length: random(12) }, () => `line ${"abcde"[random(5)]}`));
    assert.ok(left !== undefined && right !== undefined);
    const found = alignLines(left, right);
    assert.deepEqual(found.flatMap((row) => row.left ?? []), left.map((_, i) => i + 1));
    assert.deepEqual(found.flatMap((row) => row.right ?? []), right.map((_, i) => i + 1));
    for (const row of found) {
      if (row.left !== null && row.right !== null) assert.equal(row.same, left[row.left - 1] === right[row.right - 1]);
    }
  }
});

test("of texts that stand once on each side, the most that keep their order belong together", () => {
  assert.deepEqual(rising([[0, 3], [1, 0], [2, 1], [3, 2]]), [[1, 0], [2, 1], [3, 2]]);
  assert.deepEqual(commonSubsequence(["a", "b", "c", "a"], ["b", "a", "c"]), [[1, 0], [2, 2]]);
});

test("two programs of two thousand lines are aligned with little work", () => {
  const long = Array.from({ length: 2000 }, (_, i) => `x${i % 90} = ${i % 70}`);
  const found = atMost(20, () => alignLines(long, [...long.slice(0, 900), "new", ...long.slice(910)]));
  assert.equal(found.filter(({ same }) => same).length, 1990);
});
