/** How large the cells of a place are, by what they hold and how many places there are. */
import type { Place } from "../layout/devices";

/** Size of a cell and what fits into it. */
export interface CellBox {
  readonly width: number;
  readonly height: number;
  readonly gap: number;
  readonly font: number;
  readonly room: number;
  readonly numbered: boolean;
}

const WIDEST = 496; // of a grid, in pixels
const CHARACTER = 0.602; // of the mono font, per pixel of its size
const PADDING = 6; // of a cell, both sides together
const NARROW = { font: 10, padding: 3, room: 4 }; // the least in which `-1.1` can be written

const LARGE = { base: 61, height: 44, font: 14, gap: 4, numbered: true };
const MEDIUM = { base: 44, height: 40, font: 12.5, gap: 3, numbered: true };
const MIDDLE = { base: 42, height: 32, font: 12.5, gap: 3, numbered: false };
const SMALL = { base: 30, height: 24, font: 12, gap: 2, numbered: false };

/** The size of a place's cells. `dense`: 0 with few places in all, 1 with more, 2 with many. */
export function cellBox(place: Place, dense: number): CellBox {
  const { columns, rows } = place.grid;
  const roomy = columns <= 6 && rows <= 4;
  const shared = roomy && dense < 2 ? LARGE : MEDIUM;
  const { base, height, font, gap, numbered } = place.kind === "shared" ? shared : roomy && dense === 0 ? MIDDLE : SMALL;
  const character = font * CHARACTER;
  const most = Math.floor(WIDEST / columns) - gap;
  const width = Math.max(8, Math.min(most, Math.max(base, Math.ceil(place.room * character + 10))));
  const fits = Math.floor((width - PADDING) / character);
  const flat = rows > 10 ? Math.min(height, 24) : height;
  const small = Math.min(font, (width - NARROW.padding) / (NARROW.room * CHARACTER));
  const shrinks = fits < Math.min(place.room, NARROW.room) && small >= NARROW.font;
  const room = shrinks ? NARROW.room : fits;
  return { width, height: flat, gap, font: shrinks ? small : font, room: room < 2 ? (width >= 14 ? 1 : 0) : room, numbered: numbered && flat === height && width >= 34 };
}
