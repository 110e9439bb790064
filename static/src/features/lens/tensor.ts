/**
 * One tensor in any two of its dimensions, or its whole storage in address order, and below it its cells in one
 * line with its strides as jumps.
 *
 * The other dimensions have steppers. A value that was not recorded is hatched, never made up: of large
 * tensors PyTorch's own figures, the first values and those of tiles are known.
 */
import { jumpsAlong } from "../../layout/jumps";
import { byteReaderOf, readerOf } from "../../layout/reads";
import { cellAt, gridShape, indexAt, numel } from "../../layout/storage";
import { figureText } from "../../layout/tiles";
import { exactText, itemSize as sizeOf, readValue, shortText } from "../../layout/values";
import type { State, StorageNow, TensorNow } from "../../model/state";
import { tensorsOn, windowOf, type Window } from "../../layout/focus";
import { element, tuple } from "../../views/badge";
import { el } from "../../views/dom";
import { nameOf, originText, Readout } from "../../views/readout";
import { tileOfByte, tileWords } from "../../views/tile";
import { legendWords, TileArt } from "../../views/tile-art";
import { TilesLater } from "../../views/tiles-later";
import { pick, type Say } from "../../views/view";
import { AddressLine, type Track } from "./address";
import { Field } from "./field";
import type { FieldModel } from "./field-model";
import { Known } from "./known";
import type { Lens, Scene } from "./scene";

const ROOM = 6;
/** Cells from which a grid begins with all of them in sight, where their values were not recorded. */
const MANY = 4096;

type Order = "shape" | "address";

export class TensorLens implements Lens {
  readonly root: HTMLElement;
  private readonly dims = el("div", { class: "lens-dims" });
  private readonly orders: HTMLElement;
  private order: Order = "shape";
  private readonly shades = el("p", { class: "lens-shades small mute", hidden: true });
  private readonly field: Field;
  private readonly line: AddressLine;
  private readonly readout: Readout;
  private readonly note = el("p", { class: "lens-note" });
  private readonly figures = el("p", { class: "lens-figures" });
  private readonly legend = el("p", { class: "lens-legend small mute" });
  private scene: Scene | null = null;
  /** Which dimensions are rows and columns; -1 for none. */
  private rows = -1;
  private columns = -1;
  private form = "";

  constructor(
    private readonly say: Say,
    private readonly marks: ReadonlyMap<number, number>,
  ) {
    const tiles = new TilesLater();
    tiles.now = new TileArt();
    this.field = new Field(say);
    this.line = new AddressLine(say);
    this.readout = new Readout(say, marks, tiles);
    const side = el("div", { class: "lens-side" }, el("h3", { class: "visually-hidden" }, say("ui.lens.element")), this.readout.root, this.figures, this.note);
    this.orders = this.orderButtons();
    const head = el("div", { class: "lens-head" }, this.orders, this.dims);
    this.root = el("div", { class: "lens-tensor" }, el("div", { class: "lens-main" }, head, this.field.root, this.shades, this.line.root, this.legend), side);
  }

  /** All of the storage in address order; at a cell, so near that it can be read. */
  showStorage(near: boolean): void {
    this.arrange("address");
    const ring = this.ring;
    if (near && ring !== null) this.field.near(...ring);
  }

  private ring: readonly [number, number] | null = null;

  private orderButtons(): HTMLElement {
    const group = el("div", { class: "segments", role: "group", "aria-label": this.say("ui.lens.order") });
    for (const order of ["shape", "address"] as const) {
      const button = el("button", { type: "button", "data-order": order, "aria-pressed": String(order === this.order) }, this.say(`ui.lens.order.${order}`));
      button.addEventListener("click", () => this.arrange(order));
      group.append(button);
    }
    return group;
  }

  private arrange(order: Order): void {
    this.order = order;
    for (const button of this.orders.querySelectorAll("button")) button.setAttribute("aria-pressed", String(button.dataset["order"] === order));
    if (this.scene !== null) this.show(this.scene);
  }

