/** A tile in words: what is known of the values of a cell that was not recorded itself. */
import { boxOfTile, figureText, oddIn, tileAt, tileChanged, tilesOf, type Tiles } from "../layout/tiles";
import { itemSize } from "../layout/values";
import type { TileGrid } from "../schema/trace.gen";
import type { State, StorageNow } from "../model/state";
import type { Say } from "./view";

/** The tile that a byte lies in. */
export interface TileOfByte {
  readonly tiles: Tiles;
  readonly tile: number;
  /** Its figures before the step, where the step changed them and they were known. */
  readonly before: Tiles | null;
}

export function tileOfByte({ retiled }: State, { id, tiles: grid }: StorageNow, byte: number): TileOfByte | null {
  if (grid === null) return null;
  const tiles = tilesOf(grid);
  const tile = tileAt(tiles, Math.floor(byte / (itemSize(grid.dtype) ?? 1)));
  const old = retiled.get(id);
  const before = old == null ? null : tilesOf(old);
  return tile < 0 ? null : { tiles, tile, before: before !== null && tileChanged(tiles, before, tile) ? before : null };
}

/** `-3.667 … 4.344`; of one value alone that value. */
export function rangeText({ low, high }: Tiles, tile: number): string {
  const [a, b] = [figureText(low[tile] ?? Number.NaN), figureText(high[tile] ?? Number.NaN)];
  return a === b ? a : `${a} … ${b}`;
}

/** `0.0083`, after a write `0.0083 → 0.0415`. */
export function meanText({ tiles, tile, before }: TileOfByte): string {
  const now = figureText(tiles.mean[tile] ?? Number.NaN);
  const was = before === null ? now : figureText(before.mean[tile] ?? Number.NaN);
  return was === now ? now : `${was} → ${now}`;
}

/** Where the tile lies and all that is known of it. */
export function tileWords(say: Say, at: TileOfByte): string {
  const { tiles, tile } = at;
  const { rows, columns } = boxOfTile(tiles, tile);
  const [nan, infinite] = oddIn(tiles, tile);
  const { grid } = tiles;
  const args = { top: rows[0], bottom: rows[1], left: columns[0], right: columns[1], mean: meanText(at), range: rangeText(tiles, tile) };
  const odd = nan + infinite > 0 ? ` ${say("ui.memory.tileOdd", { nan, infinite })}` : "";
  return `${say("ui.memory.tile", args)}${odd}${lookedAt(say, grid)}`;
}

/** That the figures are of a sample; nothing where all cells were looked at. */
export function lookedAt(say: Say, { looked_at: looked, cells }: TileGrid): string {
  return looked < cells ? ` ${say("ui.memory.tileLooked", { looked, cells })}` : "";
}
