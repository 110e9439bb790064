/** Into, over and out of calls, and the stack at a step, of a program with a call inside a call. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { functionsOf, hasCalls, stackOf, stepInto, stepOut, stepOver } from "../../static/src/model/calls";
import { outlineOf } from "../../static/src/model/outline";
import type { Trace } from "../../static/src/schema/trace.gen";
import { traceOf, type TraceEvent } from "./small-trace";

const call = (frame: number, name: string): TraceEvent => ({ kind: "call", frame, function: name });
const left = (frame: number): TraceEvent => ({ kind: "return", frame });

/** Line 1, then line 6 that calls `outer`: line 2, line 5 that calls `inner` (3, 4); then line 7. */
function nested(): Trace {
  const plan = [
    { line: 1, frame: 0, depth: 0, began: 0, events: [] },
    { line: 2, frame: 1, depth: 1, began: 1, events: [call(1, "outer")] },
    { line: 3, frame: 2, depth: 2, began: 2, events: [call(2, "outer.<locals>.inner")] },
    { line: 4, frame: 2, depth: 2, began: 3, events: [] },
    { line: 5, frame: 1, depth: 1, began: 2, events: [left(2)] },
    { line: 6, frame: 0, depth: 0, began: 1, events: [left(1)] },
    { line: 7, frame: 0, depth: 0, began: 6, events: [] },
  ];
  const trace = traceOf([], plan.map(({ events }) => ({ events })));
  return { ...trace, steps: trace.steps.map((step, i) => ({ ...step, ...plan[i], statement: (plan[i]?.line ?? 1) - 1 })) };
}

const trace = nested();
const outline = outlineOf(trace);

test("a program with calls of its own has them, a plain one has none", () => {
  assert.equal(hasCalls(outline), true);
  assert.equal(hasCalls(outlineOf(traceOf([], [{ events: [] }]))), false);
});

test("into goes to the first line of what the shown line called, and not to what that called", () => {
  assert.equal(stepInto(outline, 6), 2);
  assert.equal(stepInto(outline, 5), 3);
});

test("into, from the line before a call, goes into that call", () => {
  assert.equal(stepInto(outline, 1), 2);
  assert.equal(stepInto(outline, 2), 3);
  assert.equal(stepInto(outline, 7), null);
});

test("over takes all that a line calls as one", () => {
  assert.equal(stepOver(outline, 0), 1);
  assert.equal(stepOver(outline, 1), 6);
  assert.equal(stepOver(outline, 2), 5);
  assert.equal(stepOver(outline, 4), 5);
  assert.equal(stepOver(outline, 7), null);
});

test("out goes to the line that called", () => {
  assert.equal(stepOut(outline, 3), 5);
  assert.equal(stepOut(outline, 2), 6);
  assert.equal(stepOut(outline, 6), null);
});

test("the stack has the module first, each frame with the line it is at", () => {
  const functions = functionsOf(trace);
  const seen = (step: number): unknown => stackOf(trace, outline, step, functions).map((each) => [each.function, each.line, each.step]);

  assert.deepEqual(seen(3), [[null, 6, 6], ["outer", 5, 5], ["inner", 3, 3]]);
  assert.deepEqual(seen(6), [[null, 6, 6]]);
  assert.deepEqual(seen(0), [[null, null, null]]);
});

test("a run cut short inside a call still shows its stack", () => {
  const cut = { ...trace, steps: trace.steps.slice(0, 3) };
  const seen = stackOf(cut, outlineOf(cut), 3, functionsOf(cut)).map((each) => [each.function, each.line]);

  assert.deepEqual(seen, [[null, null], ["inner", 3]]);
});
