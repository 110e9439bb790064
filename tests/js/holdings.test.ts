/** Who keeps the bytes that are alive: the quick pass over a whole trace says what each state says. */
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { HOLDER_KINDS, holdingsOf, kindsAt, type HolderKind } from "../../static/src/layout/holdings";
import { History } from "../../static/src/model/history";
import { outlineOf } from "../../static/src/model/outline";
import type { Trace } from "../../static/src/schema/trace.gen";
import { gone, storage, traceOf, view, type TraceEvent } from "./small-trace";

const FOLDER = "app/lessons/recorded";
const RECORDED = readdirSync(FOLDER).filter((name) => name.endsWith(".json") && name.includes("."));

test("after every step of every recording the kinds are those of the state's storages", () => {
  let compared = 0;
  const seen = new Set<HolderKind>();
  for (const name of RECORDED) {
    const trace = JSON.parse(readFileSync(join(FOLDER, name), "utf8")) as Trace;
    if (!Array.isArray(trace.steps)) continue;
    const [outline, history] = [outlineOf(trace), new History(trace)];
    const holdings = holdingsOf(trace, outline);
    for (let step = 0; step <= trace.steps.length; step += 1) {
      const state = history.state(step);
      const kindOf = kindsAt(state);
      for (const { device, kinds, total } of holdings) {
        const sums: Record<HolderKind, number> = { named: 0, optimizer: 0, gradient: 0, saved: 0, other: 0 };
        for (const storage of state.storages.values()) {
          if (!storage.freed && storage.device === device) sums[kindOf(storage)] += storage.nbytes;
        }
        const all = HOLDER_KINDS.reduce((sum, kind) => sum + sums[kind], 0);
        assert.equal(total[step], state.alive.get(device) ?? 0);
        assert.equal(HOLDER_KINDS.reduce((sum, kind) => sum + (kinds[kind][step] ?? 0), 0), total[step], `${name} step ${step}`);
        if (all !== total[step]) continue;
        for (const kind of HOLDER_KINDS) {
          assert.equal(kinds[kind][step], sums[kind], `${name} step ${step} ${device} ${kind}`);
          if (sums[kind] > 0) seen.add(kind);
        }
        compared += 1;
      }
    }
  }
  assert.ok(compared > 300, `${compared} states`);
  assert.ok(["named", "gradient", "saved"].every((kind) => seen.has(kind as HolderKind)), [...seen].join());
});

test("what an optimizer keeps, what only the graph keeps, and what nothing is known to keep are told apart", () => {
  const node = (id: number, saved: number, next: number | null): TraceEvent => ({
    kind: "node", id, name: 1, line: 1, next_functions: next === null ? [] : [[next, 0]], variable: null,
    saved: [{ field: "self", tensor: null, storage: saved, version: 0 }],
  });
  const paths = (root: string, found: Record<string, number>): TraceEvent => ({ kind: "names", frame: 0, root, paths: found });
  const made = (id: number, gradFn: number | null = null, grad: number | null = null): TraceEvent => ({
    kind: "tensor", id, view: 0, storage: id, version: 0, grad_fn: gradFn, grad, quantizer: null,
  });
  const trace = traceOf(
    [view([1], [1])],
    [
      { events: [1, 2, 3, 4, 5].map((id) => storage(id, 2 ** (id - 1))) },
      // w with its gradient 2, a moment 3, y whose graph keeps 4 over two nodes, and 5 of which nothing is known.
      { events: [made(1, null, 2), made(2), made(3), made(5), paths("w", { w: 1 }), paths("opt", { "opt.state[w]['exp_avg']": 3 })] },
      { events: [storage(6, 32), node(7, 4, null), node(8, 6, 7), made(6, 8), paths("y", { y: 6 })] },
      { events: [{ kind: "saved-freed", nodes: [7] }] },
      { events: [paths("y", {}), gone(6)] },
    ],
  );
  const [cpu] = holdingsOf(trace, outlineOf(trace));
  const at = (kind: HolderKind): readonly number[] => cpu?.kinds[kind] ?? [];
  assert.deepEqual(at("optimizer"), [0, 0, 4, 4, 4, 4]);
  assert.deepEqual(at("gradient"), [0, 0, 2, 2, 2, 2]);
  assert.deepEqual(at("saved"), [0, 0, 0, 8, 0, 0]);
  assert.deepEqual(at("named"), [0, 0, 1, 33, 33, 1]);
  assert.deepEqual(at("other"), [0, 31, 24, 16, 24, 56]);
});
