/**
 * Strides as jumps between cells: which cell leads to which when one index grows by one.
 *
 * Pure. Jumps are drawn for the first line of each dimension (the other indices as given), which is what
 * a stride says: the same distance everywhere.
 */
import { cellAt, coverage, type Strided } from "./storage";

export interface Jump {
  readonly from: number;
  readonly to: number;
  readonly dim: number;
}

/** Jumps along one dimension, beginning at the other indices of `at`; at most `most`. None where the size is below 2. */
export function jumpsAlong(view: Strided, dim: number, at: readonly number[], most = 64): Jump[] {
  const size = view.shape[dim] ?? 0;
  const stride = view.stride[dim] ?? 0;
  if (size < 2 || view.shape.includes(0)) return [];
  const first = cellAt(view, view.shape.map((_, d) => (d === dim ? 0 : (at[d] ?? 0))));
  return Array.from({ length: Math.min(most, size - 1) }, (_, i) => ({ from: first + i * stride, to: first + (i + 1) * stride, dim }));
}

/** How often each of the first `cells` cells is read, for views small enough to count; else 1 where it is read. */
export function readings(view: Strided, cells: number, most = 1 << 16): Uint16Array {
  const elements = view.shape.reduce((n, size) => n * size, 1);
  if (elements > most) return Uint16Array.from(coverage(view, cells));
  let counts = new Uint16Array(cells);
  if (elements > 0 && view.offset < cells) counts[view.offset] = 1;
  view.shape.forEach((size, d) => {
    const next = new Uint16Array(cells);
    const stride = view.stride[d] ?? 0;
    counts.forEach((count, cell) => {
      if (count === 0) return;
      for (let i = 0; i < size; i++) if (cell + i * stride < cells) next[cell + i * stride] = (next[cell + i * stride] ?? 0) + count;
    });
    counts = next;
  });
  return counts;
}

/** The part of a long storage to draw: all of a short one, else about `room` cells around one of them. */
export function part(cells: number, around: number, room = 96): readonly [number, number] {
  if (cells <= room) return [0, cells];
  const from = Math.max(0, Math.min(cells - room, around - Math.floor(room / 2)));
  return [from - (from % 8), Math.min(cells, from - (from % 8) + room)];
}
