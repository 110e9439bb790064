/**
 * What pages draw of a large storage beyond where its views lie: shades by tiles, a legend, what a step changed.
 *
 * Handed to the views of the Memory panel by pages; embeds, which must stay light, do without.
 */
import { figureText, shadeOf, tileAt, tileChanged, tilesOf, type Tiles } from "../layout/tiles";
import { itemSize } from "../layout/values";
import type { State, StorageNow } from "../model/state";
import { el } from "./dom";
import { lookedAt, meanText, rangeText, tileOfByte, tileWords } from "./tile";
import type { Say } from "./view";

/** The dots of a picture. */
export interface Dots {
  readonly count: number;
  readonly columns: number;
  /** Size of one on the page. */
  readonly scale: readonly [number, number];
  /** Bytes from one dot to the next. */
  readonly bytes: number;
}

export class TileArt {
  /** Place of each dot between the smallest mean and the largest, 0 to 255; null without tiles. */
  shades({ tiles: grid }: StorageNow, dots: Dots): Uint8Array | null {
    if (grid === null) return null;
    const tiles = tilesOf(grid);
    const shade = Uint8Array.from(tiles.mean, (_, tile) => (shadeOf(tiles, tile) ?? 0) * 255);
    return Uint8Array.from({ length: dots.count }, (_, dot) => shade[tileOf(tiles, dots, dot)] ?? 0);
  }

  /** Which dots the step changed: bytes, or the figures of a tile. Null when it changed none that is known. */
  changed(state: State, storage: StorageNow, dots: Dots): ((dot: number) => boolean) | null {
    const [bytes, was, grid, old] = [storage.bytes, state.written.get(storage.id), storage.tiles, state.retiled.get(storage.id)];
    if (bytes !== null && was != null && bytes.length === was.length) {
      return (dot) => bytes.subarray(dot * dots.bytes, (dot + 1) * dots.bytes).some((byte, i) => byte !== was[dot * dots.bytes + i]);
    }
    if (grid === null || old == null) return null;
    const [tiles, before] = [tilesOf(grid), tilesOf(old)];
    const hot = Uint8Array.from(tiles.mean, (_, tile) => (tileChanged(tiles, before, tile) ? 1 : 0));
    return (dot) => hot[tileOf(tiles, dots, dot)] === 1;
  }

  /** Frames the dots that changed, as wide as can be seen. */
  frame(words: Uint32Array, { count, columns, scale }: Dots, changed: (dot: number) => boolean, ink: number): void {
    const hot = Uint8Array.from({ length: count }, (_, dot) => (changed(dot) ? 1 : 0));
    const [across, down] = [Math.ceil(1.5 / scale[0]), Math.ceil(1.5 / scale[1])];
    const inside = (dot: number): boolean => {
      const column = dot % columns;
      if (column < across || column + across >= columns) return false;
      return [-across, across, -down * columns, down * columns].every((step) => hot[dot + step] === 1);
    };
    for (let dot = 0; dot < count; dot++) if (hot[dot] === 1 && !inside(dot)) words[dot] = ink;
  }

  /** From what to what the shades go, and in words. */
  writeLegend(legend: HTMLElement, { tiles: grid, freed }: StorageNow, { step }: State, say: Say, [from, to]: readonly [string, string]): void {
    legend.style.setProperty("--from", `var(${from})`);
    legend.style.setProperty("--to", `var(${to})`);
    const tiles = grid === null ? null : tilesOf(grid);
    const known = !freed && tiles !== null && Number.isFinite(tiles.least);
    const words = known ? legendWords(say, tiles) : freed || step === 0 ? "" : say("ui.memory.noTiles");
    legend.setAttribute("aria-label", words);
    legend.title = words;
    const [low, high] = known ? [figureText(tiles.least), figureText(tiles.most)] : [words, words];
    legend.replaceChildren(...(low === high ? [low] : [low, el("span", { class: "tile-ramp" }), high]));
  }

  /** What is known of a value that was not recorded, and whether the step changed it; null without tiles. */
  fact(state: State, storage: StorageNow, byte: number, say: Say): readonly [HTMLElement, boolean] | null {
    const tile = tileOfByte(state, storage, byte);
    if (tile === null) return null;
    const figures = [meanText(tile), rangeText(tile.tiles, tile.tile)].map((text) => el("span", {}, text));
    return [el("span", { title: tileWords(say, tile) }, ...figures), tile.before !== null];
  }
}

/** `Shade: mean of each tile of 63 × 63 cells, from -0.18 to 0.13`. */
export function legendWords(say: Say, { grid, least, most }: Tiles): string {
  return say("ui.memory.tiles", { low: figureText(least), high: figureText(most), height: grid.height, width: grid.width }) + lookedAt(say, grid);
}

function tileOf(tiles: Tiles, dots: Dots, dot: number): number {
  return tileAt(tiles, Math.floor((dot * dots.bytes) / (itemSize(tiles.grid.dtype) ?? 1)));
}
