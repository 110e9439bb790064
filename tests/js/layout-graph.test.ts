import assert from "node:assert/strict";
import { test } from "node:test";
import { edgePath, nodesOf } from "../../static/src/layout/graph";
import { name, storage, tensor, traceOf, view } from "./small-trace";

test("a node is there from the step of its event, its leaf called as the reader calls it", () => {
  const trace = traceOf(
    [view([2], [1])],
    [
      { events: [storage(1, 8), tensor(1, 0, 1)] },
      {
        events: [
          { kind: "node", id: 1, name: 0, line: null, next_functions: [], variable: 1, saved: [] },
          { kind: "node", id: 2, name: 1, line: 2, next_functions: [[1, 0]], variable: null, saved: [] },
        ],
      },
      { events: [name("w", 1), { kind: "node", id: 2, name: 1, line: 2, next_functions: [[1, 0]], variable: null, saved: [] }] },
    ],
  );
  const nodes = nodesOf(trace);
  assert.deepEqual([nodes.get(1)?.leafName, nodes.get(1)?.leaf, nodes.get(1)?.step], ["w", true, 2]);
  assert.deepEqual([nodes.get(2)?.name, nodes.get(2)?.leaf, nodes.get(2)?.step], ["MulBackward0", false, 2]);
});

test("an edge's corners are rounded, never past the middle of a piece", () => {
  assert.equal(edgePath({ points: [[0, 0], [100, 0]] }), "M0 0L100 0");
  assert.equal(edgePath({ points: [[0, 0], [100, 0]] }, 7), "M0 0L93 0");
  assert.equal(edgePath({ points: [[0, 0], [50, 0], [50, 60]] }), "M0 0L42 0Q50 0 50 8L50 60");
  assert.equal(edgePath({ points: [[0, 0], [4, 0], [4, 60]] }), "M0 0L2 0Q4 0 4 8L4 60");
});
