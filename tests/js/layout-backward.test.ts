import assert from "node:assert/strict";
import { test } from "node:test";
import { turnsOf } from "../../static/src/layout/backward";
import { gradientText, listText } from "../../static/src/layout/gradients";
import { traceOf, view, type TraceEvent } from "./small-trace";
import type { Trace } from "../../static/src/schema/trace.gen";

const OPS = ["aten::ones_like", "aten::expand", "aten::mul.Tensor", "aten::add.Tensor", "aten::detach", "aten::add_.Tensor"];

/** w (1) ← Mul (2) and Exp (3) ← Add (4) ← Sum (5). Tensor 7 is the sum. */
const NODES = new Map([
  [1, { next_functions: [], variable: 1 }],
  [2, { next_functions: [[1, 0]], variable: null }],
  [3, { next_functions: [[1, 0]], variable: null }],
  [4, { next_functions: [[2, 0], [3, 0]], variable: null }],
  [5, { next_functions: [[4, 0]], variable: null }],
] as [number, { next_functions: [number, number][]; variable: number | null }][]);

const op = (name: number, inputs: number[], outputs: number[]): TraceEvent => ({ kind: "op", site: name, inputs, outputs });
const ran = (node: number | null, task = 1): TraceEvent => ({ kind: "ran", node, task });
const seen = (tensor: number, list: number[]): TraceEvent => {
  const values: unknown = list;
  return { kind: "gradient", tensor, values: values as Record<string, unknown>, norm: 1 };
};

function trace(): Trace {
  const made = traceOf([view([2], [1])], []);
  const sites = OPS.map((_, op) => ({ op, api: null, range: null, views: [0], verdicts: ["fresh" as const], writes: [], node: null, failed: false }));
  return { ...made, names: OPS, sites };
}

const PASS = [
  op(0, [7], [8]),
  ran(5), op(1, [8], [9]), seen(9, [1, 1]),
  ran(3), op(2, [9, 5], [11]), seen(11, [3, 3]),
  ran(2), op(2, [9], [12]), seen(12, [2, 2]), op(3, [11, 12], [13]), seen(13, [5, 5]),
  ran(1), op(4, [13], [14]), seen(14, [5, 5]),
];

test("each node has its turn in the engine's order, one without an op before the first it hands on to", () => {
  const turns = turnsOf(trace(), PASS, NODES, (tensor) => (tensor === 7 ? 5 : null));
  assert.deepEqual(turns.map(({ node, silent }) => [node, silent]), [[5, false], [4, true], [3, false], [2, false], [1, false]]);
  assert.deepEqual(turns[0]?.sent.map(({ to, gradient }) => [to, gradient.values]), [[4, [1, 1]]]);
  assert.deepEqual(turns[1]?.sent.map(({ to }) => to), [3, 2]);
  assert.deepEqual(turns[2]?.along, [[4, 3]]);
});

test("gradients that arrive on several ways are one sum of known parts", () => {
  const leaf = turnsOf(trace(), PASS, NODES, () => 5).at(-1);
  assert.deepEqual(leaf?.received.map(({ values, parts }) => [values, parts.map(({ from }) => from)]), [[[5, 5], [3, 2]]]);
  assert.deepEqual(leaf?.along, [[3, 1], [2, 1]]);
  assert.equal(leaf?.filled?.how, "taken");
  assert.equal(leaf?.filled?.before, null);
});

test("a second pass adds to what is in .grad, and takes nothing of the first for its own", () => {
  const second = [op(0, [7], [20]), ran(5, 2), op(1, [20], [21]), ran(3, 2), op(2, [21, 5], [22]), ran(1, 2), op(5, [14, 22], [14])];
  const turns = turnsOf(trace(), [...PASS, ...second], NODES, () => 5).filter(({ pass }) => pass === 2);
  assert.deepEqual(turns.map(({ node }) => node), [5, 4, 3, 1]);
  assert.deepEqual(turns.at(-1)?.received.map(({ from }) => from), [3]);
  assert.deepEqual([turns.at(-1)?.filled?.how, turns.at(-1)?.filled?.before], ["added", 14]);
});

test("few values are said, many are told by shape and norm", () => {
  const say = (_id: string, args: Record<string, unknown> = {}): string => `${String(args["shape"])} ${String(args["norm"])}`;
  assert.equal(gradientText({ values: [1, 2.71828], shape: [2], norm: 2.9 }, say), "[1, 2.718]");
  assert.equal(gradientText({ values: 1, shape: [], norm: 1 }, say), "1");
  assert.equal(gradientText({ values: [[1], [2]], shape: [2, 1], norm: 2.23606 }, say), "(2, 1) 2.236");
  assert.equal(gradientText({ values: null, shape: [9], norm: null }, say), "(9,)");
  assert.equal(listText([1, 2, 3, 4, 5, 6, 7]), "[1, 2, 3, 4, 5, 6, …]");
});
