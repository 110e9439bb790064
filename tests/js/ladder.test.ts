/** A line opened into its sub-expressions: their order, their words, their ops, what backward keeps. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Ladders, type Rung } from "../../static/src/model/ladder";
import { outlineOf } from "../../static/src/model/outline";
import type { SourceRange, Trace } from "../../static/src/schema/trace.gen";
import { traceOf, view, type TraceEvent } from "./small-trace";

interface Given {
  readonly name: string;
  /** The piece of the line; null when unknown. */
  readonly of: string | null;
  readonly node?: string;
  readonly line?: number;
  readonly verdict?: "fresh" | "view" | "in-place";
}

/** One line of source, and what ran for it: ops by the piece they stand for, nodes and calls as they are. */
function ladder(source: string, given: readonly (Given | TraceEvent)[]): readonly Rung[] {
  const names: string[] = ["AccumulateGrad", "MmBackward0"];
  const ranges: SourceRange[] = [];
  const sites: Trace["sites"] = [];
  const named = (text: string): number => (names.includes(text) ? names.indexOf(text) : names.push(text) - 1);
  let tensor = 1;
  const events = given.map((each): TraceEvent => {
    if ("kind" in each) return each;
    const at = each.of === null ? -1 : source.indexOf(each.of);
    const line = each.line ?? 1;
    const range = at < 0 ? null : ranges.push({ line, column: at, end_line: line, end_column: at + (each.of?.length ?? 0) }) - 1;
    const site = sites.push({
      op: named(each.name), api: null, range, views: [0], verdicts: [each.verdict ?? "fresh"], writes: [],
      node: each.node === undefined ? null : named(each.node), failed: false,
    });
    tensor += 1;
    return { kind: "op", site: site - 1, inputs: [tensor - 1], outputs: [tensor] };
  });
  const trace = traceOf([view([3, 4], [4, 1])], [{ events }]);
  const whole = {
    ...trace, source: `${source}\n`, names, ranges, sites,
    statements: [{ kind: "Assign", range: { line: 1, column: 0, end_line: 1, end_column: source.length } }],
  };
  return new Ladders(whole, outlineOf(whole)).of(1);
}

const texts = (rungs: readonly Rung[]): string[] => rungs.map(({ text }) => text);
const node = (id: number, name: number, saved: readonly string[]): TraceEvent => {
  const fields = saved.map((field) => ({ field, tensor: 1, storage: 1, version: 0 }));
  return { kind: "node", id, name, line: 1, next_functions: [], variable: null, saved: fields };
};

test("a line is its pieces in the order of evaluation, with dots for what stands above", () => {
  const rungs = ladder("h = (x @ W) + b", [{ name: "aten::mm", of: "x @ W" }, { name: "aten::add.Tensor", of: "(x @ W) + b" }]);

  assert.deepEqual(texts(rungs), ["x @ W", "(…) + b"]);
  assert.deepEqual(rungs.map(({ ops }) => ops.map(({ name, outputs }) => [name, outputs[0]?.shape])), [[["aten::mm", [3, 4]]], [["aten::add.Tensor", [3, 4]]]]);
});

test("methods follow on each other", () => {
  const rungs = ladder("loss = h.pow(2).mean()", [{ name: "aten::pow", of: "h.pow(2)" }, { name: "aten::mean", of: "h.pow(2).mean()" }]);

  assert.deepEqual(texts(rungs), ["h.pow(2)", "….mean()"]);
});

test("only the outermost of nested pieces becomes dots, and short ones stay", () => {
  const rungs = ladder("y = (a*b + 1).sum() - c", [
    { name: "aten::mul", of: "a*b" },
    { name: "aten::add", of: "a*b + 1" },
    { name: "aten::sum", of: "(a*b + 1).sum()" },
    { name: "aten::sub", of: "(a*b + 1).sum() - c" },
  ]);

  assert.deepEqual(texts(rungs), ["a*b", "a*b + 1", "(…).sum()", "… - c"]);
});

test("a node belongs to the piece whose op made it; leaves are not told", () => {
  const [first, second] = ladder("h = x @ W + b", [
    { name: "aten::mm", of: "x @ W" },
    node(1, 1, ["self", "mat2"]),
    node(2, 0, []),
    { name: "aten::add", of: "x @ W + b" },
  ]);

  assert.deepEqual(first?.nodes.map(({ id, saved }) => [id, saved.map(({ field }) => field)]), [[1, ["self", "mat2"]]]);
  assert.deepEqual(second?.nodes, []);
});

test("what a called function did is one rung, and what backward ran stands under its node", () => {
  const rungs = ladder("y = f(x).sum()", [
    { kind: "call", frame: 3, function: "make.<locals>.f" },
    { name: "aten::relu", of: "f(x)", line: 1 },
    { kind: "return", frame: 3 },
    { name: "aten::sum", of: "f(x).sum()" },
    { name: "aten::expand", of: "f(x).sum()", node: "SumBackward0", verdict: "view" },
    { name: "aten::mul", of: "f(x).sum()", node: "SumBackward0" },
  ]);

  assert.deepEqual(rungs.map(({ kind, text, frame }) => [kind, text, frame]), [["call", "f", 3], ["piece", "f(x).sum()", null], ["node", "SumBackward0", null]]);
  assert.deepEqual(rungs[2]?.ops.map(({ verdicts }) => verdicts), [["view"], ["fresh"]]);
});

test("a call without an op says what came of it", () => {
  const [rung] = ladder("y = x", [{ kind: "api", api: 1, range: null, inputs: [1], outputs: [1], returned_input: true }]);

  assert.deepEqual(rung?.ops.map(({ name, verdicts }) => [name, verdicts]), [["MmBackward0", ["returned-input"]]]);
});
