/**
 * Which cells of a storage a view reads, asked of one cell at a time: for storages too large to list.
 *
 * Pure. Where no two elements share a cell, dividing by the strides from the longest to the shortest finds
 * the only index there can be; else `indexAt` searches.
 */
import { coverage, indexAt, type Strided } from "./storage";

/** Cells up to which a storage is gone through whole. */
export const MOST_LISTED = 2 ** 22;

interface Step {
  readonly size: number;
  readonly stride: number;
}

/** Dimensions that move, the longest stride first. */
function steps({ shape, stride }: Strided): Step[] {
  return shape.map((size, d) => ({ size, stride: stride[d] ?? 0 })).filter((each) => each.size > 1 && each.stride > 0).sort((a, b) => b.stride - a.stride);
}

/** No two elements lie in one cell, expanded dimensions aside, and dividing tells which one does. */
function isApart(moving: readonly Step[]): boolean {
  let reach = 0;
  for (const { size, stride } of [...moving].reverse()) {
    if (stride <= reach) return false;
    reach += (size - 1) * stride;
  }
  return true;
}

/** Says of each cell whether an element of the view lies in it. */
export function readerOf(view: Strided): (cell: number) => boolean {
  if (view.shape.includes(0)) return () => false;
  const moving = steps(view);
  if (!isApart(moving)) return (cell) => indexAt(view, cell) !== null;
  return (cell) => {
    let rest = cell - view.offset;
    if (rest < 0) return false;
    for (const { size, stride } of moving) {
      const i = Math.min(size - 1, Math.floor(rest / stride));
      rest -= i * stride;
    }
    return rest === 0;
  };
}

/** Says of each cell of some size whether it shares a byte with an element. */
export function byteReaderOf(view: Strided, itemSize: number, cellSize: number): (cell: number) => boolean {
  const reads = readerOf(view);
  if (itemSize === cellSize) return reads;
  return (cell) => {
    const last = Math.floor(((cell + 1) * cellSize - 1) / itemSize);
    for (let element = Math.floor((cell * cellSize) / itemSize); element <= last; element++) if (reads(element)) return true;
    return false;
  };
}

/** How many of a storage's cells a view reads; null where that could only be counted, and there are too many. */
export function cellsRead(view: Strided, cells: number): number | null {
  if (view.shape.includes(0)) return 0;
  let [moving, run] = [steps(view), 1];
  // Windows that overlap without a hole are one run of cells.
  for (let near = moving.at(-1); near !== undefined && near.stride <= run; near = moving.at(-1)) {
    run += (near.size - 1) * near.stride;
    moving = moving.slice(0, -1);
  }
  if (isApart([...moving, { size: run, stride: 1 }])) return moving.reduce((n, { size }) => n * size, run);
  if (cells > MOST_LISTED) return null;
  return coverage(view, cells).reduce((n, each) => n + each, 0);
}