  show(scene: Scene): void {
    this.scene = scene;
    const { say } = this;
    const { window, tensor, storage, state, looking } = scene;
    const readable = window !== null && tensor !== null && storage !== null && !storage.freed;
    const empty = readable && window.view.shape.includes(0);
    this.field.root.hidden = this.line.root.hidden = !readable || empty;
    this.legend.hidden = !readable || empty || window.view.shape.length === 0;
    this.figures.replaceChildren();
    this.readout.root.hidden = empty;
    this.orders.hidden = !readable || empty;
    this.dims.hidden = empty || this.order === "address";
    this.shades.hidden = true;
    if (storage === null) this.readout.clear();
    else this.readout.show(state, storage, looking);
    if (!readable) {
      this.dims.replaceChildren();
      this.form = "";
      this.note.textContent = say(tensor === null ? "ui.lens.nothing" : "ui.lens.noStrides");
      return;
    }
    const { shape } = window.view;
    const form = `${tensor.id} ${shape.join()}`;
    if (form !== this.form) {
      this.rows = shape.length - 2;
      this.columns = shape.length - 1;
    }
    const index = looking.index ?? shape.map(() => 0);
    if (form !== this.form || this.dims.childElementCount === 0) this.buildDims(shape);
    this.form = form;
    this.showDims(shape, index);
    this.note.textContent = empty ? say("ui.lens.empty", { name: nameOf(tensor, say), shape: tuple(shape) }) : shape.length === 0 ? say("ui.lens.scalar", { name: nameOf(tensor, say) }) : "";
    if (!empty) this.draw(state, storage, tensor, window, index);
  }

  private draw(state: State, storage: StorageNow, tensor: TensorNow, window: Window, index: readonly number[]): void {
    const { say } = this;
    const { view } = window;
    const { shape } = view;
    const values = new Known(state, storage, tensor, window);
    const model = this.order === "shape" ? this.inShape(state, storage, tensor, window, values, index) : this.inAddressOrder(state, storage, tensor, window, values);
    this.ring = model.ring;
    this.field.show(model);
    this.drawLine(state, storage, tensor, window, index, values);
    this.writeShades(values, tensor);
    this.writeFigures(state, storage, tensor, values, cellAt(view, index), numel(shape), index);
    this.legend.textContent = say(shape.length < 2 ? "ui.lens.legend1" : "ui.lens.legend2", { columns: this.columns, rows: this.rows });
  }

  /** The tensor as its indices give it. */
  private inShape(state: State, storage: StorageNow, tensor: TensorNow, { view }: Window, values: Known, index: readonly number[]): FieldModel {
    const { say } = this;
    const { shape } = view;
    const [rows, columns] = [shape[this.rows] ?? 1, shape[this.columns] ?? 1];
    const at = (row: number, column: number): number[] => {
      const found = [...index];
      if (this.rows >= 0) found[this.rows] = row;
      if (this.columns >= 0) found[this.columns] = column;
      return found;
    };
    const ringCell = cellAt(view, index);
    const [ringRow, ringColumn] = [index[this.rows] ?? 0, index[this.columns] ?? 0];
    const framed = values.tileChangedAt;
    return {
      rows, columns, block: 0, room: ROOM, moment: `${state.step} ${tensor.id}`, whole: storage.bytes === null && rows * columns > MANY,
      picture: `${state.step} ${tensor.id} ${this.rows} ${this.columns} ${index.map((i, d) => (d === this.rows || d === this.columns ? 0 : i)).join()}`,
      ring: [ringRow, ringColumn],
      label: say("ui.lens.grid", { name: nameOf(tensor, say), shape: tuple(shape) }),
      cell: (row, column) => {
        const here = at(row, column);
        const value = values.of(here);
        const own = row === ringRow && column === ringColumn;
        return {
          text: value === null ? "" : shortText(value, tensor.view.dtype, ROOM),
          fill: value === null && values.tiles === null ? "unknown" : "plain",
          hatched: value === null && values.tiles !== null,
          shade: values.shade(value, cellAt(view, here)),
          hot: values.changedAt(cellAt(view, here)),
          twin: !own && cellAt(view, here) === ringCell,
        };
      },
      ...(framed === null ? {} : { framed: (row: number, column: number) => framed(cellAt(view, at(row, column))) }),
      words: (row, column) => this.words(state, storage, tensor, values, at(row, column), cellAt(view, at(row, column))),
      picked: (row, column) => pick(this.root, { storage: storage.id, tensor: tensor.id, index: at(row, column) }),
    };
  }

