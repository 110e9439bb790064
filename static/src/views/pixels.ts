/**
 * A storage of more cells than can be elements: a canvas with a pixel a cell, enlarged by the stylesheet.
 *
 * Beyond 2^20 cells a pixel stands for several, and says what its first one holds. Shades show values
 * where bytes were recorded; what is known of others is for `tile-art`. The ring is an element above the
 * canvas, so that pointing repaints nothing.
 */
import type { Place } from "../layout/devices";
import { focusOnByte, tensorsOn, windowOf, type Looking } from "../layout/focus";
import { coverageOfBytes, indexAt } from "../layout/storage";
import { readValue, type ReadAs } from "../layout/values";
import type { State, StorageNow, TensorNow } from "../model/state";
import { el } from "./dom";
import { identity, moved } from "./pointing";
import type { Dots } from "./tile-art";
import type { TilesLater } from "./tiles-later";
import { pick, type Say } from "./view";

const WIDEST = 300;
const HIGHEST = 200;
const MOST_CELLS = 2 ** 20;
const COARSE_COLUMNS = 256; // of cells that share a pixel, as many rows and columns
const LOW = 0.18; // share of ink at the smallest value
const HIGH = 0.85;

const NOTE_WIDTH = 200;
const NOTE_HEIGHT = 38;
const LEGEND_HEIGHT = 22;
/** Storages up to this size are recorded whole. */
const SMALL_BYTES = 8192;

type Colour = readonly [number, number, number];

export class Pixels {
  readonly root: HTMLElement;
  private readonly canvas: HTMLCanvasElement;
  private readonly ringBox = el("div", { class: "pixel-ring", hidden: true });
  private readonly cellLabel: HTMLElement;
  private readonly frame: HTMLElement;
  private readonly columns: number;
  private readonly rows: number;
  /** Cells per pixel. */
  private readonly each: number;
  private readonly scale: readonly [number, number];
  private readonly hasNote: boolean;
  private readonly dots: Dots;
  /** From what to what the shades go; null for storages that are recorded whole. */
  private readonly legend: HTMLElement | null;
  private painted = "";
  private pixel = -1;
  private state: State | null = null;
  private looking: Looking | null = null;
  private resting = 0;

  constructor(
    private readonly place: Place,
    private readonly storage: number,
    private readonly as: ReadAs | null,
    private readonly marks: ReadonlyMap<number, number>,
    private readonly say: Say,
    private readonly art: TilesLater | null,
  ) {
    const { cells, columns, rows } = place.grid;
    this.each = cells <= MOST_CELLS ? 1 : Math.ceil(cells / COARSE_COLUMNS ** 2);
    this.columns = this.each === 1 ? columns : COARSE_COLUMNS;
    this.rows = this.each === 1 ? rows : Math.ceil(cells / this.each / this.columns);
    const fit = Math.min(WIDEST / this.columns, HIGHEST / this.rows);
    const scale = fit >= 1 ? Math.floor(fit) : fit;
    // A long thin one is widened, so that a row can be pointed at.
    this.scale = [Math.max(scale, Math.min(6, 24 / this.columns)), Math.max(scale, Math.min(6, 24 / this.rows))];
    this.canvas = el("canvas", { width: this.columns, height: this.rows, "aria-hidden": "true" });
    this.canvas.classList.toggle("shrunk", fit < 1);
    this.canvas.style.setProperty("width", `${this.columns * this.scale[0]}px`);
    this.canvas.style.setProperty("height", `${this.rows * this.scale[1]}px`);
    const id = `pixel-${storage}-${identity(this)}`;
    this.cellLabel = el("div", { class: "visually-hidden", role: "gridcell", id });
    this.frame = el(
      "div",
      {
        class: "pixels",
        role: "grid",
        tabindex: 0,
        "aria-label": say("ui.memory.gridLabel", { storage: `S${storage}` }),
        "aria-rowcount": this.rows,
        "aria-colcount": this.columns,
        "aria-activedescendant": id,
      },
      this.canvas,
      this.ringBox,
      el("div", { role: "row" }, this.cellLabel),
    );
    const several = this.each > 1 ? say("ui.memory.cellsPerPixel", { n: this.each }) : null;
    const wrapped = place.grid.shaped && this.each === 1 ? null : say("ui.memory.wrapped", { n: this.columns * this.each });
    const note = [wrapped, several].filter((text) => text !== null).join(" · ");
    this.hasNote = note !== "";
    this.dots = { count: Math.ceil(cells / this.each), columns: this.columns, scale: this.scale, bytes: this.each * place.cellSize };
    this.legend = art !== null && cells * place.cellSize > SMALL_BYTES ? el("p", { class: "tile-legend", role: "img" }) : null;
    this.root = el("div", { class: "cells" }, this.frame, this.legend, this.hasNote ? el("p", { class: "note" }, note) : null);
    this.listen();
  }

