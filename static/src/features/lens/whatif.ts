/**
 * What if: another shape, stride and offset on the storage looked at. Computed; nothing runs.
 *
 * Sliders end where the view would leave the storage. The cells it would read are the real ones of this
 * step. It says which call gives the view, what PyTorch would answer of it, and whether `view()` would
 * succeed from there, with the runs of dimensions that it may cut anew (`layout/rules.ts`, `layout/calls.ts`).
 */
import { callFor } from "../../layout/calls";
import { jumpsAlong } from "../../layout/jumps";
import { cellsRead } from "../../layout/reads";
import { boundsOf, isChannelsLast, isContiguous, isDense } from "../../layout/rules";
import { cellAt, extent, numel, type Strided } from "../../layout/storage";
import { overlap } from "../../layout/traits";
import { exactText, readValue, shortText } from "../../layout/values";
import { element, tuple } from "../../views/badge";
import { el } from "../../views/dom";
import { nameOf } from "../../views/readout";
import type { Say } from "../../views/view";
import { AddressLine } from "./address";
import { Field } from "./field";
import type { Lens, Scene } from "./scene";
import { ViewAnswerPicture } from "./viewing";

const MOST_DIMENSIONS = 4;
const ROOM = 6;
const ROOM_IN_LINE = 4;

export class WhatIfLens implements Lens {
  readonly root: HTMLElement;
  private readonly sliders = el("div", { class: "whatif-sliders" });
  private readonly call = el("code", { class: "whatif-call", tabindex: 0 });
  private readonly callNote = el("p", { class: "small mute" });
  private readonly verdicts = el("ul", { class: "whatif-verdicts" });
  private readonly field: Field;
  private readonly line: AddressLine;
  private readonly answer: ViewAnswerPicture;
  private readonly live = el("div", { class: "whatif-result", "aria-live": "polite" });
  private scene: Scene | null = null;
  private view: Strided = { shape: [], stride: [], offset: 0 };
  private from = "";
  private ring: readonly number[] = [];
  private readonly inputs: HTMLInputElement[] = [];

  constructor(private readonly say: Say) {
    this.field = new Field(say, 250);
    this.line = new AddressLine(say);
    this.answer = new ViewAnswerPicture(say);
    this.live.append(el("p", { class: "whatif-label" }, say("ui.lens.whatif.call")), this.call, this.callNote, this.verdicts);
    const pill = el("p", { class: "whatif-pill" }, say("ui.lens.whatif.computed"));
    const controls = el("div", { class: "whatif-controls" }, pill, this.tools(), this.sliders, this.live);
    const picture = el("div", { class: "whatif-picture" }, this.line.root, this.field.root, this.answer.root);
    this.root = el("div", { class: "lens-whatif" }, controls, picture);
  }

  show(scene: Scene): void {
    this.scene = scene;
    const { window, tensor, storage } = scene;
    const possible = window !== null && storage !== null && !storage.freed && this.cells() > 0;
    this.root.classList.toggle("impossible", !possible);
    if (window === null || tensor === null || !possible) {
      this.callNote.textContent = this.say("ui.lens.whatif.impossible");
      return;
    }
    const from = `${tensor.id} ${JSON.stringify(window.view)} ${this.cells()}`;
    if (from !== this.from) this.start(window.view);
    this.from = from;
    this.paint();
  }

  private cells(): number {
    const { window, storage } = this.scene ?? {};
    return window == null || storage == null ? 0 : Math.floor(storage.nbytes / window.itemSize);
  }

  private start(view: Strided): void {
    const shape = view.shape.slice(0, MOST_DIMENSIONS);
    this.view = { shape, stride: view.stride.slice(0, MOST_DIMENSIONS), offset: view.offset };
    this.ring = shape.map(() => 0);
    this.build();
  }

