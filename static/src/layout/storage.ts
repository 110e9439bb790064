/**
 * Where the elements of a view lie in its storage: `offset + Σ index·stride`.
 *
 * Records in, numbers out: no DOM, no colour, no values. A cell is one element's place, counted from
 * the start of the storage. The same arithmetic exists in Python (`app/schema/values.py`); both pass
 * `tests/data/strides.json`, which torch computed.
 *
 * What is hard: expanded views (stride 0) have more elements than cells, windows (`unfold`,
 * `as_strided`) overlap, and a view may read the bytes as another dtype. So coverage is found per
 * dimension by dilation, in time proportional to the cells, never by visiting elements.
 */
import type { TensorView } from "../schema/trace.gen";

/** The part of a view that places elements. */
export interface Strided {
  readonly shape: readonly number[];
  readonly stride: readonly number[];
  /** In elements from the start of the storage. */
  readonly offset: number;
}

/** How many rows and columns of cells a storage is drawn in. */
export interface GridShape {
  readonly cells: number;
  readonly columns: number;
  readonly rows: number;
  /** A wider gap stands after so many rows; 0 for none. */
  readonly block: number;
  /** The rows are rows of a view, rather than lines wrapped to fit. */
  readonly shaped: boolean;
}

const places = new WeakMap<TensorView, Strided>();

/** The strides of a view, or null where PyTorch has none (sparse, nested). The same object for the same view. */
export function strided(view: TensorView): Strided | null {
  const known = places.get(view) ?? stridesOf(view);
  if (known !== null) places.set(view, known);
  return known;
}

function stridesOf(view: TensorView): Strided | null {
  if (view.shape === null || view.stride === null || view.storage_offset === null) return null;
  if (view.shape.length !== view.stride.length) return null;
  return { shape: view.shape, stride: view.stride, offset: view.storage_offset };
}

/** Elements of a shape; 1 for a 0-d tensor. */
export function numel(shape: readonly number[]): number {
  return shape.reduce((product, size) => product * size, 1);
}

/** The cell of one element. */
export function cellAt(view: Strided, index: readonly number[]): number {
  return view.stride.reduce((cell, stride, d) => cell + stride * (index[d] ?? 0), view.offset);
}

/** An index lies in the shape: as many numbers as dimensions, each below its size. */
export function isIndexOf(shape: readonly number[], index: readonly number[]): boolean {
  return index.length === shape.length && index.every((i, d) => i >= 0 && i < (shape[d] ?? 0));
}

/** The cells of all elements, last index fastest. Only for views small enough to list. */
export function cellsOf(view: Strided): number[] {
  let cells = [view.offset];
  view.shape.forEach((size, d) => {
    const stride = view.stride[d] ?? 0;
    cells = cells.flatMap((cell) => Array.from({ length: size }, (_, i) => cell + i * stride));
  });
  return cells;
}

/** First and last cell of a view, or null when it has no element. */
export function extent(view: Strided): readonly [number, number] | null {
  if (view.shape.some((size) => size === 0)) return null;
  const reach = view.shape.reduce((sum, size, d) => sum + (size - 1) * (view.stride[d] ?? 0), 0);
  return [view.offset, view.offset + reach];
}

/** Dimensions that move through memory, from the nearest neighbours to the farthest. */
function moving(view: Strided): { size: number; stride: number }[] {
  return view.shape
    .map((size, d) => ({ size, stride: view.stride[d] ?? 0 }))
    .filter(({ size, stride }) => size > 1 && stride > 0)
    .sort((a, b) => a.stride - b.stride);
}

/**
 * Which of the first `cells` cells a view reads: 1 where it does.
 *
 * Per dimension: a cell is reached if one of the `size - 1` cells a stride before it was. Takes
 * cells × dimensions steps however often elements overlap. Cells past the end are left out.
 */
export function coverage(view: Strided, cells: number): Uint8Array {
  const covered = new Uint8Array(cells);
  if (view.shape.some((size) => size === 0) || view.offset >= cells) return covered;
  let run = 1; // cells from the offset on that are covered without a hole
  let reach = view.offset;
  covered[view.offset] = 1;
  for (const { size, stride } of moving(view)) {
    reach += (size - 1) * stride;
    if (stride <= run) {
      run += (size - 1) * stride;
      covered.fill(1, view.offset, Math.min(cells, view.offset + run));
      continue;
    }
    run = 0;
    dilate(covered, stride, size, view.offset, Math.min(cells - 1, reach));
  }
  return covered;
}

function dilate(covered: Uint8Array, stride: number, size: number, from: number, to: number): void {
  const since = new Int32Array(to - from + 1); // steps of `stride` since a covered cell
  for (let cell = from; cell <= to; cell++) {
    const at = cell - from;
    if (covered[cell] === 1) since[at] = 0;
    else since[at] = at >= stride ? (since[at - stride] ?? 0) + 1 : size;
    if ((since[at] ?? size) < size) covered[cell] = 1;
  }
}

const known = new WeakMap<Strided, Map<string, Uint8Array>>();

