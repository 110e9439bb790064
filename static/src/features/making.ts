/** Which piece of the program made each tensor: the range of the first op that gave it out. */
import type { SourceRange, Trace } from "../schema/trace.gen";

export type Places = ReadonlyMap<number, SourceRange>;

const known = new WeakMap<Trace, Places>();

/** Tensor id → the piece of the program that made it; none for what no op that is told of made. */
export function placesOf(trace: Trace): Places {
  const found = known.get(trace) ?? read(trace);
  known.set(trace, found);
  return found;
}

function read(trace: Trace): Places {
  const places = new Map<number, SourceRange>();
  for (const { events } of trace.steps) {
    for (const event of events) {
      if (event.kind !== "op") continue;
      const range = trace.sites[event.site]?.range ?? null;
      const place = range === null ? undefined : trace.ranges[range];
      if (place === undefined) continue;
      for (const output of event.outputs) {
        // What an in-place op gives out was made before; an op inside a library is told at the reader's line.
        if (!event.inputs.includes(output) && !places.has(output)) places.set(output, place);
      }
    }
  }
  return places;
}
