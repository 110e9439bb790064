/**
 * One place of the Memory panel and the storage that stands in it: label, cells, strip of addresses.
 *
 * Cells are elements, so only for storages of up to 400; `pixels.ts` draws larger ones. Built once
 * per storage and then repainted where something differs.
 */
import { type Place } from "../layout/devices";
import { focusOnByte, tensorsOn, windowOf, type Looking } from "../layout/focus";
import { coverageOfBytes } from "../layout/storage";
import { readValue, sameValue, shortText, type ReadAs, type Value } from "../layout/values";
import type { State, StorageNow, TensorNow } from "../model/state";
import { markClass } from "./badge";
import { cellBox, type CellBox } from "./cellbox";
import { el, svg } from "./dom";
import { identity, moved } from "./pointing";
import { Strip, stripMeasures, type StripMeasures } from "./strip";
import { pick, type Say } from "./view";

// As in memory.css.
const STRIP_MARGIN = 12;
const BLOCK_GAP = 7;

/** The cells of a storage, as grid and as strip. */
export class Cells {
  readonly root: HTMLElement;
  private readonly grid: HTMLElement;
  /** Made when it is first shown. */
  private strip: Strip | null = null;
  private readonly cells: HTMLElement[] = [];
  private readonly values: HTMLElement[] = [];
  /** What each cell shows, to leave alone what stays. */
  private readonly dressed: string[] = [];
  private readonly box: CellBox;
  private readonly count: number;
  private readonly measures: StripMeasures;
  private painted = "";
  private ring = -1;
  private state: State | null = null;
  private looking: Looking | null = null;
  private resting = 0;
  private veil: Element | null = null;

  constructor(
    private readonly place: Place,
    private storage: number,
    private as: ReadAs | null,
    private readonly marks: ReadonlyMap<number, number>,
    private readonly say: Say,
    nbytes: number,
    private address: string,
    dense: number,
  ) {
    this.count = Math.floor(nbytes / place.cellSize);
    this.box = cellBox(place, dense);
    const { width, gap, font } = this.box;
    this.measures = stripMeasures(this.count, (width + gap) * place.grid.columns - gap, width, font);
    this.grid = this.buildGrid();
    this.name();
    this.root = el("div", { class: `cells cells-${place.kind}` }, this.grid);
    this.listen(this.grid, this.cells, place.grid.columns);
  }

  /** Show another storage of as many cells, which stands in the place now; false if it has more or fewer. */
  become(storage: number, as: ReadAs | null, nbytes: number, address: string): boolean {
    if (Math.floor(nbytes / this.place.cellSize) !== this.count) return false;
    this.strip?.root.remove();
    this.strip = null;
    this.veil?.remove();
    [this.storage, this.as, this.address, this.painted] = [storage, as, address, ""];
    this.name();
    return true;
  }

  /** Width and height of the cells, as grid or as strip. */
  size(mode: "grid" | "strip"): readonly [number, number] {
    const { width, height, gap } = this.box;
    const { columns, block } = this.place.grid;
    const rows = Math.ceil(this.count / columns);
    const wide = columns * (width + gap) - gap;
    if (mode === "strip") return this.measures.sizeAlone;
    const strip = this.measures.size;
    const apart = block > 0 ? Math.floor((rows - 1) / block) * BLOCK_GAP : 0;
    const high = rows * (height + gap) - gap + apart;
    return this.place.kind === "shared" ? [Math.max(wide, strip[0]), high + STRIP_MARGIN + strip[1]] : [wide, high];
  }

  show(state: State, storage: StorageNow, looking: Looking, strips: boolean): void {
    if ((strips || this.place.kind === "shared") && this.strip === null) this.addStrip();
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
    this.strip?.alone(strips, this.ring);
    this.moveRing(here && looking.byte !== null && !storage.freed ? Math.floor(looking.byte / this.place.cellSize) : -1);
  }

