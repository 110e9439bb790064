/** Who keeps the bytes that are alive: the quick pass over a whole trace says what each state says. */
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { HOLDER_KINDS, holdingsOf, kindOf, type HolderKind } from "../../static/src/layout/holdings";
import { History } from "../../static/src/model/history";
import { outlineOf } from "../../static/src/model/outline";
import type { Trace } from "../../static/src/schema/trace.gen";

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
      for (const { device, kinds, total } of holdings) {
        const sums: Record<HolderKind, number> = { named: 0, optimizer: 0, gradient: 0, saved: 0, other: 0 };
        for (const storage of state.storages.values()) {
          if (!storage.freed && storage.device === device) sums[kindOf(state, storage)] += storage.nbytes;
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
