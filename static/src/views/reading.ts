/**
 * The tensor looked at in its own form: the values in the order its indices give them.
 *
 * Beside the storage's cells it shows what strides and dtypes do: the same cells, read another way. Only
 * where it differs from the storage's own picture, and for up to 64 elements.
 */
import { elementAtByte, windowOf, type Looking, type Window } from "../layout/focus";
import { cellsOf, gridShape, isIndexOf, numel, type Strided } from "../layout/storage";
import { readValue, shortText } from "../layout/values";
import type { State, StorageNow } from "../model/state";
import { markClass, tuple } from "./badge";
import { el } from "./dom";
import { moved } from "./pointing";
import { nameOf } from "./readout";
import { pick, type Say } from "./view";

const MOST = 64;
const WIDEST_ROW = 12;
const ROOM = 6;

export class ReadingPicture {
  readonly root = el("div", { class: "reading", hidden: true });
  private readonly title = el("h4", { class: "readout-title" });
  private readonly grid = el("div", { class: "reading-grid", role: "grid" });
  private cells: HTMLElement[] = [];
  private indices: readonly (readonly number[])[] = [];
  private columns = 1;
  private target: { readonly storage: number; readonly tensor: number } | null = null;
  private built = "";

  constructor(
    private readonly say: Say,
    private readonly marks: ReadonlyMap<number, number>,
    /** Storage id → the dtype its cells are drawn in. */
    private readonly dtypes: ReadonlyMap<number, string>,
  ) {
    this.root.append(this.title, this.grid);
    this.listen();
  }

  show(state: State, storage: StorageNow, looking: Looking): void {
    const tensor = looking.tensor === null ? undefined : state.tensors.get(looking.tensor);
    const window = tensor === undefined || storage.freed || storage.bytes === null ? null : windowOf(tensor);
    const drawnAs = this.dtypes.get(storage.id);
    const shown = window !== null && storage.bytes !== null && differs(window, storage, drawnAs);
    this.root.hidden = !shown;
    if (window === null || tensor === undefined || storage.bytes === null || !shown) {
      this.clear();
      return;
    }
    this.title.textContent = this.say("ui.memory.reads", { name: nameOf(tensor, this.say), shape: tuple(window.view.shape) });
    this.grid.setAttribute("aria-label", this.title.textContent);
    this.build(window, tensor.id);
    this.target = { storage: storage.id, tensor: tensor.id };
    const { bytes } = storage;
    const before = state.written.get(storage.id) ?? null;
    const ring = looking.byte === null ? null : elementAtByte(window, looking.byte);
    const at = looking.index ?? ring;
    const mark = markClass(this.marks.get(tensor.id) ?? 0);
    const places = cellsOf(window.view);
    const lit = looking.byte === null ? -1 : Math.floor(looking.byte / window.itemSize);
    this.cells.forEach((cell, i) => {
      const place = places[i] ?? 0;
      const value = readValue(bytes, place * window.itemSize, tensor.view);
      const text = shortText(value, tensor.view.dtype, ROOM);
      const was = before === null ? text : shortText(readValue(before, place * window.itemSize, tensor.view), tensor.view.dtype, ROOM);
      const here = this.indices[i]?.join() === at?.join();
      cell.className = `reading-cell${place === lit ? ` on ${mark}` : ""}${was === text ? "" : " hot"}${here ? " ring" : ""}`;
      cell.tabIndex = here ? 0 : -1;
      if (cell.textContent !== text) cell.textContent = text;
    });
  }

  clear(): void {
    this.root.hidden = true;
    this.built = "";
    this.title.textContent = "";
    this.grid.removeAttribute("aria-label");
    this.grid.replaceChildren();
  }

  private build(window: Window, tensor: number): void {
    const { shape } = window.view;
    const key = `${tensor}|${shape.join()}`;
    if (key === this.built) return;
    this.built = key;
    this.indices = indicesOf(shape);
    this.columns = shape.at(-1) ?? 1;
    const block = shape.length > 2 ? (shape.at(-2) ?? 1) : 0;
    this.cells = this.indices.map(() => el("div", { class: "reading-cell", role: "gridcell", tabindex: -1 }));
    const rows: HTMLElement[] = [];
    for (let at = 0; at < this.cells.length; at += this.columns) {
      const apart = block > 0 && rows.length > 0 && rows.length % block === 0;
      rows.push(el("div", { class: apart ? "reading-row row-apart" : "reading-row", role: "row" }, ...this.cells.slice(at, at + this.columns)));
    }
    this.grid.replaceChildren(...rows);
  }

  private listen(): void {
    const at = (event: Event): number => (event.target instanceof HTMLElement ? this.cells.indexOf(event.target) : -1);
    const choose = (i: number): void => {
      const index = this.indices[i];
      if (index === undefined || this.target === null || this.cells[i]?.classList.contains("ring") === true) return;
      pick(this.grid, { ...this.target, index });
    };
    this.grid.addEventListener("pointermove", (event) => (event.pointerType === "touch" ? undefined : choose(at(event))));
    this.grid.addEventListener("click", (event) => choose(at(event)));
    this.grid.addEventListener("focusin", (event) => choose(at(event)));
    this.grid.addEventListener("keydown", (event) => {
      const to = moved(event.key, at(event), this.columns, this.cells.length);
      if (to === null || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      event.stopPropagation();
      this.cells[to]?.focus();
    });
  }
}

/** The view's values do not stand in the storage's picture as they are, row by row. */
function differs({ tensor, view, itemSize }: Window, storage: StorageNow, drawnAs: string | undefined): boolean {
  const elements = numel(view.shape);
  if (view.shape.length === 0 || elements === 0 || elements > MOST || (view.shape.at(-1) ?? 0) > WIDEST_ROW) return false;
  if (tensor.view.is_conj || tensor.view.is_neg || tensor.view.dtype !== drawnAs) return true;
  const cells = cellsOf(view);
  const whole = cells.length === Math.floor(storage.nbytes / itemSize) && cells.every((cell, i) => cell === i);
  return !whole || gridShape(contiguous(view.shape), cells.length).columns !== (view.shape.at(-1) ?? 1);
}

function contiguous(shape: readonly number[]): Strided {
  return { shape, stride: shape.map((_, d) => numel(shape.slice(d + 1))), offset: 0 };
}

/** All indices of a shape, the last dimension fastest. */
function indicesOf(shape: readonly number[]): number[][] {
  const all = shape.reduce<number[][]>((list, size) => list.flatMap((index) => Array.from({ length: size }, (_, i) => [...index, i])), [[]]);
  return all.filter((index) => isIndexOf(shape, index));
}
