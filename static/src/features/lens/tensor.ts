/**
 * One tensor in any two of its dimensions, and below it its cells in address order with its strides as jumps.
 *
 * The other dimensions have steppers. A value that was not recorded is hatched, never made up: of large
 * tensors PyTorch's own figures and the first values are known.
 */
import { jumpsAlong } from "../../layout/jumps";
import { cellAt, coverageOfBytes, indexAt, numel } from "../../layout/storage";
import { exactText, readValue, shortText, type Value } from "../../layout/values";
import type { State, StorageNow, TensorNow } from "../../model/state";
import { tensorsOn, windowOf, type Window } from "../../layout/focus";
import { element, tuple } from "../../views/badge";
import { el } from "../../views/dom";
import { nameOf, originText, Readout } from "../../views/readout";
import { TileArt } from "../../views/tile-art";
import { pick, type Say } from "../../views/view";
import { AddressLine, type Track } from "./address";
import { Field } from "./field";
import type { Lens, Scene } from "./scene";

const ROOM = 6;

export class TensorLens implements Lens {
  readonly root: HTMLElement;
  private readonly dims = el("div", { class: "lens-dims" });
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
    this.field = new Field(say);
    this.line = new AddressLine(say);
    this.readout = new Readout(say, marks, new TileArt());
    const side = el("div", { class: "lens-side" }, el("h3", { class: "visually-hidden" }, say("ui.lens.element")), this.readout.root, this.figures, this.note);
    this.root = el("div", { class: "lens-tensor" }, el("div", { class: "lens-main" }, this.dims, this.field.root, this.line.root, this.legend), side);
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
    this.readout.root.hidden = this.dims.hidden = empty;
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
    const { view, itemSize } = window;
    const { shape } = view;
    const values = new Values(storage, state.written.get(storage.id) ?? null, tensor, window);
    const [rows, columns] = [shape[this.rows] ?? 1, shape[this.columns] ?? 1];
    const at = (row: number, column: number): number[] => {
      const found = [...index];
      if (this.rows >= 0) found[this.rows] = row;
      if (this.columns >= 0) found[this.columns] = column;
      return found;
    };
    const ringCell = cellAt(view, index);
    const [ringRow, ringColumn] = [index[this.rows] ?? 0, index[this.columns] ?? 0];
    this.field.show({
      rows, columns, block: 0, room: ROOM, moment: `${state.step} ${tensor.id}`,
      picture: `${state.step} ${tensor.id} ${this.rows} ${this.columns} ${index.map((i, d) => (d === this.rows || d === this.columns ? 0 : i)).join()}`,
      ring: [ringRow, ringColumn],
      label: say("ui.lens.grid", { name: nameOf(tensor, say), shape: tuple(shape) }),
      cell: (row, column) => {
        const here = at(row, column);
        const value = values.of(here);
        const own = row === ringRow && column === ringColumn;
        return {
          text: value === null ? "" : shortText(value, tensor.view.dtype, ROOM),
          fill: value === null ? "unknown" : "plain",
          shade: values.shade(value),
          hot: values.changed(here),
          twin: !own && cellAt(view, here) === ringCell,
        };
      },
      words: (row, column) => {
        const here = at(row, column);
        const value = values.of(here);
        const text = value === null ? say("ui.memory.notRecorded") : exactText(value, tensor.view.dtype);
        return say("ui.lens.cellWords", { element: element(tensor.names[0] ?? nameOf(tensor, say), here), cell: cellAt(view, here), value: text });
      },
      picked: (row, column) => pick(this.root, { storage: storage.id, tensor: tensor.id, index: at(row, column) }),
    });
    const cells = Math.floor(storage.nbytes / itemSize);
    const { bytes } = storage;
    this.line.show({
      view, cells, cellSize: itemSize, address: storage.address, ring: ringCell, mark: this.mark(tensor),
      text: (cell) => {
        const value = bytes === null ? null : readValue(bytes, cell * itemSize, tensor.view);
        const text = value === null ? "" : shortText(value, tensor.view.dtype, 4);
        return text.length <= 5 ? text : `${text.slice(0, 4)}…`;
      },
      hot: (cell) => values.changedAt(cell),
      above: this.columns >= 0 ? jumpsAlong(view, this.columns, index) : [],
      below: this.rows >= 0 ? jumpsAlong(view, this.rows, index) : [],
      tracks: this.tracks(state, storage, tensor, itemSize, cells),
      label: say("ui.lens.line", { storage: `S${storage.id}` }),
      picked: (cell) => pick(this.root, this.focusOn(cell, storage, tensor, window)),
    });
    this.writeFigures(tensor, values, numel(shape));
    this.legend.textContent = say(shape.length < 2 ? "ui.lens.legend1" : "ui.lens.legend2", { columns: this.columns, rows: this.rows });
  }

  private mark(tensor: TensorNow): string {
    return `mark-${Math.min(5, this.marks.get(tensor.id) ?? 1)}`;
  }

  /** The other named views of the storage, in the order they came. */
  private tracks(state: State, storage: StorageNow, tensor: TensorNow, cellSize: number, cells: number): Track[] {
    const others = tensorsOn(state, storage).filter((each) => each !== tensor && each.names.length > 0);
    return others.flatMap((each) => {
      const window = windowOf(each);
      if (window === null) return [];
      const covered = coverageOfBytes(window.view, window.itemSize, cellSize, cells);
      return [{ name: each.names[0] ?? "", mark: this.marks.get(each.id) ?? 1, covered }];
    });
  }

  private focusOn(cell: number, storage: StorageNow, tensor: TensorNow, window: Window): { storage: number; tensor: number | null; index: readonly number[] } {
    const index = elementOf(window, cell);
    return index === null ? { storage: storage.id, tensor: null, index: [cell * window.itemSize] } : { storage: storage.id, tensor: tensor.id, index };
  }

  private writeFigures(tensor: TensorNow, values: Values, elements: number): void {
    const { say } = this;
    const made = originText(tensor.origin, say);
    const parts = made === null ? [] : [say("ui.lens.made", { made })];
    const { summary } = tensor;
    if (summary !== null) {
      const figure = (value: number | string | null): string => (typeof value === "number" ? String(Number(value.toPrecision(4))) : (value ?? "–"));
      const figures = { elements: summary.elements, looked: summary.looked_at, minimum: figure(summary.minimum), maximum: figure(summary.maximum), mean: figure(summary.mean) };
      parts.push(say(summary.looked_at < summary.elements ? "ui.memory.sampled" : "ui.memory.summary", figures));
    }
    const known = values.known(elements);
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

/** What is known of a tensor's values: bytes of its storage, its own list, or the first ones. */
class Values {
  private readonly corner: unknown;
  private readonly low: number;
  private readonly span: number;

  constructor(
    private readonly storage: StorageNow,
    private readonly before: Uint8Array | null,
    private readonly tensor: TensorNow,
    private readonly window: Window,
  ) {
    this.corner = tensor.values ?? (tensor.summary?.corner as unknown);
    const bounds = this.bounds();
    [this.low, this.span] = [bounds[0], bounds[1] - bounds[0]];
  }

  of(index: readonly number[]): Value {
    const { bytes } = this.storage;
    const { view, itemSize } = this.window;
    if (this.tensor.values === undefined && bytes !== null) return readValue(bytes, cellAt(view, index) * itemSize, this.tensor.view);
    // The corner is of the first index of all dimensions but the last two.
    const lead = this.tensor.values === undefined ? Math.max(0, index.length - 2) : 0;
    if (index.slice(0, lead).some((i) => i > 0)) return null;
    const found = index.slice(lead).reduce<unknown>((nested, i) => (Array.isArray(nested) ? (nested[i] as unknown) : undefined), this.corner);
    return plain(found);
  }

  /** Elements whose value is known. */
  known(elements: number): number {
    if (this.storage.bytes !== null && this.tensor.values === undefined) return elements;
    const count = (nested: unknown): number => (Array.isArray(nested) ? nested.reduce<number>((n, each) => n + count(each), 0) : plain(nested) === null ? 0 : 1);
    return count(this.corner);
  }

  changed(index: readonly number[]): boolean {
    return this.changedAt(cellAt(this.window.view, index));
  }

  changedAt(cell: number): boolean {
    const { bytes } = this.storage;
    if (this.before === null || bytes === null) return false;
    const { itemSize } = this.window;
    for (let byte = cell * itemSize; byte < (cell + 1) * itemSize; byte++) if (bytes[byte] !== this.before[byte]) return true;
    return false;
  }

  /** Where a value stands between the smallest and the largest known. */
  shade(value: Value): number | null {
    const number = numberOf(value);
    return number === null || this.span <= 0 ? null : Math.max(0, Math.min(1, (number - this.low) / this.span));
  }

  private bounds(): readonly [number, number] {
    const { summary } = this.tensor;
    if (typeof summary?.minimum === "number" && typeof summary.maximum === "number") return [summary.minimum, summary.maximum];
    const { bytes } = this.storage;
    if (bytes === null) return [0, 0];
    const { itemSize } = this.window;
    let [low, high] = [Infinity, -Infinity];
    for (let byte = 0; byte + itemSize <= bytes.length; byte += itemSize) {
      const number = numberOf(readValue(bytes, byte, this.tensor.view));
      if (number === null) continue;
      low = Math.min(low, number);
      high = Math.max(high, number);
    }
    return [low, high];
  }
}

function numberOf(value: Value): number | null {
  const number = Array.isArray(value) ? Math.hypot(value[0], value[1]) : value === null ? Number.NaN : Number(value);
  return Number.isFinite(number) ? number : null;
}

/** A value as records write it: strings for what JSON has no number for. */
function plain(value: unknown): Value {
  if (typeof value === "number" || typeof value === "boolean") return value;
  if (typeof value === "string") return value === "nan" ? Number.NaN : value === "inf" ? Infinity : value === "-inf" ? -Infinity : /^-?\d+$/u.test(value) ? BigInt(value) : null;
  if (Array.isArray(value) && value.length === 2 && value.every((each) => typeof each === "number")) return [value[0] as number, value[1] as number];
  return null;
}
