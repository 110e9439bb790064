/** Room that the details of a storage keep for the whole trace, so that stepping and pointing move nothing. */
import type { TensorView } from "../schema/trace.gen";
import type { Lives } from "./lives";

const MOST_ROWS = 5;
const UNNAMED_ROWS = 3;
/** Characters of shape and strides that stand on one line of a row. */
const ROW_LINE = 21;
/** Characters of a sum that stand on one line: `S1[0 + 2·4 + 1·1] = S1[9]`. */
const SUM_LINE = 42;
const MOST_LINES = 3;

export interface Kept {
  /** Rows of the table. */
  readonly rows: number;
  /** Lines of its highest row. */
  readonly lines: number;
  /** Lines of the longest sum. */
  readonly sums: number;
}

/** What the storages of a trace need. */
export function keptFor(lives: Lives): Kept {
  let [lines, sums] = [1, 1];
  const seen = new Set<TensorView>();
  for (const { id, named, views } of lives.storages) {
    for (const { view } of named ? views : []) {
      if (seen.has(view)) continue;
      seen.add(view);
      lines = Math.max(lines, Math.ceil((written(view.shape) + written(view.stride)) / ROW_LINE));
      sums = Math.max(sums, Math.ceil(sumOf(view, id) / SUM_LINE));
    }
  }
  return { rows: rowsOf(lives), lines: Math.min(lines, MOST_LINES), sums: Math.min(sums, MOST_LINES) };
}

/** Rows for the most tensors that look at one storage at the end of a step; those without a name may scroll. */
function rowsOf(lives: Lives): number {
  let [named, most] = [1, 1];
  for (const { views } of lives.storages) {
    const alive: number[] = []; // when each of those still there will be gone
    for (const { born, gone } of views) {
      if (gone <= born || most >= MOST_ROWS) continue;
      const left = alive.filter((end) => end > born);
      alive.splice(0, alive.length, ...left, gone);
      most = Math.max(most, alive.length);
    }
    for (const { mark } of views) named = Math.max(named, mark);
  }
  return Math.min(MOST_ROWS, Math.max(named, Math.min(most, UNNAMED_ROWS)));
}

/** Characters of a tuple, less the space after its last comma. */
function written(sizes: readonly number[] | null): number {
  return sizes === null ? 1 : sizes.reduce((sum, size) => sum + String(size).length + 2, 0);
}

/** Characters of the longest sum that leads to an element: that of the last. */
function sumOf({ shape, stride, storage_offset: offset }: TensorView, storage: number): number {
  if (shape === null || stride === null) return 0;
  let cell = offset ?? 0;
  let terms = 0;
  shape.forEach((size, d) => {
    cell += Math.max(0, size - 1) * (stride[d] ?? 0);
    // A term is no narrower than what is written below it.
    terms += 3 + Math.max(5, String(Math.max(0, size - 1)).length + 1 + String(stride[d] ?? 0).length);
  });
  return 2 * `S${storage}[]`.length + 3 + Math.max(3, String(offset ?? 0).length) + terms + String(cell).length;
}
