/**
 * Where things of a page's timeline lie beyond the tracks. Pure: steps and a width in, numbers and paths out.
 *
 * Everything shares the scale of `steps`: column i, from 0, is step i + 1.
 */
import type { Outline, StepOutline } from "../model/outline";
import { ALL, columnAt, gapOf, n, type Scale, type Span } from "./steps";

/** Heights of the rows, in CSS pixels. */
export interface Rows {
  /** Step labels. */
  readonly label: number;
  /** One lane of brackets over calls. */
  readonly lane: number;
  readonly track: number;
  readonly memory: number;
}

export const ROWS: Rows = { label: 20, lane: 5, track: 20, memory: 40 };

/** Columns at least this wide show a line number; the detailed scale never goes below. */
export const DETAILED_COLUMN = 26;
const MOST_LANES = 3;

/** The scale for a width: the whole run in it, or columns wide enough to read. */
export function scaleFor(columns: number, width: number, whole: boolean): Scale {
  const fitting = width / Math.max(1, columns);
  const column = whole ? fitting : Math.max(fitting, DETAILED_COLUMN);
  return { columns, column, width: column * columns };
}

/** The columns seen through a window, and as many on both sides. */
export function spanAround(scale: Scale, left: number, width: number): Span {
  const from = columnAt(scale, left);
  const seen = columnAt(scale, left + width) + 1 - from;
  return { from: Math.max(0, from - seen), to: Math.min(scale.columns, from + 2 * seen) };
}

/** Whether all that is seen through a window is in a span. */
export function covers(span: Span, scale: Scale, left: number, width: number): boolean {
  return span.from <= columnAt(scale, left) && columnAt(scale, left + width) < span.to;
}

/** A call: the columns of the steps it ran and its own. */
export interface Bracket {
  readonly from: number;
  readonly to: number;
  readonly lane: number;
}

/** Brackets over the steps of calls, outermost in the first lane. */
export function brackets(steps: readonly StepOutline[]): Bracket[] {
  return steps
    .filter((step) => step.from < step.number && (steps[step.from - 1]?.depth ?? 0) > step.depth)
    .map((step) => ({ from: step.from - 1, to: step.number - 1, lane: Math.min(step.depth, MOST_LANES - 1) }));
}

/** The brackets of each lane, as one path per lane. */
export function bracketPath(all: readonly Bracket[], lane: number, scale: Scale, y: number, span = ALL): string {
  const gap = gapOf(scale.column);
  let path = "";
  for (const each of all) {
    if (each.lane !== lane || each.to < span.from || each.from >= span.to) continue;
    path += `M${n(each.from * scale.column + gap)} ${n(y)}H${n((each.to + 1) * scale.column - gap)}`;
  }
  return path;
}

export interface MemoryCurve {
  readonly device: string;
  /** The filled area from the device's bytes down to those below it. */
  readonly area: string;
  /** Its upper edge. */
  readonly edge: string;
}

/** Bytes alive after each step, devices stacked, the peak at the top. */
export function memoryCurves(outline: Outline, scale: Scale, top: number, height: number, span = ALL): MemoryCurve[] {
  const y = (bytes: number): number => top + height - (outline.peak === 0 ? 0 : (bytes / outline.peak) * (height - 4));
  let below = new Array<number>(outline.steps.length + 1).fill(0);
  return outline.alive.map(({ device, bytes }) => {
    const above = below.map((base, step) => base + (bytes[step] ?? 0));
    const edge = stairs(above, scale, y, span);
    const back = stairsBack(below, scale, y, span);
    below = above;
    return { device, area: `${edge}${back}z`, edge };
  });
}

function stairs(values: readonly number[], scale: Scale, y: (bytes: number) => number, { from, to }: Span): string {
  const last = Math.min(values.length - 1, to);
  let path = `M${n(from * scale.column)} ${n(y(values[from] ?? 0))}`;
  let before = values[from];
  for (let step = from + 1; step <= last; step += 1) {
    if (values[step] === before) continue;
    path += `H${n((step - 1) * scale.column)}V${n(y(values[step] ?? 0))}`;
    before = values[step];
  }
  return `${path}H${n(last * scale.column)}`;
}

function stairsBack(values: readonly number[], scale: Scale, y: (bytes: number) => number, { from, to }: Span): string {
  const last = Math.min(values.length - 1, to);
  let path = `V${n(y(values[last] ?? 0))}`;
  for (let step = last; step > from + 1; step -= 1) {
    if (values[step] === values[step - 1]) continue;
    path += `H${n((step - 1) * scale.column)}V${n(y(values[step - 1] ?? 0))}`;
  }
  return `${path}H${n(from * scale.column)}`;
}