/** Coverage by a view whose elements are not as wide as the cells: cells that share a byte with an element. */
export function coverageOfBytes(view: Strided, itemSize: number, cellSize: number, cells: number): Uint8Array {
  const found = known.get(view) ?? new Map<string, Uint8Array>();
  known.set(view, found);
  const key = `${itemSize} ${cellSize} ${cells}`;
  const covered = found.get(key) ?? cellsWithBytes(view, itemSize, cellSize, cells);
  found.set(key, covered);
  return covered;
}

function cellsWithBytes(view: Strided, itemSize: number, cellSize: number, cells: number): Uint8Array {
  if (itemSize === cellSize) return coverage(view, cells);
  const covered = new Uint8Array(cells);
  const own = coverage(view, Math.floor((cells * cellSize) / itemSize));
  own.forEach((there, i) => {
    if (there === 0) return;
    const first = Math.floor((i * itemSize) / cellSize);
    const last = Math.floor(((i + 1) * itemSize - 1) / cellSize);
    covered.fill(1, first, Math.min(cells, last + 1));
  });
  return covered;
}

const gcd = (a: number, b: number): number => (b === 0 ? a : gcd(b, a % b));

/**
 * The first index (last dimension fastest) whose element lies in a cell, or null when none does.
 */
export function indexAt(view: Strided, cell: number): number[] | null {
  let first: number[] | null = null;
  walk(view, cell, (index) => {
    first = [...index];
    return true;
  });
  return first;
}

/** Elements of a view that lie in a cell: more than one where it is expanded or its windows overlap. */
export function elementsAt(view: Strided, cell: number, most = 1000): number {
  let found = 0;
  walk(view, cell, () => ++found >= most);
  const expanded = view.shape.reduce((n, size, d) => ((view.stride[d] ?? 0) === 0 ? n * size : n), 1);
  return found * expanded;
}

/**
 * Visits the indices of a cell, 0 in expanded dimensions, until `visit` returns true.
 *
 * Dimension by dimension, keeping what the ones after it can still reach and which remainders
 * their common divisor allows.
 */
function walk({ shape, stride, offset }: Strided, cell: number, visit: (index: number[]) => boolean): void {
  const rank = shape.length;
  const reach = new Array<number>(rank + 1).fill(0);
  const divisor = new Array<number>(rank + 1).fill(0);
  for (let d = rank - 1; d >= 0; d--) {
    const step = (shape[d] ?? 1) > 1 ? (stride[d] ?? 0) : 0;
    reach[d] = (reach[d + 1] ?? 0) + ((shape[d] ?? 1) - 1) * step;
    divisor[d] = gcd(divisor[d + 1] ?? 0, step);
  }
  const index = new Array<number>(rank).fill(0);
  const search = (d: number, rest: number): boolean => {
    if (d === rank) return rest === 0 && visit(index);
    const size = shape[d] ?? 1;
    const step = stride[d] ?? 0;
    const common = divisor[d + 1] ?? 0;
    if (step === 0 || size === 1) {
      index[d] = 0;
      return search(d + 1, rest);
    }
    const last = Math.min(size - 1, Math.floor(rest / step));
    for (let i = Math.max(0, Math.ceil((rest - (reach[d + 1] ?? 0)) / step)); i <= last; i++) {
      const left = rest - i * step;
      if (common === 0 ? left !== 0 : left % common !== 0) continue;
      index[d] = i;
      if (search(d + 1, left)) return true;
    }
    return false;
  };
  const rest = cell - offset;
  if (rest >= 0 && rest <= (reach[0] ?? 0) && !shape.includes(0)) search(0, rest);
}

const WRAP = 16;
const WRAP_LARGE = 1024;
const LARGE = 400;

/**
 * Rows and columns in which a view lays out a storage of `cells` cells, in address order.
 *
 * A row is as long as the second smallest stride, so that neighbours along one dimension stand side
 * by side and those along the next one below each other, transposed or sliced or not. A view
 * without such a dimension, or of an extreme form, gives lines of `wrap` cells.
 */
export function gridShape(view: Strided | null, cells: number, wrap = WRAP): GridShape {
  const [near, next, far] = view === null ? [] : moving(view);
  const columns = next?.stride ?? 0;
  const rows = columns > 0 ? Math.ceil(cells / columns) : 0;
  const apart = near !== undefined && columns >= near.size * near.stride;
  const extreme = cells > LARGE ? Math.max(columns / rows, rows / columns) > 16 : columns > 40 || rows > 80;
  if (!apart || extreme || cells === 0) return wrapped(cells, wrap);
  const block = far !== undefined && far.stride % columns === 0 ? far.stride / columns : 0;
  return { cells, columns, rows, block: block > 1 && block < rows ? block : 0, shaped: true };
}

function wrapped(cells: number, wrap: number): GridShape {
  if (cells <= wrap) return { cells, columns: Math.max(1, cells), rows: 1, block: 0, shaped: true };
  const columns = cells <= LARGE ? wrap : Math.min(WRAP_LARGE, 2 ** Math.ceil(Math.log2(Math.sqrt(cells))));
  return { cells, columns, rows: Math.ceil(cells / columns), block: 0, shaped: false };
}