  /** The whole storage, in rows of memory; the cells that the tensor reads in its colour. */
  private inAddressOrder(state: State, storage: StorageNow, tensor: TensorNow, window: Window, values: Known): FieldModel {
    const { say } = this;
    const { view, itemSize } = window;
    const cells = Math.floor(storage.nbytes / itemSize);
    const columns = rowLength(window, values, cells);
    const reads = readerOf(view);
    const mark = this.marks.get(tensor.id) ?? 0;
    const fill = mark > 0 && mark <= 4 ? `v${mark}` : "line2";
    const framed = values.tileChangedAt;
    const byte = this.scene?.looking.byte ?? null;
    const ring = byte === null ? null : Math.floor(byte / itemSize);
    return {
      rows: Math.ceil(cells / columns), columns, block: 0, room: ROOM, moment: `${state.step} ${tensor.id}`, whole: storage.bytes === null && cells > MANY,
      picture: `${state.step} ${tensor.id} address`,
      ring: ring === null ? null : [Math.floor(ring / columns), ring % columns],
      label: say("ui.memory.gridLabel", { storage: `S${storage.id}` }),
      cell: (row, column) => {
        const cell = row * columns + column;
        if (cell >= cells) return { text: "", fill: "none", shade: null, hot: false, twin: false };
        const value = values.at(cell);
        const unknown = value === null;
        const own = reads(cell);
        return {
          text: unknown ? "" : shortText(value, tensor.view.dtype, ROOM),
          fill: own ? fill : unknown && values.tiles === null ? "unknown" : "plain",
          hatched: unknown && (own || values.tiles !== null),
          shade: values.shade(value, cell),
          hot: values.changedAt(cell),
          twin: false,
        };
      },
      ...(framed === null ? {} : { framed: (row: number, column: number) => framed(row * columns + column) }),
      words: (row, column) => {
        const cell = row * columns + column;
        const index = reads(cell) ? indexAt(view, cell) : null;
        if (index !== null) return this.words(state, storage, tensor, values, index, cell);
        return say("ui.memory.unread", { byte: cell * itemSize, storage: `S${storage.id}` });
      },
      picked: (row, column) => {
        const cell = row * columns + column;
        if (cell < cells) pick(this.root, this.focusOn(cell, storage, tensor, window));
      },
    };
  }

  /** An element in words: its cell, and its value or what is known of it. */
  private words(state: State, storage: StorageNow, tensor: TensorNow, values: Known, index: readonly number[], cell: number): string {
    const { say } = this;
    const value = values.of(index) ?? (storage.bytes === null ? values.at(cell) : null);
    const tile = value === null ? tileOfByte(state, storage, cell * (sizeOf(tensor.view.dtype) ?? 1)) : null;
    const text = value !== null ? exactText(value, tensor.view.dtype) : tile === null ? say("ui.memory.notRecorded") : tileWords(say, tile);
    return say("ui.lens.cellWords", { element: element(tensor.names[0] ?? nameOf(tensor, say), index), cell, value: text });
  }

