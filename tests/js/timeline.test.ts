/** What a run looks like as a whole: jumps, calls, and where the timeline draws them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { TransferLife } from "../../static/src/layout/lives";
import { stackOf, together } from "../../static/src/layout/stack";
import { columnAt, trackPath } from "../../static/src/layout/steps";
import { arrowPath, arrowsOf, bracketPath, brackets, covers, foldedOf, scaleFor, spanAround } from "../../static/src/layout/timeline";
import { nextChange, nextExecution, outlineOf, stepOfLine } from "../../static/src/model/outline";
import type { Layer } from "../../static/src/model/state";
import type { Statement, Step, Trace } from "../../static/src/schema/trace.gen";

const SOURCE = "def f(h):\n    return h + 1\nfor i in range(2):\n    y = f(x)\n";

function statement(kind: string, line: number, column: number, end: number): Statement {
  return { kind, range: { line, column, end_line: line, end_column: end } };
}

function step(of: number, depth: number, began: number, lamps: Layer[] = [], more: Partial<Step> = {}): Step {
  const plain = { frame: depth, first_event: 0, executions: 1, fold: null, raised: false, changed: {}, peak_bytes: {}, events: [] };
  return { statement: of, depth, began, lamps, ...plain, ...more };
}

/** def, for, (return, y =) twice, for: the loop's line ends last. */
const TRACE = {
  source: SOURCE,
  statements: [statement("FunctionDef", 1, 0, 8), statement("Return", 2, 4, 16), statement("For", 3, 0, 17), statement("Assign", 4, 4, 12)],
  names: [],
  views: [],
  ranges: [],
  sites: [],
  steps: [
    step(0, 0, 0),
    step(2, 0, 1),
    step(1, 1, 2, ["data"]),
    step(3, 0, 2, ["data", "autograd"]),
    step(2, 0, 4),
    step(1, 1, 5, ["data"]),
    step(3, 0, 5, ["data", "autograd"]),
    step(2, 0, 7),
  ],
} as unknown as Trace;

const outline = outlineOf(TRACE);

test("a click on a line goes to its next execution, after the last to the first", () => {
  assert.equal(nextExecution(outline, 0, 4), 4);
  assert.equal(nextExecution(outline, 4, 4), 7);
  assert.equal(nextExecution(outline, 7, 4), 4);
  assert.equal(nextExecution(outline, 0, 99), null);
});

test("the last execution of a line at or before a step, else its first", () => {
  assert.equal(stepOfLine(outline, 4), 7);
  assert.equal(stepOfLine(outline, 4, 6), 4);
  assert.equal(stepOfLine(outline, 4, 1), 4);
});

test("the next change in a layer comes after the step, and not at it", () => {
  assert.equal(nextChange(outline, 4, "autograd"), 7);
  assert.equal(nextChange(outline, 7, "autograd"), null);
  assert.equal(nextChange(outline, 0, "device"), null);
});

test("a step in a function is inside the line that called it, which ends later", () => {
  assert.deepEqual(outline.callers(3).map((each) => each.number), [4]);
  assert.deepEqual(outline.callers(6).map((each) => each.number), [7]);
  assert.deepEqual(outline.callers(4), []);
});

test("passes of a line are counted, and a def is named by its whole header", () => {
  assert.deepEqual(outline.steps.map((each) => each.pass), [1, 1, 1, 1, 2, 2, 2, 3]);
  assert.equal(outline.steps[0]?.text, "def f(h):");
  assert.equal(outline.steps[3]?.text, "y = f(x)");
});

test("calls are brackets over their steps; a loop is none", () => {
  assert.deepEqual(brackets(outline.steps), [
    { from: 2, to: 3, lane: 0 },
    { from: 5, to: 6, lane: 0 },
  ]);
  assert.match(bracketPath(brackets(outline.steps), 0, scaleFor(8, 800, true), 5), /^M206 5H394M506 5H694$/);
});

test("a short run fills the width, a long one keeps columns that can be read", () => {
  assert.equal(scaleFor(10, 1000, false).column, 100);
  assert.equal(scaleFor(2000, 1000, true).column, 0.5);
  assert.equal(scaleFor(2000, 1000, false).column, 26);
});

test("a point beside the steps belongs to the first or the last", () => {
  const scale = scaleFor(10, 1000, true);

  assert.deepEqual([-5, 0, 99, 100, 999, 5000].map((x) => columnAt(scale, x)), [0, 0, 0, 1, 9, 9]);
});

test("steps too narrow to tell apart are drawn as one bar per run", () => {
  const narrow = trackPath(outline.steps, "data", scaleFor(8, 8, true), 0, 14);
  const wide = trackPath(outline.steps, "data", scaleFor(8, 800, true), 0, 14);

  assert.equal(narrow.match(/M/g)?.length, 2);
  assert.equal(wide.match(/M/g)?.length, 4);
});

