/**
 * The tiles of a large storage: which one a cell lies in, and what is known of its values.
 *
 * Pure. Tiles cut the storage in address order (`columns` cells a row), whatever view is drawn, so that a cell
 * is found in them by its place alone. Python has the twin (`app/schema/tiles.py`); both pass
 * `tests/data/tiles.json`.
 */
import type { TileGrid } from "../schema/trace.gen";

export interface Tiles {
  readonly grid: TileGrid;
  /** Tiles side by side. */
  readonly across: number;
  /** Bounds of the finite values of each tile and their mean; NaN where none is known. */
  readonly low: Float64Array;
  readonly high: Float64Array;
  readonly mean: Float64Array;
  /** The smallest and the largest mean. */
  readonly least: number;
  readonly most: number;
}

const BYTES = 7;
const SHARES = 65535;
const read = new WeakMap<TileGrid, Tiles>();
const word = new DataView(new ArrayBuffer(4));

/** The figures of a grid. The same object for the same grid. */
export function tilesOf(grid: TileGrid): Tiles {
  const tiles = read.get(grid) ?? decoded(grid);
  read.set(grid, tiles);
  return tiles;
}

function decoded(grid: TileGrid): Tiles {
  const data = Uint8Array.from(atob(grid.figures), (char) => char.charCodeAt(0));
  const count = Math.floor(data.length / BYTES);
  const [low, high, mean] = [new Float64Array(count), new Float64Array(count), new Float64Array(count)];
  for (let tile = 0; tile < count; tile++) {
    const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0] = data.subarray(tile * BYTES);
    const first = (low[tile] = floatOf((a << 12) | (b << 4) | (c >> 4)));
    const last = (high[tile] = floatOf(((c & 15) << 16) | (d << 8) | e));
    mean[tile] = first + ((last - first) * (f * 256 + g)) / SHARES; // NaN beyond what a float32 holds
  }
  const known = mean.filter(Number.isFinite);
  return { grid, across: Math.ceil(grid.columns / grid.width), low, high, mean, least: Math.min(...known), most: Math.max(...known) };
}

function floatOf(code: number): number {
  word.setUint32(0, code << 12);
  return word.getFloat32(0);
}

/** The tile of a cell; -1 past the end. Cells are counted in the grid's dtype. */
export function tileAt({ grid, across }: Tiles, cell: number): number {
  if (cell < 0 || cell >= grid.cells) return -1;
  const row = Math.floor(cell / grid.columns);
  return Math.floor(row / grid.height) * across + Math.floor((cell % grid.columns) / grid.width);
}

/** Where the mean of a tile stands between the smallest and the largest, 0 to 1; null when it is not known. */
export function shadeOf({ mean, least, most }: Tiles, tile: number): number | null {
  const share = ((mean[tile] ?? Number.NaN) - least) / (most - least || 1);
  return Number.isFinite(share) ? share : null;
}

/** Something that is told of a tile is not what it was. */
export function tileChanged(now: Tiles, before: Tiles, tile: number): boolean {
  if (now.grid.columns !== before.grid.columns || now.grid.cells !== before.grid.cells || now.grid.dtype !== before.grid.dtype) return false;
  return ![now.low, now.high, now.mean].every((figures, i) => Object.is(figures[tile], [before.low, before.high, before.mean][i]?.[tile])) || oddIn(now, tile).join() !== oddIn(before, tile).join();
}

/** How many of a tile's values are not a number, and how many infinite. */
export function oddIn({ grid }: Tiles, tile: number): readonly [number, number] {
  const run = grid.odd.find(([first = 0, count = 0]) => tile >= first && tile < first + count);
  return [run?.[2] ?? 0, run?.[3] ?? 0];
}

/** First and last row and column of a tile, and its cells, the last tiles being smaller. */
export function boxOfTile({ grid, across }: Tiles, tile: number): { readonly rows: readonly [number, number]; readonly columns: readonly [number, number]; readonly cells: number } {
  const { cells, columns, height, width } = grid;
  const [top, left] = [Math.floor(tile / across) * height, (tile % across) * width];
  const rows = [top, Math.min(top + height, Math.ceil(cells / columns)) - 1] as const;
  const wide = [left, Math.min(left + width, columns) - 1] as const;
  const [high, across_] = [rows[1] - rows[0] + 1, wide[1] - wide[0] + 1];
  // The last row of a storage may end before the tile does.
  const missing = Math.max(0, Math.min(across_, rows[1] * columns + wide[1] + 1 - cells));
  return { rows, columns: wide, cells: high * across_ - missing };
}

/** A figure in few characters. */
export function figureText(value: number): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "–" : value > 0 ? "> 3.4e38" : "< -3.4e38";
  const short = Number(value.toPrecision(Number.isInteger(value) ? 6 : 4));
  return (Math.abs(short) < 1e7 ? String(short) : short.toExponential()).replace("e+", "e");
}
