/** What the charts show: spreads of values, their course over the steps, what each line cost. */
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { costsOf } from "../../static/src/layout/costs";
import { courseOf } from "../../static/src/layout/courses";
import { bytesOf, spreadOf, type Known } from "../../static/src/layout/spread";
import { History } from "../../static/src/model/history";
import type { TensorSummary, Trace } from "../../static/src/schema/trace.gen";
import { bytes, freed, gone, name, storage, tensor, traceOf, view } from "./small-trace";

const FOLDER = "app/lessons/recorded";
const TRACES = readdirSync(FOLDER).filter((file) => file.endsWith(".json"))
  .map((file) => JSON.parse(readFileSync(join(FOLDER, file), "utf8")) as Trace);

const known = (values: number[], shape: number[], stride: number[], offset = 0): Known => {
  const event = bytes(1, values);
  return { view: view(shape, stride, offset), bytes: event.kind === "bytes" ? bytesOf(event) : null, values: undefined, summary: null };
};

test("a transposed or sliced view counts its own elements, not its storage's", () => {
  const whole = [0, 1, 2, 3, 4, 5];
  const spread = spreadOf(known(whole, [2, 2], [1, 2], 1));
  assert.deepEqual([spread?.minimum, spread?.mean, spread?.maximum, spread?.looked], [1, 2.5, 4, 4]);
});

test("an expanded view counts an element as often as it has it", () => {
  const spread = spreadOf(known([1, 5], [3, 2], [0, 1]));
  assert.deepEqual([spread?.elements, spread?.mean], [6, 3]);
  assert.equal(spread?.bins.reduce((sum, { count }) => sum + count, 0), 6);
});

test("a huge expanded view is looked at in part, and says so", () => {
  const spread = spreadOf(known([7], [1000, 1000], [0, 0]));
  assert.equal(spread?.elements, 1_000_000);
  assert.ok((spread?.looked ?? 0) <= 65_536 && (spread?.looked ?? 0) > 10_000);
  assert.deepEqual([spread?.minimum, spread?.maximum], [7, 7]);
});

test("nan and infinity are in no bin and in no figure, and are counted", () => {
  const spread = spreadOf(known([NaN, Infinity, 2, 4], [4], [1]));
  assert.deepEqual([spread?.minimum, spread?.mean, spread?.maximum, spread?.others, spread?.counted], [2, 3, 4, 2, 4]);
  assert.equal(spread?.bins.reduce((sum, { count }) => sum + count, 0), 2);
});

test("nothing is said of an empty tensor or of values that were not recorded", () => {
  assert.equal(spreadOf(known([], [0], [1])), null);
  assert.equal(spreadOf({ view: view([2], [1]), bytes: null, values: undefined, summary: null }), null);
});

test("nested values of sparse and complex tensors are read as traces write them", () => {
  const sparse = spreadOf({ view: view([2, 2], []), bytes: null, values: [[1, 0], ["nan", "-inf"]], summary: null });
  assert.deepEqual([sparse?.minimum, sparse?.maximum, sparse?.others], [0, 1, 2]);
  const complex = { ...view([2], [1]), dtype: "torch.complex64" };
  const spread = spreadOf({ view: complex, bytes: null, values: [[3, 4], [0, 1]], summary: null });
  assert.deepEqual([spread?.minimum, spread?.maximum, spread?.looked], [1, 5, 2]);
});

test("whole numbers of a small range have a bin each", () => {
  const spread = spreadOf({ view: { ...view([5], [1]), dtype: "torch.int64" }, bytes: null, values: [3, 1, 3, 1, 3], summary: null });
  assert.deepEqual(spread?.bins, [{ low: 0.5, high: 1.5, count: 2 }, { low: 1.5, high: 2.5, count: 0 }, { low: 2.5, high: 3.5, count: 3 }]);
});

test("of a large tensor the sample's figures and bins are taken as they are", () => {
  const summary: TensorSummary = {
    elements: 1_000_000, looked_at: 63_000, minimum: -4, maximum: "inf", mean: "nan", corner: {},
    histogram: { low: -4, high: 4, counts: [1, 2, 3, 4], others: 2 },
  };
  const spread = spreadOf({ view: view([1000, 1000], [1000, 1]), bytes: null, values: null, summary });
  assert.deepEqual(spread?.bins[3], { low: 2, high: 4, count: 4 });
  assert.deepEqual([spread?.elements, spread?.looked, spread?.counted, spread?.others, spread?.maximum], [1_000_000, 63_000, 12, 2, Infinity]);
});

test("the course of a name has a point wherever its contents changed, and a gap where it is gone", () => {
  const trace = traceOf([view([2], [1])], [
    { events: [storage(1, 8), tensor(1, 0, 1), bytes(1, [1, 3]), name("x", 1)] },
    { events: [] },
    { events: [bytes(1, [5, 7])] },
    { events: [name("x", null), gone(1), freed(1)] },
  ]);
  const points = courseOf(trace, 0, "x").map(({ step, spread }) => [step, spread?.mean ?? null]);
  assert.deepEqual(points, [[1, 2], [3, 6], [4, null]]);
});

test("the course of a recorded run is at every step what the state of that step says", () => {
  for (const trace of TRACES) {
    const history = new History(trace);
    const names = [...history.state(trace.steps.length).bindings.keys()].slice(0, 6);
    for (const path of names) {
      const points = courseOf(trace, 0, path);
      for (let step = 1; step <= trace.steps.length; step += Math.max(1, Math.floor(trace.steps.length / 12))) {
        const state = history.state(step);
        const now = state.tensors.get(state.bindings.get(path) ?? -1);
        const of = now === undefined ? null : spreadOf({ ...now, bytes: state.storages.get(now.storage ?? -1)?.bytes ?? null });
        const point = points.findLast((each) => each.step <= step)?.spread ?? null;
        assert.deepEqual([point?.minimum, point?.mean, point?.maximum], [of?.minimum, of?.mean, of?.maximum], `${path} at ${step}`);
      }
    }
  }
});

test("what the lines cost adds up to the whole run", () => {
  for (const trace of TRACES) {
    const costs = costsOf(trace);
    const events = trace.steps.flatMap((step) => step.events);
    const sum = (of: (cost: (typeof costs)[number]) => number): number => costs.reduce((total, cost) => total + of(cost), 0);
    assert.equal(sum((cost) => cost.executions), trace.steps.reduce((total, step) => total + step.executions, 0));
    assert.equal(sum((cost) => cost.operations), events.filter((event) => event.kind === "op").length);
    assert.equal(sum((cost) => cost.copies), events.filter((event) => event.kind === "transfer").length);
    const largest = new Map<number, number>();
    for (const event of events) if (event.kind === "storage") largest.set(event.id, Math.max(event.nbytes, largest.get(event.id) ?? 0));
    assert.ok(sum((cost) => cost.allocated) >= [...largest.values()].reduce((total, each) => total + each, 0));
  }
});

test("what a call did belongs to the lines inside it, and a folded line says that it is not all", () => {
  const trace = traceOf([view([2], [1])], [{ events: [storage(1, 8)] }, { events: [storage(2, 16)] }]);
  const [inner, call] = trace.steps;
  if (inner === undefined || call === undefined) throw new Error("two steps were made");
  const steps = [inner, { ...call, began: 0, first_event: 0, executions: 3 }];
  const costs = costsOf({ ...trace, steps });
  assert.deepEqual(costs.map(({ line, allocated, executions, partial }) => [line, allocated, executions, partial]), [[1, 8, 1, false], [2, 16, 3, true]]);
});