  private drawLine(state: State, storage: StorageNow, tensor: TensorNow, window: Window, index: readonly number[], values: Known): void {
    const { say } = this;
    const { view, itemSize } = window;
    const ringCell = cellAt(view, index);
    const cells = Math.floor(storage.nbytes / itemSize);
    const { bytes } = storage;
    this.line.show({
      view, cells, cellSize: itemSize, address: storage.address, ring: ringCell, mark: this.mark(tensor),
      text: (cell) => {
        const value = bytes === null ? values.at(cell) : readValue(bytes, cell * itemSize, tensor.view);
        const text = value === null ? "" : shortText(value, tensor.view.dtype, 4);
        return text.length <= 5 ? text : `${text.slice(0, 4)}…`;
      },
      hot: (cell) => values.changedAt(cell),
      above: this.columns >= 0 ? jumpsAlong(view, this.columns, index) : [],
      below: this.rows >= 0 ? jumpsAlong(view, this.rows, index) : [],
      tracks: this.tracks(state, storage, tensor, itemSize),
      label: say("ui.lens.line", { storage: `S${storage.id}` }),
      picked: (cell) => pick(this.root, this.focusOn(cell, storage, tensor, window)),
    });
  }

  /** From what to what the shades of tiles go. */
  private writeShades({ tiles }: Known, tensor: TensorNow): void {
    this.shades.hidden = tiles === null || !Number.isFinite(tiles.least);
    if (tiles === null || this.shades.hidden) return;
    const mark = this.marks.get(tensor.id) ?? 0;
    const inked = this.order === "address" && mark > 0 && mark <= 4;
    const ramp = el("span", { class: "tile-ramp" });
    ramp.style.setProperty("--from", `var(${inked ? `--v${mark}` : "--cell"})`);
    ramp.style.setProperty("--to", `var(${inked ? "--vink" : "--line3"})`);
    this.shades.replaceChildren(el("span", { class: "lens-ramp", "aria-hidden": "true" }, ...(tiles.least === tiles.most ? [figureText(tiles.least)] : [figureText(tiles.least), ramp, figureText(tiles.most)])), legendWords(this.say, tiles));
  }

  private mark(tensor: TensorNow): string {
    return `mark-${Math.min(5, this.marks.get(tensor.id) ?? 1)}`;
  }

  /** The other named views of the storage, in the order they came. */
  private tracks(state: State, storage: StorageNow, tensor: TensorNow, cellSize: number): Track[] {
    const others = tensorsOn(state, storage).filter((each) => each !== tensor && each.names.length > 0);
    return others.flatMap((each) => {
      const window = windowOf(each);
      if (window === null) return [];
      return [{ name: each.names[0] ?? "", mark: this.marks.get(each.id) ?? 1, covers: byteReaderOf(window.view, window.itemSize, cellSize) }];
    });
  }

  private focusOn(cell: number, storage: StorageNow, tensor: TensorNow, window: Window): { storage: number; tensor: number | null; index: readonly number[] } {
    const index = elementOf(window, cell);
    return index === null ? { storage: storage.id, tensor: null, index: [cell * window.itemSize] } : { storage: storage.id, tensor: tensor.id, index };
  }

  private writeFigures(state: State, storage: StorageNow, tensor: TensorNow, values: Known, cell: number, elements: number, index: readonly number[]): void {
    const { say } = this;
    const made = originText(tensor.origin, say);
    const parts = made === null ? [] : [say("ui.lens.made", { made })];
    const { summary } = tensor;
    if (summary !== null) {
      const figure = (value: number | string | null): string => (typeof value === "number" ? String(Number(value.toPrecision(4))) : (value ?? "–"));
      const figures = { elements: summary.elements, looked: summary.looked_at, minimum: figure(summary.minimum), maximum: figure(summary.maximum), mean: figure(summary.mean) };
      parts.push(say(summary.looked_at < summary.elements ? "ui.memory.sampled" : "ui.memory.summary", figures));
    }
    const tile = values.of(index) === null ? tileOfByte(state, storage, cell * (sizeOf(tensor.view.dtype) ?? 1)) : null;
    if (tile !== null) parts.push(tileWords(say, tile));
    const known = values.count(elements);
    if (known < elements) parts.push(say("ui.lens.known", { known, elements }));
    this.figures.replaceChildren(...parts.map((text) => el("span", {}, text)));
  }