  private tools(): HTMLElement {
    const button = (id: string, act: (view: Strided) => Strided | null): HTMLElement => {
      const made = el("button", { type: "button", class: "small-button" }, this.say(`ui.lens.whatif.${id}`));
      made.addEventListener("click", () => {
        const base = this.scene?.window?.view;
        const next = base === undefined ? null : act(id === "reset" ? base : this.view);
        if (next !== null) this.set(next);
      });
      return made;
    };
    return el(
      "div",
      { class: "whatif-tools" },
      button("reset", (base) => base),
      button("transpose", ({ shape, stride, offset }) => ({ shape: [...shape].reverse(), stride: [...stride].reverse(), offset })),
      button("every", ({ shape, stride, offset }) => {
        const last = shape.length - 1;
        return last < 0 ? null : { shape: shape.with(last, Math.ceil((shape[last] ?? 1) / 2)), stride: stride.with(last, (stride[last] ?? 1) * 2), offset };
      }),
      button("windows", ({ shape, stride, offset }) => {
        const last = shape.length - 1;
        const size = shape[last] ?? 0;
        if (size < 2 || shape.length >= MOST_DIMENSIONS) return null;
        return { shape: [...shape.with(last, size - 1), 2], stride: [...stride, stride[last] ?? 1], offset };
      }),
      button("repeat", ({ shape, stride, offset }) => (shape.length >= MOST_DIMENSIONS ? null : { shape: [3, ...shape], stride: [0, ...stride], offset })),
      button("less", ({ shape, stride, offset }) => (shape.length === 0 ? null : { shape: shape.slice(1), stride: stride.slice(1), offset })),
    );
  }

  private set(view: Strided): void {
    const dims = view.shape.length;
    const [shape, stride] = [view.shape.slice(0, MOST_DIMENSIONS), view.stride.slice(0, MOST_DIMENSIONS)];
    const rebuild = dims !== this.view.shape.length;
    this.view = { shape, stride, offset: view.offset };
    this.ring = shape.map(() => 0);
    if (rebuild) this.build();
    this.paint();
  }

  /** A row of sliders per dimension; the numbers beside them are their twins. */
  private build(): void {
    this.inputs.length = 0;
    const rows = this.view.shape.map((_, d) => {
      return el("div", { class: "whatif-row" }, el("span", { class: "whatif-dim" }, this.say("ui.lens.dim", { dim: d })), this.slider("size", d), this.slider("stride", d));
    });
    this.sliders.replaceChildren(...rows, el("div", { class: "whatif-row" }, el("span", { class: "whatif-dim" }), this.slider("offset", -1)));
  }

  private slider(kind: "size" | "stride" | "offset", dim: number): HTMLElement {
    const label = this.say(`ui.lens.${kind}`);
    const input = el("input", { type: "range", min: 0, step: 1, "aria-label": dim < 0 ? label : `${label}${this.say("list.comma")}${this.say("ui.lens.dim", { dim })}`, "data-kind": kind, "data-dim": dim });
    const number = el("output", {});
    input.addEventListener("input", () => {
      const value = Number(input.value);
      const { shape, stride, offset } = this.view;
      if (kind === "offset") this.view = { shape, stride, offset: value };
      else if (kind === "size") this.view = { shape: shape.with(dim, value), stride, offset };
      else this.view = { shape, stride: stride.with(dim, value), offset };
      this.ring = this.ring.map((i, d) => Math.max(0, Math.min(i, (this.view.shape[d] ?? 1) - 1)));
      this.paint();
    });
    this.inputs.push(input);
    return el("label", { class: "whatif-slider" }, el("span", {}, label), input, number);
  }

  private paint(): void {
    const { scene, view } = this;
    if (scene === null || scene.window === null || scene.storage === null || scene.tensor === null) return;
    const cells = this.cells();
    const bounds = boundsOf(view, cells);
    for (const input of this.inputs) {
      const [kind, d] = [input.dataset["kind"], Number(input.dataset["dim"])];
      const most = kind === "offset" ? bounds.offset : ((kind === "size" ? bounds.size : bounds.stride)[d] ?? 0);
      const value = kind === "offset" ? view.offset : ((kind === "size" ? view.shape : view.stride)[d] ?? 0);
      input.max = String(Math.max(most, value));
      input.value = String(value);
      const output = input.nextElementSibling;
      if (output !== null) output.textContent = `${value} / ${most}`;
      input.setAttribute("aria-valuetext", this.say("ui.lens.whatif.upTo", { value, most }));
    }
    this.writeCall(scene);
    this.writeVerdicts(cells);
    this.answer.show(view);
    this.drawCells(scene, cells);
  }