test("of a run wider than the window, what is near the window is drawn, where it stands in the whole run", () => {
  const scale = scaleFor(1000, 520, false);
  assert.equal(scale.column, 26);
  const span = spanAround(scale, 2600, 520);
  assert.deepEqual(span, { from: 79, to: 142 });
  assert.ok(covers(span, scale, 2600, 520) && covers(span, scale, 79 * 26, 520) && covers(span, scale, 121 * 26, 520));
  assert.ok(!covers(span, scale, 78 * 26, 520) && !covers(span, scale, 122 * 26, 520));
  assert.deepEqual(spanAround(scale, 0, 520), { from: 0, to: 42 });
  assert.deepEqual(spanAround(scale, scale.width - 520, 520), { from: 960, to: 1000 });
  assert.ok(covers({ from: 960, to: 1000 }, scale, scale.width - 520, 520));

  const { steps } = outlineOf(TRACE);
  const narrow = scaleFor(steps.length, 100, false);
  const whole = trackPath(steps, "data", narrow, 0, 10);
  const parts = [{ from: 0, to: 3 }, { from: 3, to: steps.length }].map((part) => trackPath(steps, "data", narrow, 0, 10, part));
  assert.ok(parts.every((part) => part !== ""));
  assert.equal(parts.join(""), whole);
  const calls = brackets(steps);
  assert.equal(bracketPath(calls, 0, narrow, 3, { from: 0, to: 2 }), "");
  assert.equal(bracketPath(calls, 0, narrow, 3, { from: 2, to: 3 }), bracketPath(calls.slice(0, 1), 0, narrow, 3));
});

const HELD = {
  device: "cpu",
  kinds: { named: [0, 4, 4, 4, 2], optimizer: [0, 0, 0, 0, 0], gradient: [0, 0, 0, 0, 0], saved: [0, 0, 4, 0, 0], other: [0, 0, 0, 0, 0] },
  total: [0, 4, 8, 4, 2],
  within: [0, 4, 8, 16, 2],
  peak: { bytes: 16, step: 3, within: true },
};
const TENS = { columns: 4, column: 10, width: 40 };

test("kinds of holders are stacked, and what was alive while a step ran only stands above it", () => {
  const { bands, edge, within } = stackOf(HELD, TENS, { top: 0, height: 20, most: 16 });
  assert.deepEqual(bands.map(({ kind }) => kind), ["named", "saved"]);
  assert.equal(edge, "M0 20H0V16H10V12H20V16H30V18H40");
  assert.equal(bands[0]?.area, "M0 20H0V16H30V18H40V20H0z");
  assert.equal(bands[1]?.area, "M0 20H0V16H10V12H20V16H30V18H40V18H30V16H0z");
  assert.equal(within, "M20 16V4h10V16z");
  const part = stackOf(HELD, TENS, { top: 0, height: 20, most: 16 }, { from: 1, to: 3 });
  assert.equal(part.edge, "M10 16H10V12H20V16H30");
});

test("of several devices the bytes add up, and the peak is that of their sum", () => {
  const other = { ...HELD, device: "cuda:0", total: [0, 0, 0, 8, 8], within: [0, 0, 0, 8, 8], kinds: { ...HELD.kinds, named: [0, 0, 0, 8, 8], saved: [0, 0, 0, 0, 0] } };
  const both = together([HELD, other]);
  assert.deepEqual(both.total, [0, 4, 8, 12, 10]);
  assert.deepEqual(both.kinds.named, [0, 4, 4, 12, 10]);
  assert.deepEqual(both.peak, { bytes: 12, step: 3, within: false });
  assert.equal(together([HELD]), HELD);
});

test("copies of one step that go one way are one arrow, with the bytes of both", () => {
  const copy = (step: number, from: string, to: string, nbytes: number): TransferLife => {
    return { step, line: step, source: 1, target: 2, from, to, sourceName: "x", targetName: "y", sourceOrigin: null, targetOrigin: null, nbytes };
  };
  const lanes = new Map([["cpu", { top: 0, bottom: 20 }], ["cuda:0", { top: 40, bottom: 60 }]]);
  const arrows = arrowsOf([copy(2, "cpu", "cuda:0", 8), copy(2, "cpu", "cuda:0", 4), copy(2, "cuda:0", "cpu", 2), copy(3, "cpu", "meta", 9)], TENS, lanes);
  assert.deepEqual(arrows.map(({ nbytes, from, to, x }) => [nbytes, from, to, x]), [[12, 20, 40, 15], [2, 40, 20, 17.5]]);
  assert.ok(arrowPath(arrows[0] ?? assert.fail()).startsWith("M15 20V40M11 35L15 40L19 35"));
});

test("folded iterations of a loop are one stretch, and say how many they stand for", () => {
  const fold = { loop: 1, first: 4, last: 97 };
  const steps = outlineOf({ ...TRACE, steps: TRACE.steps.map((each, at) => (at === 4 || at === 6 ? { ...each, fold, executions: 94 } : each)) }).steps;
  assert.deepEqual(foldedOf(steps), [{ from: 4, to: 6, first: 4, last: 97 }]);
  assert.deepEqual(foldedOf(outline.steps), []);
});
