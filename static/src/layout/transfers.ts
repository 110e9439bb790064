/**
 * Copies between devices with all that is known of them, and what allocators said of themselves.
 *
 * One pass over a trace. The copies are those of `lives`, in the same order. No DOM, no colour.
 */
import type { AllocatorFigures, SourceRange, Trace } from "../schema/trace.gen";
import type { Lives, TransferLife } from "./lives";
import { linesOf } from "../model/outline";

/** A copy between devices. */
export interface Copy extends TransferLife {
  readonly sourceStorage: number | null;
  readonly targetStorage: number | null;
  /** The source was made by `pin_memory()`. */
  readonly pinned: boolean;
  /** The statement says `non_blocking=True`. */
  readonly nonBlocking: boolean;
}

/** What the allocator of a device said at the end of a step. */
export interface Told {
  readonly step: number;
  readonly figures: AllocatorFigures;
}

export interface Traffic {
  readonly copies: readonly Copy[];
  /** Per device, in the order of the steps. */
  readonly allocators: ReadonlyMap<string, readonly Told[]>;
}

const ASKED = /non_blocking\s*=\s*True/;

/** Reads the traffic of a trace. */
export function trafficOf(trace: Trace, lives: Lives): Traffic {
  const storageOf = new Map<number, number>();
  const pinned = new Set<number>();
  const allocators = new Map<string, Told[]>();
  const copies: Copy[] = [];
  const lines = linesOf(trace.source);
  trace.steps.forEach((step, index) => {
    const first = copies.length;
    for (const event of step.events) {
      if (event.kind === "tensor" && event.storage !== null) storageOf.set(event.id, event.storage);
      else if (event.kind === "op") pin(trace, event.site, event.outputs, pinned);
      else if (event.kind === "allocator") {
        const known = allocators.get(event.device);
        if (known === undefined) allocators.set(event.device, [{ step: index + 1, figures: event }]);
        else known.push({ step: index + 1, figures: event });
      } else if (event.kind === "transfer") {
        const life = lives.transfers[copies.length];
        const range = trace.statements[step.statement]?.range;
        if (life === undefined) continue;
        const nonBlocking = range !== undefined && ASKED.test(textOf(lines, range));
        copies.push({ ...life, sourceStorage: storageOf.get(life.source) ?? null, targetStorage: null, pinned: pinned.has(life.source), nonBlocking });
      }
    }
    // What a step made is described after the copy: at its end it is known.
    for (let at = first; at < copies.length; at += 1) {
      const copy = copies[at];
      if (copy === undefined) continue;
      const [before, now] = [copy.sourceStorage, storageOf.get(copy.source) ?? null];
      // `module.to()` gives the tensor itself the storage of the copy.
      const moved = before !== null && now !== before ? now : null;
      copies[at] = { ...copy, sourceStorage: before ?? now, targetStorage: storageOf.get(copy.target) ?? moved };
    }
  });
  return { copies, allocators };
}

function pin(trace: Trace, site: number, outputs: readonly number[], pinned: Set<number>): void {
  const api = trace.sites[site]?.api ?? null;
  if (api !== null && /(^|\.)pin_memory$/.test(trace.names[api] ?? "")) for (const id of outputs) pinned.add(id);
}

function textOf(lines: readonly string[], { line, end_line }: SourceRange): string {
  return lines.slice(line - 1, end_line).join("\n");
}

/** A block of a segment, as parts of it. */
export interface Block {
  readonly from: number;
  readonly share: number;
  readonly bytes: number;
  readonly free: boolean;
}

/** A piece of a device's memory that its allocator took. */
export interface Segment {
  readonly bytes: number;
  readonly used: number;
  readonly blocks: readonly Block[];
}

/** The segments of an allocator; null where it was not asked. */
export function segmentsOf({ blocks }: AllocatorFigures): Segment[] | null {
  if (blocks == null) return null;
  return blocks.map((sizes) => {
    const bytes = sizes.reduce((sum, size) => sum + Math.abs(size), 0);
    let from = 0;
    let used = 0;
    const parts = sizes.map((size): Block => {
      const share = Math.abs(size) / bytes;
      const block = { from, share, bytes: Math.abs(size), free: size < 0 };
      from += share;
      if (size > 0) used += size;
      return block;
    });
    return { bytes, used, blocks: parts };
  });
}

/** The largest request that the free blocks of what is reserved could serve. */
export function largestFree(segments: readonly Segment[]): number {
  return Math.max(0, ...segments.flatMap(({ blocks }) => blocks.filter(({ free }) => free).map(({ bytes }) => bytes)));
}
