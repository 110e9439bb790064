/**
 * A trace as a reader is to see it: with the contents of the unobserved run where watching changed them.
 *
 * Twin of `World.show_unobserved` in `app/schema/replay.py`. The event that wrote such contents last is
 * replaced; nothing else of the trace is touched.
 */
import type { Comparison, ObserverEffect, PlainContents, Trace } from "../schema/trace.gen";
import type { State } from "./state";
import type { TraceEvent } from "./world";

/** What holding a program against an unobserved run of itself has brought. */
export interface Compared {
  readonly comparison: Comparison;
  readonly observer_effects: Trace["observer_effects"];
}

export const NOT_COMPARED: Compared = {
  comparison: { state: "not-compared", reason: "plain-stopped", unsteady: [], nodes: [], contents: [], sentences: [] },
  observer_effects: [] satisfies ObserverEffect[],
};

const OLDER: Comparison = { ...NOT_COMPARED.comparison, reason: "older" };

/** The trace with the contents of the unobserved run. The same trace when there are none. */
export function unobserved(trace: Trace): Trace {
  // An exported trace can be older than comparisons.
  const comparison = trace.comparison as Comparison | undefined;
  if (comparison === undefined) return { ...trace, comparison: OLDER };
  const { contents } = comparison;
  if (contents.length === 0) return trace;
  const steps = [...trace.steps];
  for (const plain of contents) {
    const step = steps[plain.since - 1];
    if (step === undefined) continue;
    const events = [...step.events];
    const at = events.findLastIndex((event) => isOf(event, plain));
    const event = events[at];
    if (event?.kind === "bytes") events[at] = { ...event, data: plain.data };
    if (event?.kind === "values") events[at] = { ...event, values: plain.values, summary: null };
    steps[plain.since - 1] = { ...step, events };
  }
  return { ...trace, steps };
}

function isOf(event: TraceEvent, { storage, tensor }: PlainContents): boolean {
  return (event.kind === "bytes" && event.storage === storage) || (event.kind === "values" && event.tensor === tensor);
}

/** What is shown of a storage at a state comes from the unobserved run. */
export function isUnobserved(trace: Trace, state: State, storage: number): boolean {
  return trace.comparison.contents.some((plain) => state.step >= plain.since && plain.storage === storage);
}
