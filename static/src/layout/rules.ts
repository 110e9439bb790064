/**
 * What PyTorch allows of a view, from shape, strides and offset alone: nothing is run and nothing observed.
 *
 * Pure, no DOM. Which calls give a view is in `calls.ts`. Every rule here passes tables that torch
 * computed (`tests/data/rules.json`).
 *
 * Source: torch 2.13, aten/src/ATen/TensorUtils.cpp (`computeStride_impl`); c10/core/TensorImpl.cpp.
 */
import { extent, numel, type Strided } from "./storage";

/** Neighbouring dimensions whose elements follow each other with one step: `view` may cut such a run anew. */
export interface Run {
  /** The first and the last of the dimensions. */
  readonly dims: readonly [number, number];
  readonly elements: number;
  /** Cells from one element to the next. */
  readonly step: number;
  /** Dimensions of the new shape that divide it; the last is too large where `view` fails. */
  readonly filledBy: readonly number[];
}

/** What `x.view(shape)` would do. */
export interface ViewAnswer {
  /** Null when it would raise. */
  readonly stride: readonly number[] | null;
  /** `count`: other number of elements; `runs`: a new dimension would span two runs. */
  readonly reason: "fits" | "count" | "runs";
  /** The runs of the old dimensions, first dimension first; empty without elements. */
  readonly runs: readonly Run[];
  /** The run that the new shape does not divide; -1 when it does. */
  readonly broken: number;
}

/** Answers as `at::detail::computeStride` does, and says why. */
export function answerView({ shape, stride }: Pick<Strided, "shape" | "stride">, wanted: readonly number[]): ViewAnswer {
  const elements = numel(shape);
  if (elements !== numel(wanted)) return { stride: null, reason: "count", runs: [], broken: -1 };
  if (shape.length === 0) return { stride: wanted.map(() => 1), reason: "fits", runs: [], broken: -1 };
  if (elements === 0) return { stride: emptyStride(shape, stride, wanted), reason: "fits", runs: [], broken: -1 };
  const result = new Array<number>(wanted.length).fill(1);
  const runs: Run[] = [];
  let next = wanted.length - 1;
  let broken = -1;
  for (const run of runsOf(shape, stride)) {
    const filledBy: number[] = [];
    let filled = 1;
    while (next >= 0 && (filled < run.elements || wanted[next] === 1)) {
      result[next] = filled * run.step;
      filled *= wanted[next] ?? 1;
      filledBy.unshift(next--);
    }
    runs.unshift({ ...run, filledBy });
    if (filled === run.elements) continue;
    broken = runs.length;
    break;
  }
  const whole = runsOf(shape, stride).reverse();
  if (broken < 0) return { stride: result, reason: "fits", runs, broken };
  const missing = whole.slice(0, whole.length - runs.length).map((run) => ({ ...run, filledBy: [] }));
  return { stride: null, reason: "runs", runs: [...missing, ...runs], broken: missing.length };
}

/** The strides of a view without elements: the old ones of the same shape, else those of a new tensor. */
function emptyStride(shape: readonly number[], stride: readonly number[], wanted: readonly number[]): readonly number[] {
  const same = shape.length === wanted.length && shape.every((size, d) => size === wanted[d]);
  return same ? stride : contiguousStride(wanted);
}

/** Runs of dimensions, the last dimension first. */
function runsOf(shape: readonly number[], stride: readonly number[]): Omit<Run, "filledBy">[] {
  const runs: Omit<Run, "filledBy">[] = [];
  let last = shape.length - 1;
  let step = stride[last] ?? 1;
  let elements = 1;
  for (let d = shape.length - 1; d >= 0; d--) {
    elements *= shape[d] ?? 1;
    if (d > 0 && (shape[d - 1] === 1 || stride[d - 1] === elements * step)) continue;
    runs.push({ dims: [d, last], elements, step });
    last = d - 1;
    step = stride[d - 1] ?? 1;
    elements = 1;
  }
  return runs;
}

/** The strides of a new tensor of a shape. */
export function contiguousStride(shape: readonly number[]): number[] {
  return shape.map((_, d) => shape.slice(d + 1).reduce((product, size) => product * Math.max(1, size), 1));
}

/** `is_contiguous()`: strides of a new tensor, but for dimensions of size 1; always without elements. */
export function isContiguous({ shape, stride }: Pick<Strided, "shape" | "stride">): boolean {
  return numel(shape) === 0 || follows(shape, stride, shape.map((_, d) => shape.length - 1 - d));
}

/** `is_contiguous(memory_format=torch.channels_last)`: of four dimensions, the second is the nearest; also asked without elements. */
export function isChannelsLast({ shape, stride }: Pick<Strided, "shape" | "stride">): boolean {
  return shape.length === 4 && follows(shape, stride, [1, 3, 2, 0]);
}

function follows(shape: readonly number[], stride: readonly number[], order: readonly number[]): boolean {
  let expected = 1;
  return order.every((d) => {
    const right = shape[d] === 1 || stride[d] === expected;
    expected *= shape[d] ?? 1;
    return right;
  });
}

/** The elements lie side by side without a hole and none twice, in whatever order. */
export function isDense({ shape, stride }: Pick<Strided, "shape" | "stride">): boolean {
  if (numel(shape) === 0) return true;
  const order = shape.map((_, d) => d).filter((d) => (shape[d] ?? 0) > 1);
  order.sort((a, b) => (stride[a] ?? 0) - (stride[b] ?? 0));
  let expected = 1;
  return order.every((d) => {
    const right = stride[d] === expected;
    expected *= shape[d] ?? 1;
    return right;
  });
}

/** The most a slider may show: the view with that one number changed still ends inside the storage. */
export interface Bounds {
  readonly size: readonly number[];
  readonly stride: readonly number[];
  readonly offset: number;
}

/** Sizes and strides end here even where they could go on, so that a slider stays of use. */
const MOST = 4096;

/** How far each number can go with the others as they are, in a storage of `cells` cells. */
export function boundsOf(view: Strided, cells: number): Bounds {
  const { shape, stride, offset } = view;
  const empty = shape.includes(0);
  const reach = (without: number): number => {
    return shape.reduce((sum, size, d) => (d === without ? sum : sum + Math.max(0, size - 1) * (stride[d] ?? 0)), 0);
  };
  const last = cells - 1;
  const limit = (value: number): number => Math.max(0, Math.min(MOST, value));
  const size = shape.map((_, d) => {
    const [step, rest] = [stride[d] ?? 0, last - offset - reach(d)];
    return limit(step === 0 ? Math.max(1, Math.min(cells, 64)) : Math.floor(rest / step) + 1);
  });
  const strides = shape.map((n, d) => limit(n < 2 ? last : Math.floor((last - offset - reach(d)) / (n - 1))));
  return { size, stride: strides, offset: Math.max(0, empty ? last : last - reach(-1)) };
}

/** All elements of the view lie in a storage of `cells` cells. */
export function isInside(view: Strided, cells: number): boolean {
  const ends = extent(view);
  return ends === null ? view.offset <= cells : ends[0] >= 0 && ends[1] < cells;
}
