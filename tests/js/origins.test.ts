import assert from "node:assert/strict";
import { test } from "node:test";
import { nodesOf } from "../../static/src/layout/graph";
import { History } from "../../static/src/model/history";
import { UNNAMED_HOLDERS } from "../../static/src/model/state";
import { originText } from "../../static/src/views/readout";
import type { Trace } from "../../static/src/schema/trace.gen";
import { freed, name, storage, tensor, traceOf, view, type TraceEvent } from "./small-trace";

const op = (site: number, inputs: number[], outputs: number[]): TraceEvent => ({ kind: "op", site, inputs, outputs });
const held = (on: number, by: "name" | "cycle" | "unknown", ...holders: string[]): TraceEvent => ({ kind: "held", storage: on, by, holders });

/** `y = relu(x @ W)`, relu of two ops of which the second takes in what the first gave. */
function program(events: TraceEvent[]): Trace {
  const site = { views: [0], verdicts: ["fresh" as const], writes: [], node: null, failed: false };
  return {
    ...traceOf([view([2], [1])], [{ events: [] }, { events }]),
    source: "pass\ny = relu(x @ W)\n",
    names: ["aten::mm", "matmul", "aten::clamp", "relu", "aten::detach", "AccumulateGrad"],
    ranges: [
      { line: 2, column: 9, end_line: 2, end_column: 14 },
      { line: 2, column: 4, end_line: 2, end_column: 15 },
    ],
    sites: [
      { ...site, op: 0, api: 1, range: 0 },
      { ...site, op: 2, api: 3, range: 1 },
      { ...site, op: 4, api: 3, range: 1 },
    ],
  };
}

test("a tensor without a name is called by the sub-expression that made it, or the call inside it", () => {
  const events = [op(0, [8, 9], [1]), op(1, [1], [2]), op(1, [2], [3]), op(2, [3], [4]), ...[1, 2, 3, 4].flatMap((id) => [storage(id, 8), tensor(id, 0, id)])];
  const state = new History(program(events)).state(2);
  const origin = (id: number): unknown => state.tensors.get(id)?.origin;

  assert.deepEqual(origin(1), { kind: "result", code: "x @ W", line: 2, api: "matmul" });
  assert.deepEqual(origin(2), { kind: "inside", code: "relu(x @ W)", line: 2, api: "relu" });
  assert.deepEqual(origin(3), { kind: "result", code: "relu(x @ W)", line: 2, api: "relu" });
  assert.deepEqual(origin(4), origin(3), "a saved output is what it was made of");
  assert.deepEqual(state.storages.get(1)?.origin, origin(1));
  assert.equal(originText(state.tensors.get(2)?.origin ?? null, (id, args) => `${id} ${String(args?.["api"])}`), "origin.inside relu");
});

test("what the next round of a loop takes in is a result of this one", () => {
  const round = (from: number, to: number): { events: TraceEvent[] } => ({ events: [op(0, [from, 9], [to]), storage(to, 8), tensor(to, 0, to)] });
  const rounds = { ...program([]), steps: traceOf([view([2], [1])], [round(8, 1), round(1, 2)]).steps };

  assert.equal(new History(rounds).state(2).tensors.get(1)?.origin?.kind, "result");
});

test("who keeps a storage is what a search found, unless a name does", () => {
  const events = [storage(1, 8), tensor(1, 0, 1), held(1, "name", "p.args[0]"), storage(2, 8), tensor(2, 0, 2), held(2, "cycle")];
  const history = new History(traceOf([view([2], [1])], [{ events }, { events: [name("x", 1), held(2, "unknown")] }, { events: [freed(2)] }]));
  const keepers = (step: number): unknown => [1, 2].map((id) => history.state(step).storages.get(id)?.heldBy);

  assert.deepEqual(keepers(1), [["p.args[0]"], [UNNAMED_HOLDERS["cycle"]]]);
  assert.deepEqual(keepers(2), [["x"], [UNNAMED_HOLDERS["unknown"]]]);
  assert.deepEqual(keepers(3), [["x"], []]);
});

test("a leaf that only an optimizer leads to is called as the optimizer reaches it", () => {
  const path = "opt.param_groups[0]['params'][0]";
  const node: TraceEvent = { kind: "node", id: 7, name: 5, line: 2, next_functions: [], variable: 1, saved: [] };
  const trace = program([storage(3, 8), tensor(1, 0, 3), node, held(3, "name", path)]);

  assert.equal(nodesOf(trace).get(7)?.leafName, path);
});