  /** Width and height with the line of words below. */
  size(): readonly [number, number] {
    const width = Math.max(this.columns * this.scale[0], this.hasNote || this.legend !== null ? NOTE_WIDTH : 0);
    return [width, this.rows * this.scale[1] + (this.hasNote ? NOTE_HEIGHT : 0) + (this.legend === null ? 0 : LEGEND_HEIGHT)];
  }

  show(state: State, storage: StorageNow, looking: Looking): void {
    this.state = state;
    this.looking = looking;
    const here = looking.storage === storage.id;
    const tensors = tensorsOn(state, storage);
    const lit = here ? (tensors.find((tensor) => tensor.id === looking.tensor) ?? null) : null;
    const views = tensors.map((tensor) => `${tensor.id}:${identity(tensor.view)}`).join();
    const theme = getComputedStyle(this.frame).getPropertyValue("--cell");
    const changed = this.art?.now?.changed(state, storage, this.dots) ?? null;
    const write = changed === null ? "" : state.step;
    const key = [identity(storage.bytes), identity(storage.tiles), storage.freed, views, lit?.id ?? "", theme, write, this.art?.now != null].join("|");
    if (key !== this.painted) {
      this.paint(storage, tensors, lit, changed);
      if (this.legend !== null) this.art?.now?.writeLegend(this.legend, storage, state, this.say, this.inks(lit));
    }
    this.painted = key;
    const cell = here && looking.byte !== null && !storage.freed ? Math.floor(looking.byte / this.place.cellSize) : -1;
    this.moveRing(cell < 0 ? -1 : Math.floor(cell / this.each), cell);
  }

  private paint(storage: StorageNow, tensors: readonly TensorNow[], lit: TensorNow | null, changed: ((pixel: number) => boolean) | null): void {
    const cells = this.place.grid.cells;
    const pixels = this.dots.count;
    const image = new ImageData(this.columns, this.rows);
    const words = new Uint32Array(image.data.buffer);
    const shades = storage.freed ? null : (this.shades(storage, cells) ?? this.art?.now?.shades(storage, this.dots) ?? null);
    const plain = ramp(this.colour("--cell"), this.colour("--line3"));
    const [from, to] = this.inks(lit);
    const bright = ramp(this.colour(from), this.colour(to));
    const dark = packed(this.colour("--card"));
    const litCover = lit === null ? null : this.covered(lit, pixels);
    const named = tensors.filter((tensor) => tensor.names.length > 0 && tensor !== lit);
    const covers = named.map((tensor) => this.covered(tensor, pixels));
    for (let pixel = 0; pixel < pixels; pixel++) {
      const shade = shades === null ? 0 : (shades[pixel] ?? 0);
      const on = litCover?.[pixel] === 1;
      const read = on || storage.freed || tensors.length === 0 || covers.some((cover) => cover[pixel] === 1);
      words[pixel] = storage.freed || !read ? dark : ((on ? bright : plain)[shade] ?? dark);
    }
    if (changed !== null && !storage.freed) this.art?.now?.frame(words, this.dots, changed, packed(this.colour("--data")));
    this.canvas.getContext("2d")?.putImageData(image, 0, 0);
    this.frame.classList.toggle("gone", storage.freed);
  }

  /** The tokens of the ramp in which a tensor's cells are shaded. */
  private inks(lit: TensorNow | null): readonly [string, string] {
    const mark = lit === null ? 0 : (this.marks.get(lit.id) ?? 0);
    return [mark > 0 && mark <= 4 ? `--v${mark}` : lit === null ? "--cell" : "--line3", lit === null ? "--line3" : "--vink"];
  }

  /** The place of each value between the smallest and the largest, 0 to 255; null when not recorded. */
  private shades(storage: StorageNow, cells: number): Uint8Array | null {
    const { bytes } = storage;
    if (bytes === null || this.as === null || this.each > 1) return null;
    const numbers = new Float64Array(cells);
    for (let cell = 0; cell < cells; cell++) {
      const value = readValue(bytes, cell * this.place.cellSize, this.as);
      numbers[cell] = Array.isArray(value) ? Math.hypot(value[0], value[1]) : Number(value ?? Number.NaN);
    }
    const finite = numbers.filter((number) => Number.isFinite(number));
    const low = finite.reduce((a, b) => Math.min(a, b), Infinity);
    const span = finite.reduce((a, b) => Math.max(a, b), -Infinity) - low;
    return Uint8Array.from(numbers, (number) => (span > 0 && Number.isFinite(number) ? ((number - low) / span) * 255 : 0));
  }

