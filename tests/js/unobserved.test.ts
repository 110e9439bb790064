import assert from "node:assert/strict";
import { test } from "node:test";
import { History } from "../../static/src/model/history";
import { isUnobserved, unobserved } from "../../static/src/model/unobserved";
import type { PlainContents, Trace } from "../../static/src/schema/trace.gen";
import { bytes, name, storage, tensor, traceOf, view } from "./small-trace";

const made = [storage(1, 8), tensor(1, 0, 1), bytes(1, [1, 2]), name("x", 1)];
const small = traceOf([view([2], [1])], [{ events: made }, { events: [bytes(1, [3, 4])] }]);
const plain = new Float32Array([3, 4.5]);

function compared(contents: PlainContents[]): Trace {
  return { ...small, comparison: { ...small.comparison, state: "differs", contents } };
}

test("values that watching changed are shown as the unobserved run has them, from the step that wrote them", () => {
  const data = Buffer.from(plain.buffer).toString("base64");
  const trace = unobserved(compared([{ storage: 1, tensor: null, since: 2, data, values: null as unknown as PlainContents["values"] }]));
  const shown = new History(trace);
  const floats = (step: number): number[] => [...new Float32Array(shown.state(step).storages.get(1)?.bytes?.slice().buffer ?? new ArrayBuffer(0))];

  assert.deepEqual(floats(1), [1, 2]);
  assert.deepEqual(floats(2), [3, 4.5]);
  assert.ok(isUnobserved(trace, shown.state(2), 1));
  assert.ok(!isUnobserved(trace, shown.state(1), 1));
});

test("a trace without such values is shown as it is", () => {
  assert.equal(unobserved(small), small);
});

test("a trace older than comparisons was not compared", () => {
  const { comparison: _, ...older } = small;

  assert.equal(unobserved(older as Trace).comparison.state, "not-compared");
});
