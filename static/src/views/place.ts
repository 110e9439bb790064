/**
 * One place of the Memory panel and the storage that stands in it: label, cells, strip of addresses.
 *
 * Cells are elements, so only for storages of up to 400; `pixels.ts` draws larger ones. Built once
 * per storage and then repainted where something differs.
 */
import { type Place } from "../layout/devices";
import { focusOnByte, tensorsOn, windowOf, type Looking } from "../layout/focus";
import { coverageOfBytes } from "../layout/storage";
import { exactText, readValue, sameValue, shortText, type ReadAs, type Value } from "../layout/values";
import type { State, StorageNow, TensorNow } from "../model/state";
import { markClass } from "./badge";
import { el } from "./dom";
import { pick, type Say } from "./view";

/** Size of a cell and what fits into it. */
interface CellBox {
  readonly width: number;
  readonly height: number;
  readonly gap: number;
  readonly font: number;
  readonly room: number;
  readonly numbered: boolean;
}

const WIDEST = 620;
const CHARACTER = 0.602; // of the mono font, per pixel of its size
const STRIP_LINE = 16;
// As in memory.css.
const STRIP_HEIGHT = 44;
const STRIP_MARGIN = 12;
const BLOCK_GAP = 7;

/** The cells of a storage, as grid and as strip. */
export class Cells {
  readonly root: HTMLElement;
  private readonly grid: HTMLElement;
  private readonly strip: HTMLElement;
  private readonly cells: HTMLElement[] = [];
  private readonly values: HTMLElement[] = [];
  private readonly stripCells: HTMLElement[] = [];
  private readonly box: CellBox;
  private readonly count: number;
  /** Cells per line of the strip, and the width of one. */
  private readonly perLine: number;
  private readonly each: number;
  private painted = "";
  private ring = -1;
  private state: State | null = null;
  private looking: Looking | null = null;
  private resting = 0;

  constructor(
    private readonly place: Place,
    private readonly storage: number,
    private readonly as: ReadAs | null,
    private readonly marks: ReadonlyMap<number, number>,
    private readonly say: Say,
    nbytes: number,
    address: string,
    dense: number,
  ) {
    this.count = Math.floor(nbytes / place.cellSize);
    this.box = cellBox(place, dense);
    this.perLine = Math.min(STRIP_LINE, Math.max(1, this.count));
    const wide = (this.box.width + this.box.gap) * place.grid.columns - this.box.gap;
    this.each = place.kind === "shared" ? Math.max(20, Math.min(30, Math.floor((wide + 2) / this.perLine))) : 24;
    this.grid = this.buildGrid();
    this.strip = this.buildStrip(address);
    this.root = el("div", { class: `cells cells-${place.kind}` }, this.grid, this.strip);
    this.listen(this.grid, this.cells);
    this.listen(this.strip, this.stripCells);
  }

  /** Width and height of the cells, as grid or as strip. */
  size(mode: "grid" | "strip"): readonly [number, number] {
    const { width, height, gap } = this.box;
    const { columns, block } = this.place.grid;
    const rows = Math.ceil(this.count / columns);
    const wide = columns * (width + gap) - gap;
    const lines = Math.ceil(this.count / this.perLine);
    const strip = [this.perLine * this.each, lines * STRIP_HEIGHT] as const;
    if (mode === "strip") return strip;
    const apart = block > 0 ? Math.floor((rows - 1) / block) * BLOCK_GAP : 0;
    const high = rows * (height + gap) - gap + apart;
    return this.place.kind === "shared" ? [Math.max(wide, strip[0]), high + STRIP_MARGIN + strip[1]] : [wide, high];
  }

  show(state: State, storage: StorageNow, looking: Looking): void {
    this.state = state;
    this.looking = looking;
    const here = looking.storage === storage.id;
    const tensors = tensorsOn(state, storage);
    const lit = here ? (tensors.find((tensor) => tensor.id === looking.tensor) ?? null) : null;
    const before = state.written.get(storage.id);
    const views = tensors.map((tensor) => `${tensor.id}:${identity(tensor.view)}`).join();
    const write = before === undefined ? "" : `${identity(before)}@${state.step}`;
    const key = [identity(storage.bytes), storage.nbytes, storage.freed, views, lit?.id ?? "", write].join("|");
    if (key !== this.painted) this.paint(storage, tensors, lit, before);
    this.painted = key;
    this.moveRing(here && looking.byte !== null && !storage.freed ? Math.floor(looking.byte / this.place.cellSize) : -1);
  }

