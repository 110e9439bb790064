import assert from "node:assert/strict";
import { test } from "node:test";
import { focusOnByte, lookingAt, readingsOf } from "../../static/src/layout/focus";
import { History } from "../../static/src/model/history";
import { NO_FOCUS } from "../../static/src/model/state";
import { bytes, name, storage, tensor, traceOf, view } from "./small-trace";

const X = 1;
const Z = 2;
const S = 1;

/** `x` of 3 × 4, then `z = x[1:, ::2]`, then `z.mul_(10)`. */
const trace = traceOf(
  [view([3, 4], [4, 1]), view([2, 2], [4, 2], 4)],
  [
    { events: [storage(S, 48), tensor(X, 0, S), name("x", X), bytes(S, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11])], changed: { x: ["new"] } },
    { events: [tensor(Z, 1, S), name("z", Z)], changed: { z: ["new"] } },
    {
      events: [tensor(X, 0, S, 1), tensor(Z, 1, S, 1), bytes(S, [0, 1, 2, 3, 40, 5, 60, 7, 80, 9, 100, 11])],
      changed: { x: ["data"], z: ["data"] },
    },
  ],
);
const history = new History(trace);
const looking = (step: number, focus = NO_FOCUS) => lookingAt(history.state(step), focus, trace.steps[step - 1]);

test("without a focus it looks at what the step made, or wrote through", () => {
  assert.deepEqual(looking(0), { storage: null, tensor: null, index: null, byte: null });
  assert.deepEqual(looking(1), { storage: S, tensor: X, index: [2, 3], byte: 44 });
  assert.equal(looking(2).tensor, Z);
  assert.deepEqual(looking(3), { storage: S, tensor: Z, index: [1, 1], byte: 40 });
});

test("a focused element wins, an index that does not fit does not", () => {
  assert.deepEqual(looking(3, { ...NO_FOCUS, tensor: X, index: [1, 2] }), { storage: S, tensor: X, index: [1, 2], byte: 24 });
  assert.deepEqual(looking(3, { ...NO_FOCUS, tensor: Z, index: [2, 0] }).index, [1, 1]);
  assert.equal(looking(1, { ...NO_FOCUS, tensor: Z }).tensor, X, "z is not there yet");
});

test("pointing at a byte stays with the tensor looked at where it reads it", () => {
  const state = history.state(3);
  assert.deepEqual(focusOnByte(state, S, 40, Z), { storage: S, tensor: Z, index: [1, 1] });
  assert.deepEqual(focusOnByte(state, S, 4, Z), { storage: S, tensor: X, index: [0, 1] });
  const readings = readingsOf(state, [...state.storages.values()][0] ?? assert.fail(), 40);
  assert.deepEqual(readings.map((reading) => [reading.tensor.id, reading.index]), [[X, [2, 2]], [Z, [1, 1]]]);
});

test("a byte that no tensor reads can be pointed at all the same", () => {
  const only = traceOf(
    [view([2], [1], 1)],
    [{ events: [storage(S, 16), tensor(Z, 0, S), name("z", Z)], changed: { z: ["new"] } }],
  );
  const state = new History(only).state(1);
  const focus = { ...NO_FOCUS, ...focusOnByte(state, S, 12, Z) };
  assert.deepEqual(lookingAt(state, focus, only.steps[0]), { storage: S, tensor: null, index: null, byte: 12 });
});

test("where the program raised it looks at what the error is about", () => {
  const raised = { ...trace, explanation: { class: "view-stride", line: 3, caused_by: null, operands: ["x"], sentences: [], fixes: [] } };
  const at = (step: number) => lookingAt(history.state(step), NO_FOCUS, trace.steps[step - 1], raised).tensor;
  assert.deepEqual([at(2), at(3)], [Z, X]);
});
