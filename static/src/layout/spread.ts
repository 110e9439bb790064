/**
 * How the values of a tensor are spread: smallest, mean, largest, and how many lie where.
 *
 * Taken from what a trace has at a step: all bytes of a small storage, the values of a tensor whose layout
 * keeps none, or of a large one the figures that were taken from a sample. Complex values count by their
 * magnitude. No DOM, no words.
 */
import type { StorageBytes, TensorSummary, TensorView } from "../schema/trace.gen";
import { cellAt, numel, strided } from "./storage";
import { itemSize, readValue, shortDtype, type Value } from "./values";

const BINS = 32;
/** Expanded views may have far more elements than cells: then every so many are looked at. */
const MOST = 65_536;

export interface Bin {
  readonly low: number;
  readonly high: number;
  readonly count: number;
}

export interface Spread {
  /** `numel()`. */
  readonly elements: number;
  /** Elements that minimum, mean and maximum are taken from; fewer than `elements` when sampled. */
  readonly looked: number;
  readonly minimum: number;
  readonly mean: number;
  readonly maximum: number;
  /** Empty where only figures are known. */
  readonly bins: readonly Bin[];
  /** Elements in the bins or left out of them. */
  readonly counted: number;
  /** Of them, infinite or not a number: they are in no bin. */
  readonly others: number;
}

/** What is known of a tensor's values at some step. */
export interface Known {
  readonly view: TensorView;
  readonly bytes: Uint8Array | null;
  readonly values: unknown;
  readonly summary: TensorSummary | null;
}

/** The spread of what is known; null when nothing is, or there is no element. */
export function spreadOf({ view, bytes, values, summary }: Known): Spread | null {
  if (values !== undefined && values !== null) {
    return ofNumbers(flat(values, view.dtype.includes("complex")), numel(view.shape ?? []), isWhole(view.dtype));
  }
  if (bytes !== null) {
    const read = readAll(view, bytes);
    if (read !== null) return ofNumbers(read, numel(view.shape ?? []), isWhole(view.dtype));
  }
  return summary === null ? null : ofSummary(summary);
}

/** The bytes of an event. */
export function bytesOf(event: StorageBytes | null): Uint8Array | null {
  return event?.data == null ? null : Uint8Array.from(atob(event.data), (char) => char.charCodeAt(0));
}

function isWhole(dtype: string): boolean {
  return /^(?:u?int|bool|q)/.test(shortDtype(dtype));
}

function readAll(view: TensorView, bytes: Uint8Array): number[] | null {
  const place = strided(view);
  const size = itemSize(view.dtype);
  if (place === null || size === null) return null;
  const count = numel(place.shape);
  const every = Math.max(1, Math.ceil(count / MOST));
  const found: number[] = [];
  const index = place.shape.map(() => 0);
  for (let at = 0; at < count; at += every) {
    let rest = at;
    for (let d = index.length - 1; d >= 0; d -= 1) {
      const length = place.shape[d] ?? 1;
      index[d] = rest % length;
      rest = Math.floor(rest / length);
    }
    const value = readValue(bytes, cellAt(place, index) * size, view);
    if (value === null) return null;
    found.push(number(value));
  }
  return found;
}

/** A nested list as traces have it: numbers, texts for what JSON has no number for, pairs for complex ones. */
function flat(values: unknown, pairs = false): number[] {
  if (Array.isArray(values)) {
    const pair = pairs && values.length === 2 && !values.some((each) => Array.isArray(each));
    const found = values.flatMap((each) => flat(each, pairs));
    return pair ? [Math.hypot(...found)] : found;
  }
  if (typeof values === "number") return [values];
  if (typeof values === "boolean") return [Number(values)];
  if (typeof values !== "string") return [];
  if (values === "nan") return [Number.NaN];
  return [Number(values.replace("inf", "Infinity"))];
}

function number(value: Exclude<Value, null>): number {
  return typeof value === "object" ? Math.hypot(value[0], value[1]) : Number(value);
}

function ofNumbers(numbers: readonly number[], elements: number, whole: boolean): Spread | null {
  const finite = numbers.filter(Number.isFinite);
  if (numbers.length === 0) return null;
  const minimum = finite.reduce((least, each) => Math.min(least, each), Infinity);
  const maximum = finite.reduce((most, each) => Math.max(most, each), -Infinity);
  const mean = finite.reduce((sum, each) => sum + each, 0) / finite.length;
  return {
    elements: Math.max(elements, numbers.length),
    looked: numbers.length,
    minimum,
    mean,
    maximum,
    bins: binned(finite, minimum, maximum, whole),
    counted: numbers.length,
    others: numbers.length - finite.length,
  };
}

function binned(finite: readonly number[], low: number, high: number, whole: boolean): Bin[] {
  if (finite.length === 0) return [];
  const span = high - low;
  // Whole numbers in a small range have a bin each.
  const single = whole && span < BINS;
  const count = single ? span + 1 : span === 0 ? 1 : Math.min(BINS, Math.max(6, Math.ceil(2 * Math.sqrt(finite.length))));
  const from = single ? low - 0.5 : low;
  const width = single ? 1 : span / count;
  const counts = new Array<number>(count).fill(0);
  for (const each of finite) {
    const bin = width === 0 ? 0 : Math.min(count - 1, Math.floor((each - from) / width));
    counts[bin] = (counts[bin] ?? 0) + 1;
  }
  return counts.map((each, i) => ({ low: from + i * width, high: from + (i + 1) * width, count: each }));
}

function ofSummary({ elements, looked_at, minimum, maximum, mean, histogram }: TensorSummary): Spread {
  const figure = (value: number | string | null): number => flat(value)[0] ?? Number.NaN;
  const counts = histogram?.counts ?? [];
  const { low, high, others } = histogram ?? { low: 0, high: 0, others: 0 };
  const width = (high - low) / Math.max(1, counts.length);
  const bins = counts.map((count, i) => ({ low: low + i * width, high: low + (i + 1) * width, count }));
  const counted = others + counts.reduce((sum, each) => sum + each, 0);
  return { elements, looked: looked_at, minimum: figure(minimum), mean: figure(mean), maximum: figure(maximum), bins, counted, others };
}