  private buildGrid(): HTMLElement {
    const { grid } = this.place;
    const { width, height, gap, font, numbered } = this.box;
    const root = el("div", { class: "grid", role: "grid", "aria-label": this.say("ui.memory.gridLabel", { storage: `S${this.storage}` }) });
    root.style.setProperty("--w", `${width}px`);
    root.style.setProperty("--h", `${height}px`);
    root.style.setProperty("--gap", `${gap}px`);
    root.style.setProperty("--font", `${font}px`);
    for (let row = 0; row * grid.columns < this.count; row++) {
      const line = el("div", { class: grid.block > 0 && row % grid.block === 0 && row > 0 ? "row row-apart" : "row", role: "row" });
      for (let cell = row * grid.columns; cell < Math.min(this.count, (row + 1) * grid.columns); cell++) {
        const value = el("span", { class: "value" });
        const number = numbered ? el("span", { class: "number", "aria-hidden": "true" }, String(cell)) : null;
        const box = el("div", { class: "cell", role: "gridcell", tabindex: cell === 0 ? 0 : -1 }, number, value);
        this.cells.push(box);
        this.values.push(value);
        line.append(box);
      }
      root.append(line);
    }
    return root;
  }

  /** Address order: bytes from the start, an address where a line or 16 bytes begin. */
  private buildStrip(address: string): HTMLElement {
    const { cellSize } = this.place;
    const root = el("div", { class: "strip", "aria-hidden": "true" });
    const every = Math.max(1, Math.floor(16 / cellSize));
    root.style.setProperty("--each", `${this.each}px`);
    const start = BigInt(address);
    for (let cell = 0; cell < this.count; cell++) {
      const tick = cell % every === 0 && start !== 0n;
      const where = tick ? `…${(start + BigInt(cell * cellSize)).toString(16).slice(-3)}` : null;
      const box = el("span", { class: "strip-cell" }, el("span", { class: "strip-box" }, String(cell)), where === null ? null : el("span", { class: "tick" }, where));
      this.stripCells.push(box);
      root.append(box);
    }
    root.style.setProperty("--line", String(this.perLine));
    return root;
  }

  private paint(storage: StorageNow, tensors: readonly TensorNow[], lit: TensorNow | null, before: Uint8Array | null | undefined): void {
    const { cellSize } = this.place;
    const named = tensors.filter((tensor) => (this.marks.get(tensor.id) ?? 0) > 0);
    const covers = named.map((tensor) => this.covered(tensor));
    const marks = named.map((tensor) => this.marks.get(tensor.id) ?? 0);
    const litCover = lit === null ? null : this.covered(lit);
    const litClass = lit === null ? "" : ` on ${markClass(this.marks.get(lit.id) ?? 0)}`;
    const { bytes } = storage;
    const present = Math.floor(storage.nbytes / cellSize);
    for (let cell = 0; cell < this.count; cell++) {
      const value = bytes === null || this.as === null ? null : readValue(bytes, cell * cellSize, this.as);
      const was = before === undefined || before === null || this.as === null ? value : readValue(before, cell * cellSize, this.as);
      const hot = value !== null && was !== null && !sameValue(value, was);
      const on = litCover?.[cell] === 1;
      let bars = "";
      let more = "";
      let read = false;
      covers.forEach((cover, i) => {
        if (cover[cell] !== 1) return;
        read = true;
        const mark = marks[i] ?? 0;
        if (mark > 4) more += `${more === "" ? "" : " "}${mark}`;
        else bars += ` bar-${mark}`;
      });
      const unread = read || tensors.length === 0 || storage.freed ? "" : " unread";
      const state = storage.freed || cell >= present ? " gone" : "";
      const shared = marks.length > 1 ? bars : "";
      this.dress(cell, `cell${on ? litClass : ""}${shared}${hot ? " hot" : ""}${unread}${state}`, this.textOf(value, storage), more, hot);
    }
  }

  private textOf(value: Value, storage: StorageNow): string {
    if (storage.freed || this.as === null || this.box.room === 0) return "";
    if (value === null) return storage.device === "meta" || storage.bytes === null ? "" : "?";
    return shortText(value, this.as.dtype, this.box.room);
  }

  private dress(cell: number, className: string, text: string, more: string, hot: boolean): void {
    const box = this.cells[cell];
    const value = this.values[cell];
    if (box === undefined || value === undefined) return;
    const ring = cell === this.ring ? " ring" : "";
    if (box.className !== className + ring) box.className = className + ring;
    const strip = this.stripCells[cell];
    if (strip !== undefined) strip.className = className.replace(/^cell/, "strip-cell") + ring;
    if (value.textContent !== text) value.textContent = text;
    if ((box.dataset["more"] ?? "") !== more) {
      if (more === "") delete box.dataset["more"];
      else box.dataset["more"] = more;
    }
    if (hot) pulse(box);
  }

  private covered(tensor: TensorNow): Uint8Array {
    const window = windowOf(tensor);
    if (window === null) return new Uint8Array(this.count);
    return coverageOfBytes(window.view, window.itemSize, this.place.cellSize, this.count);
  }

