/** One storage over a whole run: when it was written, under which names it was shared, and how that is drawn. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { lifeOf, writeFrom } from "../../static/src/layout/life";
import { livesOf } from "../../static/src/layout/lives";
import { lifePaths } from "../../static/src/layout/timeline";
import { bytes, freed, gone, name, storage, tensor, traceOf, view } from "./small-trace";

/** x = …; y = x.t(); x.add_(1); x.add_(0); del y; z = other; del x */
const TRACE = traceOf(
  [view([2, 2], [2, 1]), view([2, 2], [1, 2])],
  [
    { events: [storage(1, 16), bytes(1, [1, 2, 3, 4]), tensor(1, 0, 1, 0), name("x", 1)] },
    { events: [tensor(2, 1, 1, 0), name("y", 2)] },
    { events: [bytes(1, [2, 3, 4, 5]), tensor(1, 0, 1, 1), tensor(2, 1, 1, 1)] },
    { events: [tensor(1, 0, 1, 2), tensor(2, 1, 1, 2)] },
    { events: [name("y", null), gone(2)] },
    { events: [storage(2, 16), bytes(2, [0, 0, 0, 0]), tensor(3, 0, 2, 0), name("z", 3)] },
    { events: [bytes(2, [1, 1, 1, 1]), tensor(3, 0, 2, 1)] },
    { events: [name("x", null), gone(1), freed(1)] },
  ],
);
const LIFE = lifeOf(TRACE, livesOf(TRACE), 1);

test("a write is new bytes or a version that rose, and nothing of another storage", () => {
  assert.ok(LIFE !== null);
  assert.deepEqual(LIFE.writes, [3, 4]);
  assert.deepEqual(lifeOf(TRACE, livesOf(TRACE), 2)?.writes, [7]);
  assert.equal(lifeOf(TRACE, livesOf(TRACE), 9), null);
});

test("sharing begins with the second name and ends when the first of the two goes", () => {
  assert.ok(LIFE !== null);
  assert.deepEqual([LIFE.born, LIFE.gone], [1, 8]);
  assert.deepEqual(LIFE.shared, [{ born: 2, gone: 5 }]);
  assert.deepEqual(LIFE.names.map(({ name: called, born, gone: end }) => [called, born, end]), [["x", 1, 8], ["y", 2, 5]]);
});

test("from write to write both ways; the making is the first, and beyond the ends there is none", () => {
  assert.ok(LIFE !== null);
  const { writes, born } = LIFE;
  assert.deepEqual([born, ...writes], [1, 3, 4]);
  assert.deepEqual([0, 1, 2, 3, 4, 8].map((step) => writeFrom(LIFE, step, "next")), [1, 3, 3, 4, null, null]);
  assert.deepEqual([1, 2, 3, 4, 8].map((step) => writeFrom(LIFE, step, "previous")), [null, 1, 1, 3, 4]);
});

test("a life is drawn from the step that made it to the step that freed it, with a mark in the middle of each write", () => {
  assert.ok(LIFE !== null);
  const paths = lifePaths(LIFE, { columns: 8, column: 10, width: 80 }, 0);
  assert.equal(paths.there, "M0 0H70v7H0z");
  assert.equal(paths.shared, "M10 0H40v7H10z");
  assert.equal(paths.writes, "M5 -2v11M25 -2v11M35 -2v11");
  assert.deepEqual(paths.names.map(({ mark }) => mark), [1, 2]);
});

test("a tensor that is given another storage ends the sharing of the first", () => {
  const trace = traceOf(
    [view([2], [1])],
    [
      { events: [storage(1, 8), tensor(1, 0, 1, 0), name("x", 1)] },
      { events: [tensor(2, 0, 1, 0), name("y", 2)] },
      { events: [storage(2, 8), tensor(2, 0, 2, 3)] },
    ],
  );
  const life = lifeOf(trace, livesOf(trace), 1);
  assert.deepEqual(life?.shared, [{ born: 2, gone: 3 }]);
  assert.deepEqual(life.writes, []);
  assert.deepEqual(lifeOf(trace, livesOf(trace), 2)?.writes, []);
});