  private buildGrid(): HTMLElement {
    const { grid } = this.place;
    const { width, height, gap, font, numbered } = this.box;
    const root = el("div", { class: numbered ? "grid numbered" : "grid", role: "grid" });
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

  private name(): void {
    this.grid.setAttribute("aria-label", this.say("ui.memory.gridLabel", { storage: `S${this.storage}` }));
  }

  private addStrip(): void {
    this.strip = new Strip(this.measures, this.storage, this.place.cellSize, this.address, this.say);
    this.root.append(this.strip.root);
    this.listen(this.strip.root, this.strip.cells, this.measures.perLineAlone);
    this.dressed.length = 0;
    this.painted = "";
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
    const changed: number[] = [];
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
      this.dress(cell, `${on ? litClass : ""}${shared}${hot ? " hot" : ""}${unread}${state}`, this.textOf(value, storage), more);
      if (hot) changed.push(cell);
    }
    this.unveil(changed);
  }

  /** Cells that changed come out from under one veil: an animation of each would be a picture of its own to the browser. */
  private unveil(changed: readonly number[]): void {
    this.veil?.remove();
    if (changed.length === 0 || matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    const { width, height, gap } = this.box;
    const { columns, block } = this.place.grid;
    const d = changed.map((cell) => {
      const row = Math.floor(cell / columns);
      const apart = block > 0 ? Math.floor(row / block) * BLOCK_GAP : 0;
      return `M${(cell % columns) * (width + gap)} ${row * (height + gap) + apart}h${width}v${height}h-${width}`;
    });
    const veil = svg("svg", { class: "veil", "aria-hidden": "true" }, svg("path", { d: d.join("") }));
    this.grid.append(veil);
    this.veil = veil;
    const fading = veil.animate([{ opacity: 0.75 }, { opacity: 0 }], { duration: 300, iterations: 2, easing: "ease-out" });
    fading.onfinish = () => veil.remove();
  }

  private textOf(value: Value, storage: StorageNow): string {
    if (storage.freed || this.as === null || this.box.room === 0) return "";
    if (value === null) return storage.device === "meta" || storage.bytes === null ? "" : "?";
    const text = shortText(value, this.as.dtype, this.box.room);
    return text.length <= this.box.room ? text : "…";
  }

  private dress(cell: number, className: string, text: string, more: string): void {
    const box = this.cells[cell];
    const value = this.values[cell];
    if (box === undefined || value === undefined) return;
    const ring = cell === this.ring ? " ring" : "";
    const dressed = `${className}${ring}|${text}|${more}`;
    if (this.dressed[cell] === dressed) return;
    this.dressed[cell] = dressed;
    box.className = `cell${className}${ring}`;
    // The text node stays: another one would be a change of structure, dearer to lay out than other words.
    if (value.firstChild instanceof Text) value.firstChild.data = text;
    else value.textContent = text;
    if (more === "") delete box.dataset["more"];
    else box.dataset["more"] = more;
    this.strip?.dress(cell, className + ring, text);
  }

  private covered(tensor: TensorNow): Uint8Array {
    const window = windowOf(tensor);
    if (window === null) return new Uint8Array(this.count);
    return coverageOfBytes(window.view, window.itemSize, this.place.cellSize, this.count);
  }

  private moveRing(cell: number): void {
    if (cell === this.ring) return;
    for (const cells of [this.cells, this.strip?.cells ?? []]) {
      const [old, next] = [cells[Math.max(0, this.ring)], cells[Math.max(0, cell)]];
      if (old !== undefined && next !== undefined && old.tabIndex === 0) [old.tabIndex, next.tabIndex] = [-1, 0];
      cells[this.ring]?.classList.remove("ring");
      cells[cell]?.classList.add("ring");
    }
    delete this.dressed[this.ring];
    delete this.dressed[cell];
    this.ring = cell;
  }

  private listen(root: HTMLElement, cells: readonly HTMLElement[], columns: number): void {
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
      const to = moved(event.key, cellOf(event), columns, this.count);
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