  private covered(tensor: TensorNow, pixels: number): Uint8Array {
    const window = windowOf(tensor);
    if (window === null) return new Uint8Array(pixels);
    const { view, itemSize } = window;
    const { cellSize } = this.place;
    if (this.each === 1) return coverageOfBytes(view, itemSize, cellSize, pixels);
    return Uint8Array.from({ length: pixels }, (_, pixel) =>
      indexAt(view, Math.floor((pixel * this.each * cellSize) / itemSize)) === null ? 0 : 1,
    );
  }

  private colour(token: string): Colour {
    const hex = getComputedStyle(this.frame).getPropertyValue(token).trim().replace("#", "");
    const full = hex.length === 3 ? [...hex].map((digit) => digit + digit).join("") : hex;
    const number = Number.parseInt(full, 16) || 0;
    return [(number >> 16) & 255, (number >> 8) & 255, number & 255];
  }

  private moveRing(pixel: number, cell: number): void {
    if (pixel === this.pixel) return;
    this.pixel = pixel;
    this.ringBox.hidden = pixel < 0;
    if (pixel < 0) {
      this.cellLabel.textContent = "";
      return;
    }
    const [width, height] = this.scale;
    const row = Math.floor(pixel / this.columns);
    const { style } = this.ringBox;
    style.setProperty("left", `${((pixel % this.columns) + 0.5) * width}px`);
    style.setProperty("top", `${(row + 0.5) * height}px`);
    style.setProperty("width", `${Math.max(10, width + 4)}px`);
    style.setProperty("height", `${Math.max(10, height + 4)}px`);
    this.cellLabel.textContent = this.say("ui.memory.cellLabel", { storage: `S${this.storage}`, cell, row: row + 1, column: (pixel % this.columns) + 1 });
  }

  private listen(): void {
    const pixelOf = (event: PointerEvent | MouseEvent): number => {
      const box = this.canvas.getBoundingClientRect();
      const column = Math.floor(((event.clientX - box.left) / box.width) * this.columns);
      const row = Math.floor(((event.clientY - box.top) / box.height) * this.rows);
      return column < 0 || row < 0 || column >= this.columns || row >= this.rows ? -1 : row * this.columns + column;
    };
    this.frame.addEventListener("pointermove", (event) => {
      if (event.pointerType === "touch") return;
      window.clearTimeout(this.resting);
      const pixel = pixelOf(event);
      if (this.looking?.storage === this.storage) this.pickPixel(pixel);
      else this.resting = window.setTimeout(() => this.pickPixel(pixel), 40);
    });
    this.frame.addEventListener("pointerleave", () => window.clearTimeout(this.resting));
    this.frame.addEventListener("click", (event) => this.pickPixel(pixelOf(event)));
    this.frame.addEventListener("keydown", (event) => {
      const pixels = Math.ceil(this.place.grid.cells / this.each);
      const to = moved(event.key, Math.max(0, this.pixel), this.columns, pixels);
      if (to === null || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      event.stopPropagation();
      this.pickPixel(to);
    });
  }

  private pickPixel(pixel: number): void {
    const cell = pixel * this.each;
    if (pixel < 0 || cell >= this.place.grid.cells || this.state === null || pixel === this.pixel) return;
    pick(this.root, focusOnByte(this.state, this.storage, cell * this.place.cellSize, this.looking?.tensor ?? null));
  }
}

/** 256 packed colours from one to another, by share of ink. */
function ramp(from: Colour, to: Colour): Uint32Array {
  return Uint32Array.from({ length: 256 }, (_, i) => {
    const share = i === 0 ? 0 : LOW + ((HIGH - LOW) * i) / 255;
    return packed([0, 1, 2].map((c) => Math.round((from[c] ?? 0) * (1 - share) + (to[c] ?? 0) * share)));
  });
}

function packed(colour: readonly number[]): number {
  const bytes = Uint8Array.from([colour[0] ?? 0, colour[1] ?? 0, colour[2] ?? 0, 255]);
  return new Uint32Array(bytes.buffer)[0] ?? 0;
}