  private buildDims(shape: readonly number[]): void {
    if (shape.length === 0) {
      this.dims.replaceChildren();
      return;
    }
    const choice = (role: "rows" | "columns"): HTMLElement => {
      const select = el("select", { "data-role": role }, ...shape.map((size, d) => el("option", { value: d }, this.say("ui.lens.dimSize", { dim: d, size }))));
      select.addEventListener("change", () => this.choose(role, Number(select.value)));
      return el("label", { class: "lens-dim" }, this.say(`ui.lens.${role}`), " ", select);
    };
    const steppers = shape.length < 3 ? [] : shape.map((size, d) => this.stepper(d, size));
    this.dims.replaceChildren(...(shape.length > 1 ? [choice("rows")] : []), choice("columns"), ...steppers);
  }

  private stepper(dim: number, size: number): HTMLElement {
    const label = this.say("ui.lens.index", { dim });
    const input = el("input", { type: "range", min: 0, max: Math.max(0, size - 1), step: 1, "aria-label": label });
    const go = (to: number): void => {
      const { looking, tensor } = this.scene ?? {};
      if (tensor == null || looking?.index == null) return;
      pick(this.root, { storage: tensor.storage, tensor: tensor.id, index: looking.index.with(dim, Math.max(0, Math.min(size - 1, to))) });
    };
    input.addEventListener("input", () => go(Number(input.value)));
    const less = el("button", { type: "button", class: "small-button", "aria-label": this.say("ui.lens.less", { dim }) }, "−");
    const more = el("button", { type: "button", class: "small-button", "aria-label": this.say("ui.lens.more", { dim }) }, "+");
    less.addEventListener("click", () => go(Number(input.value) - 1));
    more.addEventListener("click", () => go(Number(input.value) + 1));
    return el("div", { class: "lens-step", role: "group", "data-dim": dim, "aria-label": label }, el("span", {}, this.say("ui.lens.dim", { dim })), less, input, more, el("output", {}));
  }

  private showDims(shape: readonly number[], index: readonly number[]): void {
    for (const select of this.dims.querySelectorAll("select")) select.value = String(select.dataset["role"] === "rows" ? this.rows : this.columns);
    for (const step of this.dims.querySelectorAll<HTMLElement>(".lens-step")) {
      const d = Number(step.dataset["dim"]);
      step.hidden = d === this.rows || d === this.columns;
      const input = step.querySelector("input");
      const output = step.querySelector("output");
      if (input !== null) input.value = String(index[d] ?? 0);
      if (output !== null) output.textContent = this.say("ui.lens.of", { index: index[d] ?? 0, last: (shape[d] ?? 1) - 1 });
    }
  }

  /** The dimension that was chosen and the other one change places when they are the same. */
  private choose(role: "rows" | "columns", dim: number): void {
    const other = role === "rows" ? "columns" : "rows";
    if (this[other] === dim) this[other] = this[role];
    this[role] = dim;
    if (this.scene !== null) this.show(this.scene);
  }
}

function elementOf({ view }: Window, cell: number): number[] | null {
  return indexAt(view, cell);
}

/** Cells of a row in address order: as its tiles are cut, else as the view lies in it. */
function rowLength({ view, itemSize }: Window, { tiles }: Known, cells: number): number {
  const own = tiles === null || tiles.grid.columns === tiles.grid.cells ? 0 : (tiles.grid.columns * (sizeOf(tiles.grid.dtype) ?? 1)) / itemSize;
  return own >= 1 && Number.isInteger(own) ? own : gridShape(view, cells).columns;
}
