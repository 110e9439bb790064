/**
 * Where things of a page's timeline lie beyond the tracks. Pure: steps and a width in, numbers and paths out.
 *
 * Everything shares the scale of `steps`: column i, from 0, is step i + 1.
 */
import type { StepOutline } from "../model/outline";
import type { Life, Stretch } from "./life";
import type { TransferLife } from "./lives";
import { ALL, columnAt, gapOf, n, type Scale, type Span } from "./steps";

/** Heights of the rows, in CSS pixels. */
export interface Rows {
  /** Step labels. */
  readonly label: number;
  /** One lane of brackets over calls. */
  readonly lane: number;
  readonly track: number;
  /** All devices as one; and a lane of one device, with the gap that copies cross. */
  readonly memory: number;
  readonly device: number;
  readonly alone: number;
  readonly gap: number;
  /** The life of one storage. */
  readonly life: number;
}

export const ROWS: Rows = { label: 20, lane: 5, track: 18, memory: 40, device: 64, alone: 120, gap: 16, life: 24 };

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

/** Iterations of one loop that were folded: the columns of their steps, and how many iterations those stand for. */
export interface Folded {
  readonly from: number;
  readonly to: number;
  readonly first: number;
  readonly last: number;
}

/** Runs of folded steps, one per loop and stretch of iterations. */
export function foldedOf(steps: readonly StepOutline[]): Folded[] {
  const found: { from: number; to: number; first: number; last: number; loop: number | null }[] = [];
  for (const { number, iterations } of steps) {
    if (iterations === null) continue;
    const { first, last, loop } = iterations;
    const run = found.findLast((each) => each.loop === loop && each.first === first && each.last === last);
    if (run === undefined) found.push({ from: number - 1, to: number - 1, first, last, loop });
    else run.to = number - 1;
  }
  return found.map(({ from, to, first, last }) => ({ from, to, first, last }));
}

/** From where to where a stretch of steps is drawn: it begins with the step that ends with it there. */
function ends({ born, gone }: Stretch, scale: Scale): readonly [number, number] {
  return [(born - 1) * scale.column, Math.min(scale.columns, gone - 1) * scale.column];
}

/** The life of a storage as paths: the time it is there, the time it is shared, each name, each write. */
export interface LifePaths {
  readonly there: string;
  readonly shared: string;
  readonly names: readonly { readonly mark: number; readonly d: string }[];
  readonly writes: string;
}

const THICK = 7;
const MOST_NAMES = 5;

/** Draws a life in a row: the storage above, its names below. */
export function lifePaths(life: Life, scale: Scale, top: number): LifePaths {
  const box = (stretch: Stretch, y: number, height: number): string => {
    const [left, right] = ends(stretch, scale);
    return `M${n(left)} ${n(y)}H${n(Math.max(left + 1.5, right))}v${height}H${n(left)}z`;
  };
  const rows = new Map<string, number>();
  for (const { name } of life.names) if (!rows.has(name) && rows.size < MOST_NAMES) rows.set(name, rows.size);
  const names = life.names.flatMap(({ mark, name, ...stretch }) => {
    const row = rows.get(name);
    return row === undefined ? [] : [{ mark, d: box(stretch, top + THICK + 2 + row * 2.6, 2) }];
  });
  const writes = [life.born, ...life.writes].map((step) => {
    const x = (step - 0.5) * scale.column;
    return `M${n(x)} ${n(top - 2)}v${THICK + 4}`;
  });
  return { there: box(life, top, THICK), shared: life.shared.map((each) => box(each, top, THICK)).join(""), names, writes: writes.join("") };
}

/** A copy as an arrow from the lane of one device to that of another. */
export interface Arrow<T extends TransferLife = TransferLife> {
  readonly copies: readonly T[];
  readonly x: number;
  readonly from: number;
  readonly to: number;
  /** Bytes of all its copies. */
  readonly nbytes: number;
}

/** Arrows of all steps: copies of one step that go one way are one. `lanes` says where a device's lane lies. */
export function arrowsOf<T extends TransferLife>(transfers: readonly T[], scale: Scale, lanes: ReadonlyMap<string, { readonly top: number; readonly bottom: number }>): Arrow<T>[] {
  const ways = new Map<string, T[]>();
  for (const copy of transfers) {
    const way = `${copy.step} ${copy.from} ${copy.to}`;
    const known = ways.get(way);
    if (known === undefined) ways.set(way, [copy]);
    else known.push(copy);
  }
  const perStep = new Map<number, number>();
  return [...ways.values()].flatMap((copies) => {
    const [first] = copies;
    const [from, to] = [lanes.get(first?.from ?? ""), lanes.get(first?.to ?? "")];
    if (first === undefined || from === undefined || to === undefined) return [];
    const before = perStep.get(first.step) ?? 0;
    perStep.set(first.step, before + 1);
    const down = from.top < to.top;
    const nbytes = copies.reduce((sum, copy) => sum + copy.nbytes, 0);
    const x = (first.step - 0.5 + (before % 3) * 0.25) * scale.column;
    return [{ copies, x, from: down ? from.bottom : from.top, to: down ? to.top : to.bottom, nbytes }];
  });
}

/** An arrow's line and head. */
export function arrowPath({ x, from, to }: Arrow): string {
  const way = Math.sign(to - from);
  return `M${n(x)} ${n(from)}V${n(to)}M${n(x - 4)} ${n(to - 5 * way)}L${n(x)} ${n(to)}L${n(x + 4)} ${n(to - 5 * way)}`;
}