  private moveRing(cell: number): void {
    if (cell === this.ring) return;
    for (const box of [this.cells[this.ring], this.stripCells[this.ring]]) box?.classList.remove("ring");
    const tabbed = Math.max(0, cell);
    const old = this.cells[Math.max(0, this.ring)];
    if (old !== undefined) old.tabIndex = -1;
    const next = this.cells[tabbed];
    if (next !== undefined) next.tabIndex = 0;
    for (const box of [this.cells[cell], this.stripCells[cell]]) box?.classList.add("ring");
    this.ring = cell;
  }

  private listen(root: HTMLElement, cells: readonly HTMLElement[]): void {
    const cellOf = (event: Event): number => {
      const box = event.target instanceof Element ? event.target.closest(".cell, .strip-cell") : null;
      return box instanceof HTMLElement ? cells.indexOf(box) : -1;
    };
    root.addEventListener("pointermove", (event) => {
      if (event.pointerType === "touch") return;
      const cell = cellOf(event);
      window.clearTimeout(this.resting);
      if (this.looking?.storage === this.storage) this.pickCell(cell);
      // Another storage: only when the pointer comes to rest, so that crossing it leaves the read-out alone.
      else this.resting = window.setTimeout(() => this.pickCell(cell), 40);
    });
    root.addEventListener("pointerleave", () => window.clearTimeout(this.resting));
    root.addEventListener("click", (event) => this.pickCell(cellOf(event)));
    root.addEventListener("focusin", (event) => this.pickCell(cellOf(event)));
    root.addEventListener("keydown", (event) => {
      const to = moved(event.key, cellOf(event), this.place.grid.columns, this.count);
      if (to === null || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      event.stopPropagation();
      cells[to]?.focus();
    });
  }

  private pickCell(cell: number): void {
    if (cell < 0 || this.state === null || (cell === this.ring && this.looking?.storage === this.storage)) return;
    pick(this.root, focusOnByte(this.state, this.storage, cell * this.place.cellSize, this.looking?.tensor ?? null));
  }
}

/** The cell an arrow key leads to, or null for other keys. */
export function moved(key: string, cell: number, columns: number, count: number): number | null {
  if (cell < 0) return null;
  const start = cell - (cell % columns);
  const to: Readonly<Record<string, number>> = {
    ArrowLeft: cell - 1,
    ArrowRight: cell + 1,
    ArrowUp: cell - columns,
    ArrowDown: cell + columns,
    Home: start,
    End: Math.min(count, start + columns) - 1,
    PageUp: cell % columns,
    PageDown: count - 1,
  };
  const target = to[key];
  if (target === undefined) return null;
  return target < 0 || target >= count ? cell : target;
}

const identities = new WeakMap<object, number>();
let identified = 0;

/** A number that is the same for the same object: cheaper to compare than what is in it. */
export function identity(object: object | null): number {
  if (object === null) return 0;
  const known = identities.get(object) ?? ++identified;
  identities.set(object, known);
  return known;
}

function pulse(box: HTMLElement): void {
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  box.animate([{ opacity: 0.25 }, { opacity: 1 }], { duration: 300, iterations: 2, easing: "ease-out" });
}

const LARGE = { base: 61, height: 44, font: 14, gap: 4, numbered: true };
const MEDIUM = { base: 44, height: 40, font: 12.5, gap: 3, numbered: true };
const MIDDLE = { base: 42, height: 32, font: 12.5, gap: 3, numbered: false };
const SMALL = { base: 30, height: 24, font: 12, gap: 2, numbered: false };

function cellBox(place: Place, dense: number): CellBox {
  const { columns, rows } = place.grid;
  const roomy = columns <= 6 && rows <= 4;
  const shared = roomy && dense < 2 ? LARGE : MEDIUM;
  const { base, height, font, gap, numbered } = place.kind === "shared" ? shared : roomy && dense === 0 ? MIDDLE : SMALL;
  const character = font * CHARACTER;
  const most = Math.floor(WIDEST / columns) - gap;
  const width = Math.max(8, Math.min(most, Math.max(base, Math.ceil(place.room * character + 10))));
  const room = Math.floor((width - 6) / character);
  const flat = rows > 10 ? Math.min(height, 24) : height;
  return { width, height: flat, gap, font, room: room < 2 ? (width >= 14 ? 1 : 0) : room, numbered: numbered && flat === height && width >= 34 };
}

/** What a cell holds and held, in full, for the read-out. */
export function cellText(bytes: Uint8Array | null | undefined, byte: number, as: ReadAs): string | null {
  const value = bytes === null || bytes === undefined ? null : readValue(bytes, byte, as);
  return value === null ? null : exactText(value, as.dtype);
}
