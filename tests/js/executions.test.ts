/** Which execution of a line a step shows, and what that one lit. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Executions } from "../../static/src/model/executions";
import { outlineOf } from "../../static/src/model/outline";
import type { Layer } from "../../static/src/model/state";
import { traceOf } from "./small-trace";

/** Steps as [line, lamps, executions]. */
function executions(...steps: readonly (readonly [number, readonly Layer[], number?])[]): Executions {
  const trace = traceOf([], steps.map(() => ({ events: [] })));
  const made = trace.steps.map((step, i) => ({ ...step, statement: (steps[i]?.[0] ?? 1) - 1, lamps: [...(steps[i]?.[1] ?? [])], executions: steps[i]?.[2] ?? 1 }));
  return new Executions(outlineOf({ ...trace, steps: made }));
}

const shown = (all: Executions, line: number, step: number): unknown => {
  const found = all.at(line, step);
  return found === null ? null : [found.pass, found.of, [...found.lamps]];
};

test("the execution shown is the last one up to the step, with its own lamps", () => {
  const all = executions([1, []], [2, ["data"]], [1, []], [2, ["autograd"]], [2, []]);

  assert.deepEqual(shown(all, 2, 1), [0, 3, []]);
  assert.deepEqual(shown(all, 2, 2), [1, 3, ["data"]]);
  assert.deepEqual(shown(all, 2, 3), [1, 3, ["data"]]);
  assert.deepEqual(shown(all, 2, 4), [2, 3, ["autograd"]]);
  assert.deepEqual(shown(all, 2, 5), [3, 3, []]);
  assert.equal(shown(all, 3, 5), null);
});

test("folded executions count", () => {
  const all = executions([1, ["data"]], [1, ["data"], 94], [1, []]);

  assert.deepEqual(shown(all, 1, 2), [95, 96, ["data"]]);
  assert.deepEqual(shown(all, 1, 3), [96, 96, []]);
});
