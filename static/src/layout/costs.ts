/**
 * What each line of a program cost, as far as it was observed: executions, operations, bytes, copies.
 *
 * Every event belongs to the innermost statement that it happened in, so that the lines add up to the whole
 * run and a call is not counted twice. Of iterations that were folded only the executions are known: what else
 * a line cost there is missing, and `partial` says so. Time is not recorded, so there is none here.
 */
import type { Trace } from "../schema/trace.gen";

export interface LineCost {
  readonly line: number;
  readonly executions: number;
  readonly operations: number;
  /** Storages made or made larger. */
  readonly storages: number;
  readonly allocated: number;
  /** Device → most bytes alive at once while the line ran. */
  readonly peak: ReadonlyMap<string, number>;
  /** Copies between devices. */
  readonly copies: number;
  readonly copied: number;
  /** At least so much: some of its executions were folded. */
  readonly partial: boolean;
}

type Counted = { -readonly [K in keyof LineCost]: LineCost[K] } & { peak: Map<string, number> };

/** The lines that ran, in the order of the program. */
export function costsOf(trace: Trace): readonly LineCost[] {
  const stream = trace.steps.flatMap((step) => step.events);
  const claimed = new Uint8Array(stream.length);
  const sizes = new Map<number, number>();
  const lines = new Map<number, Counted>();
  let end = 0;
  for (const step of trace.steps) {
    end += step.events.length;
    const line = trace.statements[step.statement]?.range.line;
    if (line === undefined) continue;
    const cost = lines.get(line) ?? empty(line);
    lines.set(line, cost);
    cost.executions += step.executions;
    cost.partial ||= step.executions > 1;
    for (const [device, bytes] of Object.entries(step.peak_bytes)) {
      cost.peak.set(device, Math.max(bytes, cost.peak.get(device) ?? 0));
    }
    for (let at = step.first_event; at < end; at += 1) {
      if (claimed[at] === 1) continue;
      claimed[at] = 1;
      const event = stream[at];
      if (event?.kind === "op") cost.operations += 1;
      else if (event?.kind === "storage") allocate(cost, sizes, event.id, event.nbytes);
      else if (event?.kind === "transfer") {
        cost.copies += 1;
        cost.copied += event.nbytes;
      }
    }
  }
  return [...lines.values()].sort((a, b) => a.line - b.line);
}

function empty(line: number): Counted {
  return { line, executions: 0, operations: 0, storages: 0, allocated: 0, peak: new Map(), copies: 0, copied: 0, partial: false };
}

/** Only what is new is an allocation: a storage may be told of again with the size it has. */
function allocate(cost: Counted, sizes: Map<number, number>, id: number, nbytes: number): void {
  const before = sizes.get(id) ?? 0;
  sizes.set(id, nbytes);
  if (nbytes <= before) return;
  cost.storages += 1;
  cost.allocated += nbytes - before;
}