  private writeCall({ window, tensor }: Scene): void {
    if (window === null || tensor === null) return;
    const name = tensor.names[0] ?? nameOf(tensor, this.say);
    const call = callFor(window.view, this.view, /^[\w.[\]'"]+$/u.test(name) ? name : "x");
    this.call.textContent = call.text;
    this.callNote.textContent = call.text === name ? this.say("ui.lens.whatif.same") : call.found ? "" : this.say("ui.lens.whatif.asStrided");
  }

  private writeVerdicts(cells: number): void {
    const { view, say } = this;
    const elements = numel(view.shape);
    const read = cellsRead(view, cells);
    const record = { shape: [...view.shape], stride: [...view.stride], storage_offset: view.offset };
    const shared = overlap({ ...record, dtype: "", layout: "", device: "", is_contiguous: null, is_conj: false, is_neg: false, requires_grad: false, is_leaf: true });
    const verdict = (id: string, yes: boolean, args = {}): HTMLElement => {
      return el("li", { class: yes ? "yes" : "no", "data-verdict": id }, el("b", { "aria-hidden": "true" }, yes ? "✓" : "✗"), ` ${say(`ui.lens.whatif.${id}.${yes ? "yes" : "no"}`, args)}`);
    };
    const list = [verdict("contiguous", isContiguous(view)), verdict("dense", isDense(view)), verdict("separate", shared === null, { elements, cells: read ?? cells })];
    if (view.shape.length === 4) list.push(verdict("channelsLast", isChannelsLast(view)));
    const ends = extent(view);
    if (ends === null) list.push(el("li", { class: "fact" }, say("ui.lens.whatif.noElement")));
    else if (read !== null) list.push(el("li", { class: "fact" }, say("ui.lens.whatif.reads", { elements, read, cells, gaps: ends[1] - ends[0] + 1 - read })));
    this.verdicts.replaceChildren(...list);
  }

  private drawCells({ window, storage, tensor }: Scene, cells: number): void {
    const { view, say } = this;
    if (window === null || storage === null || tensor === null) return;
    const { bytes } = storage;
    const { dtype } = tensor.view;
    const valueAt = (cell: number, room = ROOM): string => {
      const value = bytes === null ? null : readValue(bytes, cell * window.itemSize, tensor.view);
      return value === null ? "" : shortText(value, dtype, room);
    };
    const dims = view.shape.length;
    const empty = view.shape.includes(0);
    const ring = empty ? null : cellAt(view, this.ring);
    const columns = dims === 0 ? 1 : (view.shape[dims - 1] ?? 1);
    const rows = empty ? 0 : numel(view.shape) / Math.max(1, columns);
    const indexOf = (row: number, column: number): number[] => {
      const index = new Array<number>(dims).fill(0);
      let rest = row;
      for (let d = dims - 2; d >= 0; d--) {
        index[d] = rest % (view.shape[d] ?? 1);
        rest = Math.floor(rest / (view.shape[d] ?? 1));
      }
      if (dims > 0) index[dims - 1] = column;
      return index;
    };
    const rowOf = this.ring.slice(0, -1).reduce((n, i, d) => n * (view.shape[d] ?? 1) + i, 0);
    this.line.show({
      view, cells, cellSize: window.itemSize, address: storage.address, ring, mark: "mark-1",
      text: (cell) => shorter(valueAt(cell, ROOM_IN_LINE)),
      hot: () => false,
      above: dims > 0 ? jumpsAlong(view, dims - 1, this.ring) : [],
      below: dims > 1 ? jumpsAlong(view, dims - 2, this.ring) : [],
      tracks: [],
      label: say("ui.lens.line", { storage: `S${storage.id}` }),
      picked: null,
    });
    this.field.root.hidden = rows === 0;
    this.field.show({
      rows: Math.max(1, rows), columns: Math.max(1, columns), block: dims > 2 ? (view.shape[dims - 2] ?? 0) : 0, room: ROOM, moment: "", picture: `${this.scene?.state.step ?? 0} ${this.from} ${JSON.stringify(view)}`,
      ring: empty ? null : [rowOf, this.ring.at(-1) ?? 0],
      label: say("ui.lens.whatif.grid", { shape: tuple(view.shape) }),
      cell: (row, column) => {
        const cell = cellAt(view, indexOf(row, column));
        const text = valueAt(cell);
        const own = rowOf === row && column === (this.ring.at(-1) ?? 0);
        return { text, fill: bytes === null ? "unknown" : "v1", shade: null, hot: false, twin: cell === ring && !own };
      },
      words: (row, column) => {
        const index = indexOf(row, column);
        const cell = cellAt(view, index);
        const value = bytes === null ? null : readValue(bytes, cell * window.itemSize, tensor.view);
        return say("ui.lens.cellWords", { element: element("", index), cell, value: value === null ? say("ui.memory.notRecorded") : exactText(value, dtype) });
      },
      picked: (row, column) => {
        this.ring = indexOf(row, column);
        this.paint();
      },
    });
  }
}

const shorter = (text: string): string => (text.length <= 5 ? text : `${text.slice(0, 4)}…`);
