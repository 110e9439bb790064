// How much work something takes, in a unit that is measured beside it: a limit in milliseconds would fail on a
// slow or busy machine. Limits are far above what is measured; they notice a cost that grows out of hand.

import assert from "node:assert/strict";

/** Milliseconds for a fixed piece of plain work: about ten on a machine of 2024. */
function unitMs(): number {
  const began = performance.now();
  const texts = new Map<number, string>();
  let letters = 0;
  for (let i = 0; i < 150_000; i++) {
    texts.set(i % 1000, `x${i}`);
    letters += texts.get(i % 1000)?.length ?? 0;
  }
  assert.equal(letters, 938_890);
  return performance.now() - began;
}

/** What `work` gives, which may take no more than so many units. */
export function atMost<T>(units: number, work: () => T): T {
  unitMs(); // compiled from here on
  const before = unitMs();
  const began = performance.now();
  const made = work();
  const took = performance.now() - began;
  const unit = Math.max(before, unitMs());
  assert.ok(took < units * unit, `${Math.round(took / unit)} units of ${unit.toFixed(1)} ms, not ${units}`);
  return made;
}
